// The byte order mark of UTF-8, which some editors put before a text.

extension ArraySlice<UInt8> {
    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    var hasByteOrderMark: Bool { starts(with: Self.byteOrderMark) }

    /// The text behind its byte order mark, if it has one.
    var withoutByteOrderMark: ArraySlice<UInt8> {
        hasByteOrderMark ? dropFirst(Self.byteOrderMark.count) : self
    }
}
