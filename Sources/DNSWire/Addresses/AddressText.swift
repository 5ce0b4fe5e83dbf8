// Text form of addresses: dotted decimal, and RFC 5952 for IPv6. Strict: no leading zeros, zones or brackets.

extension Address {
    package init?(_ text: String) {
        let bytes = text.utf8.span
        if let value = Address.readV4(bytes) {
            self = .v4(value)
        } else if let value = Address.readV6(bytes) {
            self = .v6(high: UInt64(value >> 64), low: UInt64(truncatingIfNeeded: value))
        } else {
            return nil
        }
    }

    private static func readV4(_ text: Span<UInt8>) -> UInt32? {
        var (value, at): (UInt32, Int) = (0, 0)
        for part in 0..<4 {
            if part > 0 {
                guard at < text.count, text[at] == UInt8(ascii: ".") else { return nil }
                at += 1
            }
            var (start, byte): (Int, UInt32) = (at, 0)
            while at < text.count, at - start < 3, text[at].isDigit {
                byte = 10 * byte + UInt32(text[at] - UInt8(ascii: "0"))
                at += 1
            }
            guard at > start, byte <= 0xFF, at - start == 1 || text[start] != UInt8(ascii: "0") else { return nil }
            value = value << 8 | byte
        }
        return at == text.count ? value : nil
    }

    /// Reads groups of 16 bits, one "::" among them, and an IPv4 address in place of the last two.
    private static func readV6(_ text: Span<UInt8>) -> UInt128? {
        let colon = UInt8(ascii: ":")
        var (groups, count, at): (UInt128, Int, Int) = (0, 0, 0)
        // The number of groups before "::".
        var headCount: Int?
        if text.count >= 2, text[0] == colon, text[1] == colon { (headCount, at) = (0, 2) }
        while at < text.count {
            let start = at
            var group: UInt128 = 0
            while at < text.count, at - start < 4, let digit = text[at].hexValue {
                group = group << 4 | UInt128(digit)
                at += 1
            }
            if at < text.count, text[at] == UInt8(ascii: ".") {
                guard let last = readV4(text.extracting(start...)) else { return nil }
                (groups, count, at) = (groups << 32 | UInt128(last), count + 2, text.count)
                break
            }
            guard at > start, count < 8 else { return nil }
            (groups, count) = (groups << 16 | group, count + 1)
            guard at < text.count else { break }
            guard text[at] == colon, at + 1 < text.count else { return nil }
            at += 1
            if text[at] == colon {
                guard headCount == nil else { return nil }
                (headCount, at) = (count, at + 1)
            }
        }
        guard let headCount else { return count == 8 ? groups : nil }
        guard count <= 7 else { return nil }
        let tailBits = 16 * (count - headCount)
        let head = groups >> tailBits
        return head << (128 - 16 * headCount) | (groups - head << tailBits)
    }
}

extension Address: CustomStringConvertible {
    package var description: String {
        switch self {
        case .v4(let value):
            stride(from: 24, through: 0, by: -8).map { String(value >> UInt32($0) & 0xFF) }.joined(separator: ".")
        case .v6(let high, let low):
            Address.v6Text(
                [high, low].flatMap { half in [48, 32, 16, 0].map { UInt16(truncatingIfNeeded: half >> $0) } })
        }
    }

    /// Returns the form of RFC 5952 section 4: lower case, no leading zeros, the longest run of two or more zero groups
    /// as "::".
    private static func v6Text(_ groups: [UInt16]) -> String {
        if groups[0..<5].allSatisfy({ $0 == 0 }), groups[5] == 0xFFFF {
            return "::ffff:" + Address.v4(UInt32(groups[6]) << 16 | UInt32(groups[7])).description
        }
        let longest = longestZeroRun(groups)
        let text = { (slice: ArraySlice<UInt16>) in slice.map { String($0, radix: 16) }.joined(separator: ":") }
        guard longest.count >= 2 else { return text(groups[...]) }
        return text(groups[..<longest.lowerBound]) + "::" + text(groups[longest.upperBound...])
    }

    private static func longestZeroRun(_ groups: [UInt16]) -> Range<Int> {
        var longest = 0..<0
        var start = 0
        for index in 0...groups.count where index == groups.count || groups[index] != 0 {
            if index - start > longest.count { longest = start..<index }
            start = index + 1
        }
        return longest
    }
}
