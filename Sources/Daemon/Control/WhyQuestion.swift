// A request for an explanation over DNS: TXT of NAME.KEY.why.httpdnsd., preceded by _TYPE if it is not about A. Other
// questions in this zone get no answer, and never leave this machine. Queries of a forwarder on this machine look like
// those of this machine, so only who knows the key gets an explanation.

import DNSWire
import LinuxIO
import Resolver

enum WhyQuestion: Equatable {
    case about(Question)
    /// The zone itself: usage help.
    case usage
    /// The key is missing or wrong.
    case locked
    /// Another record type, or a name without a subject.
    case nothing

    /// Returns nil for names outside the zone.
    init?(_ question: Question, key: ExplanationKey) {
        guard question.name.isWithin(LocalNames.explanationZone) else { return nil }
        guard question.type == .txt else {
            self = .nothing
            return
        }
        var labels = question.name.labels.dropLast(LocalNames.explanationZone.labels.count)
        guard let last = labels.popLast() else {
            self = .usage
            return
        }
        guard key.isGiven(by: last) else {
            self = .locked
            return
        }
        var type = RecordType.a
        // A name's own label with an underscore is no type.
        if let first = labels.first, first.first == UInt8(ascii: "_"),
            let requested = RecordType(String(decoding: first.dropFirst(), as: UTF8.self))
        {
            type = requested
            labels = labels.dropFirst()
        }
        let wire: [UInt8] = labels.reduce(into: []) { $0 += [UInt8($1.count)] + $1 } + [0]
        self = Name(wire: wire).map { .about(Question($0, type, from: question.clients)) } ?? .nothing
    }

    static let usageText =
        "query TXT of NAME.KEY.why.httpdnsd. or of _TYPE.NAME.KEY.why.httpdnsd.; httpdnsctl status shows KEY"
}

/// A label that only users of this machine know: from the control socket. Each start has another one.
struct ExplanationKey {
    let text: String

    init(_ entropy: SystemEntropy) {
        text = entropy.next().digits(16, radix: 16)
    }

    func isGiven(by label: some Collection<UInt8>) -> Bool { label.map(\.lowercased).elementsEqual(text.utf8) }
}

extension ResolvingLoop {
    /// Returns the explanation as an answer.
    ///
    /// - Throws: the key is missing, or the rate limit is exceeded.
    func explained(_ why: WhyQuestion, to question: Question, now: Instant) throws(UnexplainedReason) -> Answer {
        if case .locked = why { throw .locked }
        guard explanations.take(now: now) else { throw .tooMany }
        switch why {
        case .about(let asked): return Answer(explaining: sentences(about: asked, now: now), to: question.name)
        case .usage: return Answer(explaining: [WhyQuestion.usageText], to: question.name)
        case .nothing, .locked:
            return Answer(
                negative: .noData, authority: .startOfAuthority(of: LocalNames.explanationZone, ttlSeconds: 0))
        }
    }
}

enum UnexplainedReason: Error {
    case locked, tooMany

    var failure: (ExtendedError, ResponseCode) {
        switch self {
        case .locked: (.onlyWithKey, .refused)
        case .tooMany: (.notReady, .serverFailure)
        }
    }
}

/// Who may ask for explanations by DNS, and how often all users together may, over DNS and the control socket. Control
/// users with all rights are exempt from the rate.
struct ExplanationLimit {
    let key = ExplanationKey(SystemEntropy())
    /// Each explanation copies the resolver's state for a name, which costs as much as hundreds of cache hits.
    private var bucket = TokenBucket()

    /// Allowed explanations per second, more than people read; and at once, for a script that goes through a list.
    static let perSecond = 20
    static let refusal = "too many explanations; allowed: \(perSecond) a second for all users together"

    /// Returns false if the explanation exceeds the limit for now.
    mutating func take(now: Instant) -> Bool {
        guard bucket.readyAt(perSecond: ExplanationLimit.perSecond, now: now) <= now else { return false }
        _ = bucket.spend(perSecond: ExplanationLimit.perSecond, now: now)
        return true
    }
}

extension Answer {
    /// Builds a TXT record for each line; a long line takes several strings. The answer is not cached, because the
    /// next one differs.
    convenience init(explaining lines: [String], to name: Name) {
        self.init(
            records: lines.map {
                ResourceRecord(owner: name, type: .txt, ttlSeconds: 0, data: ResourceRecord.strings($0.utf8))
            })
    }
}
