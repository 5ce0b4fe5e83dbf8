// SipHash (Aumasson and Bernstein 2012) word by word: 1-3 for tables, 2-4 for signatures. Hash arithmetic wraps, so
// it is unchecked.

struct SipState {
    private var v0, v1, v2, v3: UInt64

    /// - Parameter key: the first eight bytes and the last eight of the key, each as a little-endian number.
    @inline(__always)
    init(_ key: (UInt64, UInt64)) {
        v0 = key.0 ^ 0x736f_6d65_7073_6575
        v1 = key.1 ^ 0x646f_7261_6e64_6f6d
        v2 = key.0 ^ 0x6c79_6765_6e65_7261
        v3 = key.1 ^ 0x7465_6462_7974_6573
    }

    /// Absorbs eight bytes as a little-endian number; the last word has the count of all bytes in its highest byte.
    @inline(__always)
    mutating func absorb(_ word: UInt64, rounds: Int = 1) {
        v3 ^= word
        for _ in 0..<rounds { mix() }
        v0 ^= word
    }

    @inline(__always)
    mutating func finish(rounds: Int = 3) -> UInt64 {
        v2 ^= 0xFF
        for _ in 0..<rounds { mix() }
        return v0 ^ v1 ^ v2 ^ v3
    }

    @inline(__always)
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

/// Seeded hash of a cache key (SipHash-1-3), so that a client without the seed cannot choose colliding names.
struct NameHash: Sendable {
    private let seed: (UInt64, UInt64)

    init(seed: (UInt64, UInt64)) {
        self.seed = seed
    }

    /// - Parameters:
    ///   - words: the name in lower case, padded with zeros to whole words.
    ///   - kind: record type and bits; hashed with the name's length as the closing word.
    func hash(_ words: Span<UInt64>, nameBytes: Int, kind: UInt32) -> UInt64 {
        var state = SipState(seed)
        for index in words.indices { state.absorb(words[index]) }
        state.absorb(UInt64(kind) << 16 | UInt64(nameBytes))
        return state.finish()
    }
}
