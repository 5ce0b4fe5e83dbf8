// The words and signs of a file of ISC dhcpd. A string in quotes is a word; "#" begins a comment.

import DNSWire

struct DHCPDTokens {
    enum Token {
        /// A word without its quotes; escapes are not decoded, since no name that is used has one.
        case word(ArraySlice<UInt8>)
        /// ";"
        case end
        /// "{"
        case open
        /// "}"
        case close
    }

    private let text: [UInt8]
    private var at = 0
    private var line = 1
    private(set) var peek: Token?
    private(set) var lineOfPeeked = 1

    init(_ text: [UInt8]) {
        self.text = text
        skip()
    }

    mutating func next() -> Token? {
        defer { skip() }
        return peek
    }

    /// Goes on to the next token.
    mutating func skip() {
        skipSpace()
        lineOfPeeked = line
        guard at < text.count else {
            peek = nil
            return
        }
        at += 1
        switch text[at - 1] {
        case UInt8(ascii: ";"): peek = .end
        case UInt8(ascii: "{"): peek = .open
        case UInt8(ascii: "}"): peek = .close
        case UInt8(ascii: "\""): peek = string(from: at)
        default:
            let start = at - 1
            while at < text.count, !DHCPDTokens.isSign(text[at]), !DHCPDTokens.isSpace(text[at]) { at += 1 }
            peek = .word(text[start..<at])
        }
    }

    /// Returns the string; nil if the text ends before the string does.
    private mutating func string(from start: Int) -> Token? {
        while at < text.count, text[at] != UInt8(ascii: "\"") {
            if text[at] == UInt8(ascii: "\n") { line += 1 }
            at += text[at] == UInt8(ascii: "\\") ? 2 : 1
        }
        guard at < text.count else {
            at = text.count
            return nil
        }
        at += 1
        return .word(text[start..<(at - 1)])
    }

    private mutating func skipSpace() {
        while at < text.count {
            if text[at] == UInt8(ascii: "#") {
                at = text[at...].firstIndex(of: UInt8(ascii: "\n")) ?? text.count
            } else if DHCPDTokens.isSpace(text[at]) {
                if text[at] == UInt8(ascii: "\n") { line += 1 }
                at += 1
            } else {
                return
            }
        }
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    private static func isSign(_ byte: UInt8) -> Bool { ";{}\"".utf8.contains(byte) }
}
