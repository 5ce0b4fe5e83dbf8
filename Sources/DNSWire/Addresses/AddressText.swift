// Text form of addresses: dotted decimal, and RFC 5952 for IPv6. Strict: no leading zeros, zones or brackets.

extension Address {
    package init?(_ text: String) {
        if text.utf8.contains(UInt8(ascii: ":")) {
            self.init(v6Text: Substring(text))
        } else {
            guard let value = Address.parseV4(Substring(text)) else { return nil }
            self = .v4(value)
        }
    }

    private init?(v6Text text: Substring) {
        let halves = Address.splitAtDoubleColon(text)
        guard let head = Address.groups(halves.head, mayEndInV4: halves.tail == nil) else { return nil }
        guard let tailText = halves.tail else {
            guard head.count == 8 else { return nil }
            self.init(groups: head)
            return
        }
        guard let tail = Address.groups(tailText, mayEndInV4: true), head.count + tail.count <= 7 else { return nil }
        self.init(groups: head + Array(repeating: 0, count: 8 - head.count - tail.count) + tail)
    }

    private init(groups: [UInt16]) {
        self = .v6(
            high: groups.prefix(4).reduce(0) { $0 << 16 | UInt64($1) },
            low: groups.suffix(4).reduce(0) { $0 << 16 | UInt64($1) })
    }

    private static func splitAtDoubleColon(_ text: Substring) -> (head: Substring, tail: Substring?) {
        var index = text.startIndex
        while index < text.endIndex {
            let next = text.index(after: index)
            if text[index] == ":", next < text.endIndex, text[next] == ":" {
                return (text[..<index], text[text.index(after: next)...])
            }
            index = next
        }
        return (text, nil)
    }

    private static func groups(_ text: Substring, mayEndInV4: Bool) -> [UInt16]? {
        guard !text.isEmpty else { return [] }
        let parts = text.split(separator: ":", maxSplits: 8, omittingEmptySubsequences: false)
        var groups: [UInt16] = []
        for (index, part) in parts.enumerated() {
            if mayEndInV4, index == parts.count - 1, part.utf8.contains(UInt8(ascii: ".")) {
                guard let value = parseV4(part) else { return nil }
                groups += [UInt16(value >> 16), UInt16(truncatingIfNeeded: value)]
            } else {
                guard (1...4).contains(part.utf8.count), part.allSatisfy(\.isHexDigit) else { return nil }
                guard let group = UInt16(part, radix: 16) else { return nil }
                groups.append(group)
            }
        }
        return groups.count <= 8 ? groups : nil
    }

    private static func parseV4(_ text: Substring) -> UInt32? {
        let parts = text.split(separator: ".", maxSplits: 4, omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var value: UInt32 = 0
        for part in parts {
            guard (1...3).contains(part.utf8.count), part.utf8.allSatisfy(\.isDigit) else { return nil }
            guard part.utf8.count == 1 || part.utf8.first != 48, let byte = UInt8(part) else { return nil }
            value = value << 8 | UInt32(byte)
        }
        return value
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
