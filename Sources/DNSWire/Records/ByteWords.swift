// Bytes eight at a time: names are hashed, compared and recorded as words.

extension UnsafeRawBufferPointer {
    /// Writes the bytes in lower case (RFC 4343) as little-endian words; the rest of the last word is 0.
    ///
    /// - Parameter words: has room for all bytes.
    @inlinable
    package func copyLowercased(to words: UnsafeMutablePointer<UInt64>) {
        var (at, word) = (0, 0)
        while at &+ 8 <= count {
            unsafe words[word] = UInt64(littleEndian: loadUnaligned(fromByteOffset: at, as: UInt64.self)).lowercased
            at &+= 8
            word &+= 1
        }
        if at < count { unsafe words[word] = lastWord(at: at, bytes: count &- at).lowercased }
    }

    /// Returns one to seven bytes as a little-endian word. If eight bytes end there, one shifted load is faster.
    @inlinable @inline(__always)
    package func lastWord(at offset: Int, bytes: Int) -> UInt64 {
        let start = offset &+ bytes &- 8
        if start >= 0 {
            let value = unsafe UInt64(littleEndian: loadUnaligned(fromByteOffset: start, as: UInt64.self))
            return value &>> UInt64(64 &- 8 &* bytes)
        }
        var value: UInt64 = 0
        for index in 0..<bytes { value |= unsafe UInt64(self[offset &+ index]) &<< UInt64(8 &* index) }
        return value
    }
}

extension UInt64 {
    /// Sets bit 5 of each byte between "A" and "Z", all eight at once.
    @inlinable
    package var lowercased: UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let low = self & (ones &* 0x7F)
        let atLeastA = low &+ (ones &* (0x80 - 0x41))
        let aboveZ = low &+ (ones &* (0x80 - 0x5B))
        let isUpper = (atLeastA ^ aboveZ) & ~self & (ones &* 0x80)
        return self | isUpper >> 2
    }
}
