// A bucket of tokens, one for each question: so many a second, and what was saved up in the last second.

struct TokenBucket {
    private var tokens = 0.0
    private var countedAt: Instant?

    private static let roundingError = 1e-6

    func tokens(perSecond: Int, now: Instant) -> Double {
        let rate = Double(perSecond)
        let most = max(1, rate * Bounds.budgetBurst)
        return countedAt.map { min(most, tokens + rate * max(0, $0.duration(to: now).seconds)) } ?? most
    }

    /// When there is a whole token; `now` if there is one.
    func readyAt(perSecond: Int, now: Instant) -> Instant {
        let missing = 1 - tokens(perSecond: perSecond, now: now)
        return missing > TokenBucket.roundingError ? now + .seconds(missing / Double(perSecond)) : now
    }

    /// May leave a debt. Nil: there was one; else when it will be paid.
    mutating func spend(perSecond: Int, now: Instant) -> Instant? {
        tokens = tokens(perSecond: perSecond, now: now) - 1
        countedAt = now
        return tokens >= 0 ? nil : now + .seconds(-tokens / Double(perSecond))
    }

    /// For what is asked in any case: the debt is of one second at most.
    mutating func charge(perSecond: Int, now: Instant) {
        tokens = max(tokens(perSecond: perSecond, now: now) - 1, -Double(perSecond) * Bounds.budgetBurst)
        countedAt = now
    }
}
