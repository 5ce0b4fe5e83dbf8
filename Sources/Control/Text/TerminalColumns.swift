// The width of text on a terminal. Chinese, Japanese and Korean characters take two columns.

extension StringProtocol {
    /// The number of columns, as wcwidth(3) counts them in a UTF-8 locale.
    package var columns: Int {
        utf8.allSatisfy { $0 < 0x80 } ? utf8.count : unicodeScalars.reduce(0) { $0 + $1.columns }
    }
}

extension String {
    /// Pads the text to a number of columns.
    package func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - columns)) }
}

extension Unicode.Scalar {
    /// Blocks of wide characters (W and F in Unicode Standard Annex 11), with gaps that no text uses.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAFF,
        0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F900...0x1F9FF,
        0x20000...0x3FFFD,
    ]

    /// Whether the character takes two columns.
    package var isWide: Bool { value >= 0x1100 && Unicode.Scalar.wide.contains { $0.contains(value) } }

    fileprivate var columns: Int {
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: 0
        default: isWide ? 2 : 1
        }
    }
}
