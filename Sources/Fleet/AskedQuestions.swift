// The questions that a member has called Redis for: how many queries it has not told yet, and whose answer it has.

import DNSWire

struct AskedQuestions: Sendable {
    private struct Entry {
        /// When the queries were told.
        var toldAt: Instant?
        /// Who asked a provider for the answer in use; nil: this member.
        var origin: (member: String, at: Instant)?
    }

    /// Then all are forgotten.
    private static let maxCount = 10_000

    private var entries: [Question: Entry] = [:]

    /// Returns the queries since the last call for the question, as far as the rate tells. Without an earlier call, a
    /// client's is one.
    mutating func count(_ question: Question, perSecond: Double?, isForClient: Bool, now: Instant) -> Double {
        let toldAt = entries[question]?.toldAt
        change(question) { $0.toldAt = now }
        let before = toldAt.map { $0.duration(to: now).seconds * (perSecond ?? 0) } ?? 0
        return isForClient ? max(1, before) : before
    }

    mutating func put(_ question: Question, by member: String, at instant: Instant) {
        change(question) { $0.origin = (member, instant) }
    }

    /// This member has asked a provider.
    mutating func answered(_ question: Question) { entries[question]?.origin = nil }

    func origin(of question: Question) -> (member: String, at: Instant)? { entries[question]?.origin }

    private mutating func change(_ question: Question, _ change: (inout Entry) -> Void) {
        if entries.count >= AskedQuestions.maxCount, entries[question] == nil { entries = [:] }
        change(&entries[question, default: Entry()])
    }
}
