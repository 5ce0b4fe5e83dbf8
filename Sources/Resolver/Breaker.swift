// Whether an upstream, or one of its addresses, is left alone because it fails.
//
//     closed ── failures ───> open ── 1, 2, 4 ... 30 s ──> half-open ── an answer ──> closed
//                               ▲                              │
//                               └────────── a failure ─────────┘

struct Breaker: Sendable {
    private var failuresInARow = 0
    /// Nil while closed.
    private(set) var openUntil: Instant?
    /// Not failing, but refusing us.
    private(set) var isBlocked = false

    var isClosed: Bool { openUntil == nil }

    func isOpen(_ now: Instant) -> Bool { (openUntil ?? now) > now }

    func isHalfOpen(_ now: Instant) -> Bool { openUntil.map { $0 <= now } ?? false }

    /// Failures while it is open are the same trouble: many requests break together.
    ///
    /// - Parameter ceiling: no longer than that, however often it has failed.
    mutating func failed(ceiling: Duration = Bounds.backOffCeiling, now: Instant) {
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

    /// - Returns: whether it was not closed before.
    @discardableResult
    mutating func answered() -> Bool {
        defer { self = Breaker() }
        return !isClosed
    }
}
