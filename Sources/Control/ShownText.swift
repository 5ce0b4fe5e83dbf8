// Words of strangers on their way to a terminal: what a client has sent, what stands in a certificate. Whoever wrote
// them must not move a cursor, turn a line around, or fill a screen.

/// Cut, and with everything escaped that is not plain ASCII.
func quoted(_ text: String) -> String {
    let maxShown = 60
    let shown = text.unicodeScalars.prefix(maxShown).map { $0.escaped(asASCII: true) }.joined()
    return "\"\(shown)\"" + (text.unicodeScalars.count > maxShown ? "..." : "")
}

extension String {
    /// Letters of every script as they are, what has no shape escaped; cut so that it takes no more than so many bytes
    /// within a JSON string. What was made so once stays as it is.
    package func shown(maxBytes: Int) -> String {
        let pieces = unicodeScalars.lazy.map { $0.hasShape ? String($0) : $0.escaped(asASCII: true) }
        let cutMark = "..."
        var (whole, cut, bytes) = ("", "", 0)
        for piece in pieces {
            bytes += piece.bytesInJSON
            guard bytes <= maxBytes else { return cut + cutMark }
            whole += piece
            if bytes <= maxBytes - cutMark.utf8.count { cut = whole }
        }
        return whole
    }

    private var bytesInJSON: Int {
        utf8.reduce(0) { $0 + ($1 == UInt8(ascii: "\"") || $1 == UInt8(ascii: "\\") ? 2 : 1) }
    }
}

extension Unicode.Scalar {
    fileprivate var hasShape: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
        default: true
        }
    }
}
