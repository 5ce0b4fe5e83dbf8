// Cached answers of the system resolver in a provider's place.

import DNSWire

/// Tracks cached answers of the system resolver in a provider's place. They are withdrawn as soon as a provider
/// recovers.
struct Substitutes {
    private var endOf: [Question: Instant] = [:]
    /// Answers that were not tracked for want of room. They stay until they expire, after at most 30 s.
    private(set) var overflows: UInt64 = 0

    /// - Parameter end: expiry of the answer in the cache.
    mutating func given(_ question: Question, until end: Instant, now: Instant) {
        if endOf.count >= Bounds.maxSubstitutes, endOf[question] == nil {
            endOf = endOf.filter { $0.value > now }
            guard endOf.count < Bounds.maxSubstitutes else {
                overflows += 1
                return
            }
        }
        endOf[question] = end
    }

    /// Stops tracking a question that a provider or the daemon itself has answered.
    mutating func answered(_ question: Question) { if !endOf.isEmpty { endOf[question] = nil } }

    /// Takes the questions with unexpired answers, sorted by their text: the same events give the same actions.
    mutating func takeAll(now: Instant) -> [Question] {
        defer { endOf = [:] }
        guard !endOf.isEmpty else { return [] }
        return endOf.filter { $0.value > now }.map { ($0.key, "\($0.key)") }.sorted { $0.1 < $1.1 }.map(\.0)
    }

    /// Stops tracking all answers after a network change.
    mutating func removeAll() { endOf = [:] }
}
