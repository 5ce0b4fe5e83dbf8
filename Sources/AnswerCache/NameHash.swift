// The seeded hash of a cache key: SipHash-1-3 (Aumasson and Bernstein 2012), so that a client that does not know the
// seed cannot choose names which collide. Arithmetic is unchecked because that is what a hash is.

struct NameHash: Sendable {
    private let seed: (UInt64, UInt64)

    init(seed: (UInt64, UInt64)) {
        self.seed = seed
    }

    /// - Parameters:
    ///   - words: the name in lower case, padded with zeros to whole words.
    ///   - type: record type; hashed with the name's length as the closing word.
    func hash(_ words: Span<UInt64>, nameBytes: Int, type: UInt16) -> UInt64 {
        var state = State(seed)
        for index in words.indices { state.absorb(words[index]) }
        state.absorb(UInt64(type) << 16 | UInt64(nameBytes))
        return state.finish()
    }

    private struct State {
        private var v0, v1, v2, v3: UInt64

        init(_ seed: (UInt64, UInt64)) {
            v0 = seed.0 ^ 0x736f_6d65_7073_6575
            v1 = seed.1 ^ 0x646f_7261_6e64_6f6d
            v2 = seed.0 ^ 0x6c79_6765_6e65_7261
            v3 = seed.1 ^ 0x7465_6462_7974_6573
        }

        mutating func absorb(_ word: UInt64) {
            v3 ^= word
            mix()
            v0 ^= word
        }

        mutating func finish() -> UInt64 {
            v2 ^= 0xFF
            mix()
            mix()
            mix()
            return v0 ^ v1 ^ v2 ^ v3
        }

        private mutating func mix() {
            v0 &+= v1
            v1 = v1 << 13 | v1 >> 51
            v1 ^= v0
            v0 = v0 << 32 | v0 >> 32
            v2 &+= v3
            v3 = v3 << 16 | v3 >> 48
            v3 ^= v2
            v0 &+= v3
            v3 = v3 << 21 | v3 >> 43
            v3 ^= v0
            v2 &+= v1
            v1 = v1 << 17 | v1 >> 47
            v1 ^= v2
            v2 = v2 << 32 | v2 >> 32
        }
    }
}
