// Checks a whole body against the grammar of RFC 8259, without allocating. JSONDecoder alone also accepts other
// encodings than UTF-8, numbers and escapes that are not JSON, and trailing commas.

import DNSWire

struct JSONSyntax: ~Escapable {
    enum Fault: Error, CustomStringConvertible {
        case tooDeep(Int)
        case tooManyParts(Int)
        case notUTF8
        case notJSON

        var description: String {
            switch self {
            case .tooDeep(let levels): "JSON deeper than \(levels) levels"
            case .tooManyParts(let parts): "JSON of more than \(parts) parts"
            case .notUTF8: "JSON not in UTF-8"
            case .notJSON: "JSON not readable"
            }
        }
    }

    private let bytes: Span<UInt8>
    private let maxDepth: Int
    private let maxParts: Int
    private var at = 0
    private var depth = 0
    private var parts = 0

    /// - Parameter maxParts: limit for arrays, objects and commas together.
    static func check(_ bytes: Span<UInt8>, maxDepth: Int, maxParts: Int) throws(Fault) {
        guard (try? UTF8Span(validating: bytes)) != nil else { throw .notUTF8 }
        var syntax = JSONSyntax(bytes, maxDepth, maxParts)
        // RFC 8259 section 8.1 lets parsers ignore a byte order mark.
        if bytes.count >= 3, bytes[0] == 0xEF, bytes[1] == 0xBB, bytes[2] == 0xBF { syntax.at = 3 }
        try syntax.readValue()
        guard syntax.at == bytes.count else { throw .notJSON }
    }

    @_lifetime(copy bytes)
    private init(_ bytes: Span<UInt8>, _ maxDepth: Int, _ maxParts: Int) {
        self.bytes = bytes
        self.maxDepth = maxDepth
        self.maxParts = maxParts
    }

    /// The next byte; nil at the end.
    private var next: UInt8? { at < bytes.count ? bytes[at] : nil }

    /// Reads a value and the white space around it. Recurses at most `maxDepth` times.
    @_lifetime(self: copy self)
    private mutating func readValue() throws(Fault) {
        skipSpace()
        switch next {
        case UInt8(ascii: "{")?: try readMembers(to: UInt8(ascii: "}"), areNamed: true)
        case UInt8(ascii: "[")?: try readMembers(to: UInt8(ascii: "]"), areNamed: false)
        case UInt8(ascii: "\"")?: try readString()
        case UInt8(ascii: "t")?: try read("true")
        case UInt8(ascii: "f")?: try read("false")
        case UInt8(ascii: "n")?: try read("null")
        default: try readNumber()
        }
        skipSpace()
    }

    /// Reads an object or an array.
    @_lifetime(self: copy self)
    private mutating func readMembers(to end: UInt8, areNamed: Bool) throws(Fault) {
        depth += 1
        guard depth <= maxDepth else { throw .tooDeep(maxDepth) }
        defer { depth -= 1 }
        var isFirst = true
        repeat {
            parts += 1
            guard parts <= maxParts else { throw .tooManyParts(maxParts) }
            at += 1
            skipSpace()
            if isFirst, take(end) { return }
            isFirst = false
            if areNamed {
                try readString()
                skipSpace()
                guard take(UInt8(ascii: ":")) else { throw .notJSON }
            }
            try readValue()
        } while next == UInt8(ascii: ",")
        guard take(end) else { throw .notJSON }
    }

    @_lifetime(self: copy self)
    private mutating func readString() throws(Fault) {
        guard take(UInt8(ascii: "\"")) else { throw .notJSON }
        while let byte = next, byte >= 0x20 {
            at += 1
            if byte == UInt8(ascii: "\"") { return }
            if byte == UInt8(ascii: "\\") { try readEscape() }
        }
        throw .notJSON
    }

    @_lifetime(self: copy self)
    private mutating func readEscape() throws(Fault) {
        switch next {
        case UInt8(ascii: "u")?:
            at += 1
            for _ in 0..<4 {
                guard let digit = next, isHexDigit(digit) else { throw .notJSON }
                at += 1
            }
        case UInt8(ascii: "\"")?, UInt8(ascii: "\\")?, UInt8(ascii: "/")?, UInt8(ascii: "b")?, UInt8(ascii: "f")?,
            UInt8(ascii: "n")?, UInt8(ascii: "r")?, UInt8(ascii: "t")?:
            at += 1
        default: throw .notJSON
        }
    }

    @_lifetime(self: copy self)
    private mutating func readNumber() throws(Fault) {
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) { try readDigits() }
        if take(UInt8(ascii: ".")) { try readDigits() }
        guard take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) else { return }
        if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
        try readDigits()
    }

    @_lifetime(self: copy self)
    private mutating func readDigits() throws(Fault) {
        guard next?.isDigit ?? false else { throw .notJSON }
        while next?.isDigit ?? false { at += 1 }
    }

    @_lifetime(self: copy self)
    private mutating func read(_ word: String) throws(Fault) {
        for byte in word.utf8 {
            guard take(byte) else { throw .notJSON }
        }
    }

    @_lifetime(self: copy self)
    private mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        at += 1
        return true
    }

    @_lifetime(self: copy self)
    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { at += 1 }
    }

    private func isHexDigit(_ byte: UInt8) -> Bool { byte.isDigit || (0x61...0x66).contains(byte.lowercased) }
}
