// An answer that the cache loaded from the store.

package import DNSWire

package struct RestoredAnswer: Sendable {
    let question: Question
    let demandPerSecond: Double
    let lifetimeSeconds: UInt32
    let expiresAt: Instant
    let isNegative: Bool
    /// The answer came from the system resolver.
    let isSystems: Bool

    package init(
        _ question: Question, demandPerSecond: Double, lifetimeSeconds: UInt32, expiresAt: Instant, isNegative: Bool,
        isSystems: Bool = false
    ) {
        self.question = question
        self.isNegative = isNegative
        self.isSystems = isSystems
        self.demandPerSecond = demandPerSecond
        self.lifetimeSeconds = lifetimeSeconds
        self.expiresAt = expiresAt
    }
}
