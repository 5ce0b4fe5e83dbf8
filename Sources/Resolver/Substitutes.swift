// Questions that the system resolver has answered in a provider's place and whose answer the cache still holds. When a
// provider is back, these answers are withdrawn at once.

import DNSWire

struct Substitutes {
    private var endOf: [Question: Instant] = [:]
    /// Not remembered for want of room; such an answer stays until its own end, 30 s at most.
    private(set) var overflows: UInt64 = 0

    /// - Parameter end: of the answer in the cache.
    mutating func stoodIn(_ question: Question, until end: Instant, now: Instant) {
        if endOf.count >= Bounds.maxSubstitutes, endOf[question] == nil {
            endOf = endOf.filter { $0.value > now }
            guard endOf.count < Bounds.maxSubstitutes else {
                overflows += 1
                return
            }
        }
        endOf[question] = end
    }

    /// A provider, or the daemon itself, has answered.
    mutating func answered(_ question: Question) { endOf[question] = nil }

    /// Those that the cache still holds, in the order of their text: the same events give the same actions.
    mutating func takeAll(now: Instant) -> [Question] {
        defer { endOf = [:] }
        guard !endOf.isEmpty else { return [] }
        return endOf.filter { $0.value > now }.map { ($0.key, "\($0.key)") }.sorted { $0.1 < $1.1 }.map(\.0)
    }

    /// They are of another network.
    mutating func removeAll() { endOf = [:] }
}
