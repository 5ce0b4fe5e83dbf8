// How much what was measured at one time counts at a later one.

enum Fading {
    /// The part that is left after this time, from 1 down. 1 / (1 + x) instead of e^-x: the same for small steps, slow
    /// to forget over a long pause, and basic arithmetic.
    static func part(after elapsed: Duration, memory: Duration) -> Double {
        1 / (1 + max(0, elapsed.seconds) / memory.seconds)
    }
}

/// How many of something there were of late.
struct FadingCount {
    private var value = 0.0
    private var countedAt: Instant?
    private let memory: Duration

    init(memory: Duration) {
        self.memory = memory
    }

    mutating func add(_ more: Double, now: Instant) {
        value = value(now) + more
        countedAt = now
    }

    func value(_ now: Instant) -> Double {
        countedAt.map { value * Fading.part(after: $0.duration(to: now), memory: memory) } ?? 0
    }
}

extension Duration {
    var milliseconds: Double { seconds * 1000 }
}
