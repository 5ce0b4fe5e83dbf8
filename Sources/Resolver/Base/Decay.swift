// Decay of measurements with age.

package import DNSWire

enum Decay {
    /// Returns the remaining share, at most 1. Uses 1 / (1 + x) instead of e^-x: equal for small steps, slower over
    /// long pauses, and basic arithmetic only.
    static func part(after elapsed: Duration, memory: Duration) -> Double {
        1 / (1 + max(0, elapsed.seconds) / memory.seconds)
    }
}

/// A count that decays with time.
struct DecayingCount {
    private var value = 0.0
    private var countedAt: Instant?
    private let memory: Duration

    init(memory: Duration) {
        self.memory = memory
    }

    /// Nothing was counted yet.
    var isEmpty: Bool { countedAt == nil }

    mutating func add(_ more: Double, now: Instant) {
        value = value(now) + more
        countedAt = now
    }

    func value(_ now: Instant) -> Double {
        countedAt.map { value * Decay.part(after: $0.duration(to: now), memory: memory) } ?? 0
    }
}

extension Duration {
    package var milliseconds: Double { seconds * 1000 }
}
