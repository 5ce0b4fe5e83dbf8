// Seeded hash of a cache key: SipHash-1-3 (Aumasson and Bernstein 2012), so that a client without the seed cannot
// choose colliding names. Hash arithmetic wraps, so it is unchecked.

struct NameHash: Sendable {
    private let seed: (UInt64, UInt64)

    init(seed: (UInt64, UInt64)) {
        self.seed = seed
    }

    /// - Parameters:
    ///   - words: the name in lower case, padded with zeros to whole words.
    ///   - type: record type; hashed with the name's length as the closing word.
    func hash(_ words: Span<UInt64>, nameBytes: Int, type: UInt16) -> UInt64 {
        var state = SipState(seed)
        for index in words.indices { state.absorb(words[index]) }
        state.absorb(UInt64(type) << 16 | UInt64(nameBytes))
        return state.finish()
    }
}
