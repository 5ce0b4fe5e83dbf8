// Circuit breaker of an upstream or of one of its addresses.
//
//     closed ── failures ───> open ── 1, 2, 4 ... 30 s ──> half-open ── an answer ──> closed
//                               ▲                              │
//                               └────────── a failure ─────────┘

package import DNSWire

package struct CircuitBreaker: Sendable {
    private var failuresInARow = 0
    /// End of the open state; nil while closed.
    private(set) var openUntil: Instant?
    /// The upstream refuses requests without failing.
    private(set) var isBlocked = false

    package init() {}

    package var isClosed: Bool { openUntil == nil }

    package func isOpen(_ now: Instant) -> Bool { (openUntil ?? now) > now }

    func isHalfOpen(_ now: Instant) -> Bool { openUntil.map { $0 <= now } ?? false }

    /// Records a failure. Failures while open are ignored, because concurrent requests fail together.
    ///
    /// - Parameter ceiling: longest back-off, regardless of the number of failures.
    package mutating func failed(ceiling: Duration = Bounds.backOffCeiling, now: Instant) {
        guard !isOpen(now) else { return }
        let doublings = min(failuresInARow, 5)
        failuresInARow += 1
        isBlocked = false
        openUntil = now + min(Bounds.backOffFloor * (1 << doublings), ceiling)
    }

    mutating func refused(now: Instant) {
        failuresInARow += 1
        isBlocked = true
        openUntil = now + Bounds.accountBlock
    }

    /// - Returns: whether the breaker was open or half-open before.
    @discardableResult
    package mutating func answered() -> Bool {
        defer { self = CircuitBreaker() }
        return !isClosed
    }
}
