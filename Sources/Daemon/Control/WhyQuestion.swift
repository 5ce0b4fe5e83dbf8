// A request for an explanation over DNS: TXT of NAME.why.httpdnsd., preceded by _TYPE if it is not about A. Other
// questions in this zone get no answer, and never leave this machine.

import DNSWire
import LinuxIO
import Resolver

enum WhyQuestion: Equatable {
    case about(Question)
    /// The zone itself: usage help.
    case usage
    /// Another record type, or a name without a subject.
    case nothing

    /// Nil for names outside the zone.
    init?(_ question: Question) {
        guard question.name.isWithin(Explanation.zone) else { return nil }
        guard question.type == .txt else {
            self = .nothing
            return
        }
        var labels = question.name.labels.dropLast(Explanation.zone.labels.count)
        guard let first = labels.first else {
            self = .usage
            return
        }
        var type = RecordType.a
        // A name's own label with an underscore is no type.
        if first.first == UInt8(ascii: "_"),
            let wanted = RecordType(String(decoding: first.dropFirst(), as: UTF8.self))
        {
            type = wanted
            labels = labels.dropFirst()
        }
        let wire: [UInt8] = labels.reduce(into: []) { $0 += [UInt8($1.count)] + $1 } + [0]
        self = Name(wire: wire).map { .about(Question($0, type, from: question.clients)) } ?? .nothing
    }

    static let usageText = "query TXT of NAME.why.httpdnsd. or of _TYPE.NAME.why.httpdnsd."
}

extension ResolvingLoop {
    /// Returns the explanation as an answer; nil if the rate limit is exceeded.
    func explained(_ why: WhyQuestion, to question: Question, now: Instant) -> Answer? {
        guard explanationPace.take(now: now) else { return nil }
        switch why {
        case .about(let asked): return Answer(explaining: sentences(about: asked, now: now), to: question.name)
        case .usage: return Answer(explaining: [WhyQuestion.usageText], to: question.name)
        case .nothing:
            return Answer(negative: .noData, authority: .startOfAuthority(of: Explanation.zone, ttlSeconds: 0))
        }
    }
}

/// Rate limit of explanations, by DNS and over the control socket together. Each copies the resolver's state for a
/// name, which costs as much as hundreds of cache hits.
struct ExplanationPace {
    /// Time at which the explanations so far are paid for, at one per `interval`.
    private var paidUntil: Instant?

    /// More than people read.
    static let perSecond = 20
    static let interval: Duration = .seconds(1) / perSecond
    static let refusal = "too many explanations; allowed: \(perSecond) a second for all users together"
    /// Burst for a script that goes through a list.
    static let saved = 20

    /// Returns false if the explanation exceeds the limit for now.
    mutating func take(now: Instant) -> Bool {
        let paid = max(paidUntil ?? now, now)
        guard now.duration(to: paid) <= ExplanationPace.interval * (ExplanationPace.saved - 1) else { return false }
        paidUntil = paid + ExplanationPace.interval
        return true
    }
}

extension Answer {
    /// Builds a TXT record for each line; a long line takes several strings. The answer is not cached, because the
    /// next one differs.
    init(explaining lines: [String], to name: Name) {
        self.init(
            records: lines.map {
                ResourceRecord(owner: name, type: .txt, ttlSeconds: 0, data: Answer.strings(Array($0.utf8)))
            })
    }

    private static func strings(_ text: [UInt8]) -> [UInt8] {
        stride(from: 0, to: max(text.count, 1), by: maxStringBytes).reduce(into: []) { strings, start in
            let string = text[start..<min(start + maxStringBytes, text.count)]
            strings += [UInt8(string.count)] + string
        }
    }

    /// RFC 1035 section 3.3.
    private static let maxStringBytes = 255
}
