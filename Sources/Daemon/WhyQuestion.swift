// A question for an explanation, by plain DNS: TXT of NAME.why.httpdnsd., with _TYPE in front where it is not about A.
// What is no such question has no answer, and never leaves this machine.

import DNSWire
import LinuxIO
import Resolver

enum WhyQuestion: Equatable {
    case about(Question)
    /// The zone itself: how to ask.
    case usage
    /// Another type of record, or nothing that is asked about.
    case nothing

    /// Nil for names that are not ours.
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
        // Names with an underscore of their own are no types.
        if first.first == UInt8(ascii: "_"),
            let wanted = RecordType(String(decoding: first.dropFirst(), as: UTF8.self))
        {
            type = wanted
            labels = labels.dropFirst()
        }
        let wire: [UInt8] = labels.reduce(into: []) { $0 += [UInt8($1.count)] + $1 } + [0]
        self = Name(wire: wire).map { .about(Question($0, type, from: question.subnet)) } ?? .nothing
    }

    static let usageText = "ask for TXT of NAME.why.httpdnsd. or of _TYPE.NAME.why.httpdnsd."
}

extension ResolvingLoop {
    /// What stands for an answer of an upstream; nil when there have been too many explanations lately.
    func explained(_ why: WhyQuestion, to question: Question, now: Instant) -> Answer? {
        guard explanationPace.take(now: now) else { return nil }
        switch why {
        case .about(let asked): return Answer(explaining: sentences(about: asked, now: now), to: question.name)
        case .usage: return Answer(explaining: [WhyQuestion.usageText], to: question.name)
        case .nothing: return Answer(negative: .noData, ttlSeconds: 0)
        }
    }
}

/// How many explanations there are, by DNS and over the control socket together: each takes a copy of what the resolver
/// knows, as long as hundreds of hits.
struct ExplanationPace {
    /// Until when those that were given would have been given at the pace of `interval`.
    private var paidUntil: Instant?

    /// More than people read.
    static let perSecond = 20
    static let interval: Duration = .seconds(1) / perSecond
    /// A script that goes through a list.
    static let saved = 20

    /// False when it is one too many for now.
    mutating func take(now: Instant) -> Bool {
        let paid = max(paidUntil ?? now, now)
        guard now.duration(to: paid) <= ExplanationPace.interval * (ExplanationPace.saved - 1) else { return false }
        paidUntil = paid + ExplanationPace.interval
        return true
    }
}

extension Answer {
    /// A TXT record for each line; a long one has several strings. Nobody keeps it: the next one says something else.
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
