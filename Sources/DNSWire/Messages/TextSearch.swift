// Search in texts, byte by byte in UTF-8. The library's own search brings its engine for regular expressions, 1 MB of
// each program.

extension Collection where Element == UInt8 {
    /// Returns the range of the first place where the bytes stand; nil if there is none, or they are none.
    package func firstRange(of bytes: some Collection<UInt8>) -> Range<Index>? {
        guard let first = bytes.first else { return nil }
        var rest = self[...]
        while let start = rest.firstIndex(of: first) {
            rest = rest[start...]
            if rest.starts(with: bytes) { return start..<rest.index(start, offsetBy: bytes.count) }
            rest = rest.dropFirst()
        }
        return nil
    }
}

extension StringProtocol {
    /// Returns the range of the first place where the text stands; nil if there is none, or the text is empty.
    package func firstRange(of text: some StringProtocol) -> Range<Index>? { utf8.firstRange(of: text.utf8) }

    /// An empty text is part of every text.
    package func contains(_ text: some StringProtocol) -> Bool { text.isEmpty || firstRange(of: text) != nil }

    /// Returns the text with another one in each place of the first.
    package func replacing(_ text: some StringProtocol, with other: some StringProtocol) -> String {
        var (result, rest) = ("", self[...])
        while let range = rest.firstRange(of: text) {
            result += rest[..<range.lowerBound]
            result += other
            rest = rest[range.upperBound...]
        }
        return result + rest
    }
}
