// Escapes and truncates untrusted text, such as client input and certificate fields. Escaped text cannot move the
// cursor, reverse the writing direction or flood the screen.

import DNSWire

/// Returns the text in quotes, truncated, with all but printable ASCII escaped.
func quoted(_ text: String) -> String {
    let maxShown = 60
    let shown = text.unicodeScalars.prefix(maxShown).map { $0.escaped(asASCII: true) }.joined()
    return "\"\(shown)\"" + (text.unicodeScalars.count > maxShown ? "..." : "")
}

/// Returns the text as one word of a shell's command line; in quotes if the shell needs them.
package func shellWord(_ text: String) -> String {
    let isPlain = text.utf8.allSatisfy { byte in
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
            || "/._-+:@%,".utf8.contains(byte)
    }
    guard !isPlain || text.isEmpty else { return text }
    return "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
}

extension String {
    /// Escapes invisible characters, keeps the letters of every script, and truncates to `maxBytes` of a JSON string.
    /// The function is idempotent.
    package func shown(maxBytes: Int) -> String {
        let pieces = unicodeScalars.lazy.map { $0.isVisible ? String($0) : $0.escaped(asASCII: true) }
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
