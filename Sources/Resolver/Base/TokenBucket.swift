// Token bucket with one token per question, a given rate per second, and a burst of one second.

package import DNSWire

package struct TokenBucket: Sendable {
    private var tokens = 0.0
    private var countedAt: Instant?

    private static let roundingError = 1e-6

    package init() {}

    func tokens(perSecond: Int, now: Instant) -> Double {
        let rate = Double(perSecond)
        let most = max(1, rate * Bounds.budgetBurst)
        return countedAt.map { min(most, tokens + rate * max(0, $0.duration(to: now).seconds)) } ?? most
    }

    /// Returns when a whole token is available; `now` if there is one.
    package func readyAt(perSecond: Int, now: Instant) -> Instant {
        let missing = 1 - tokens(perSecond: perSecond, now: now)
        return missing > TokenBucket.roundingError ? now + .seconds(missing / Double(perSecond)) : now
    }

    /// Takes a token, possibly as a debt. Returns nil if one was available, else when the debt is paid.
    package mutating func spend(perSecond: Int, now: Instant) -> Instant? {
        tokens = tokens(perSecond: perSecond, now: now) - 1
        countedAt = now
        return tokens >= 0 ? nil : now + .seconds(-tokens / Double(perSecond))
    }

    /// Takes a token for a question that is asked in any case. The debt is limited to one second.
    mutating func charge(perSecond: Int, now: Instant) {
        tokens = max(tokens(perSecond: perSecond, now: now) - 1, -Double(perSecond) * Bounds.budgetBurst)
        countedAt = now
    }

    /// Gives the token of a question back that is not asked.
    mutating func refund(perSecond: Int, now: Instant) {
        tokens = min(tokens(perSecond: perSecond, now: now) + 1, max(1, Double(perSecond) * Bounds.budgetBurst))
        countedAt = now
    }
}
