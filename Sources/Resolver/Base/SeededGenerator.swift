// Seeded random generator: the same seed gives the same decisions. SplitMix64 (Steele, Lea, Flood 2014).

import DNSWire

struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        mixed ^= mixed >> 31
        return mixed
    }

    /// Returns a random duration, to spread events that would coincide.
    mutating func duration(upTo longest: Duration) -> Duration { longest * Int(next() >> 54) / 1024 }

    /// Returns true for the given share of calls, from 0 to 1.
    mutating func hits(_ share: Double) -> Bool { Double(next() >> 11) < share * Double(1 << 53) }
}
