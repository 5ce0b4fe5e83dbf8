// Reads JSON text. Untrusted: depth and number of parts are bounded, and text is UTF-8 without exceptions.

package enum JSONFault: Error, Equatable, CustomStringConvertible {
    case tooDeep(Int)
    case tooManyParts(Int)
    case notUTF8
    case notJSON

    package var description: String {
        switch self {
        case .tooDeep(let levels): "JSON deeper than \(levels) levels"
        case .tooManyParts(let parts): "JSON of more than \(parts) parts"
        case .notUTF8: "JSON not in UTF-8"
        case .notJSON: "JSON not readable"
        }
    }
}

/// Limits of a document.
package struct JSONLimits: Sendable {
    /// Arrays and objects within each other. Bounds the recursion, and so the stack.
    package let maxDepth: Int
    /// Arrays, objects and commas together.
    package let maxParts: Int

    package init(maxDepth: Int = 32, maxParts: Int = .max) { (self.maxDepth, self.maxParts) = (maxDepth, maxParts) }
}

extension JSONValue {
    package init(reading bytes: [UInt8], within limits: JSONLimits = JSONLimits()) throws(JSONFault) {
        guard (try? UTF8Span(validating: bytes.span)) != nil else { throw .notUTF8 }
        self = try JSONReader.read(bytes, limits)
    }
}

private struct JSONReader {
    private let bytes: [UInt8]
    private let limits: JSONLimits
    private var at = 0
    private var depth = 0
    private var parts = 0

    private init(_ bytes: [UInt8], _ limits: JSONLimits) { (self.bytes, self.limits) = (bytes, limits) }

    static func read(_ bytes: [UInt8], _ limits: JSONLimits) throws(JSONFault) -> JSONValue {
        var reader = JSONReader(bytes, limits)
        // RFC 8259 section 8.1 lets parsers ignore a byte order mark.
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { reader.at = 3 }
        let value = try reader.readValue()
        guard reader.at == bytes.count else { throw .notJSON }
        return value
    }

    /// The next byte; nil at the end.
    private var next: UInt8? { at < bytes.count ? bytes[at] : nil }

    /// Reads a value and the white space around it. Recurses at most `maxDepth` times.
    private mutating func readValue() throws(JSONFault) -> JSONValue {
        skipSpace()
        defer { skipSpace() }
        switch next {
        case UInt8(ascii: "{")?: return try readObject()
        case UInt8(ascii: "[")?: return try readArray()
        case UInt8(ascii: "\"")?: return .text(try readString())
        case UInt8(ascii: "t")?: return try read("true", as: .boolean(true))
        case UInt8(ascii: "f")?: return try read("false", as: .boolean(false))
        case UInt8(ascii: "n")?: return try read("null", as: .null)
        default: return try readNumber()
        }
    }

    private mutating func readObject() throws(JSONFault) -> JSONValue {
        var members: [JSONObject.Member] = []
        try readParts(to: UInt8(ascii: "}")) { reader throws(JSONFault) in
            let name = try reader.readString()
            reader.skipSpace()
            guard reader.take(UInt8(ascii: ":")) else { throw .notJSON }
            members.append((name, try reader.readValue()))
        }
        return .object(JSONObject(members))
    }

    private mutating func readArray() throws(JSONFault) -> JSONValue {
        var elements: [JSONValue] = []
        try readParts(to: UInt8(ascii: "]")) { reader throws(JSONFault) in elements.append(try reader.readValue()) }
        return .array(elements)
    }

    /// Reads what is between brackets, and the brackets.
    private mutating func readParts(
        to end: UInt8, _ readPart: (inout JSONReader) throws(JSONFault) -> Void
    ) throws(JSONFault) {
        depth += 1
        guard depth <= limits.maxDepth else { throw .tooDeep(limits.maxDepth) }
        defer { depth -= 1 }
        var isFirst = true
        repeat {
            parts += 1
            guard parts <= limits.maxParts else { throw .tooManyParts(limits.maxParts) }
            at += 1
            skipSpace()
            if isFirst, take(end) { return }
            isFirst = false
            try readPart(&self)
            skipSpace()
        } while next == UInt8(ascii: ",")
        guard take(end) else { throw .notJSON }
    }

    private mutating func readString() throws(JSONFault) -> String {
        guard take(UInt8(ascii: "\"")) else { throw .notJSON }
        let start = at
        while let byte = next, byte >= 0x20, byte != UInt8(ascii: "\\") {
            at += 1
            if byte == UInt8(ascii: "\"") { return String(decoding: bytes[start..<(at - 1)], as: UTF8.self) }
        }
        return try readEscaped(after: start)
    }

    /// Reads the rest of a string from its first escape on.
    private mutating func readEscaped(after start: Int) throws(JSONFault) -> String {
        var text = Array(bytes[start..<at])
        while let byte = next, byte >= 0x20 {
            at += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"): text.append(contentsOf: try readEscape())
            default: text.append(byte)
            }
        }
        throw .notJSON
    }

    /// Returns the escaped character in UTF-8 (RFC 8259 section 7), and U+FFFD for half of a surrogate pair.
    private mutating func readEscape() throws(JSONFault) -> [UInt8] {
        guard let letter = next else { throw .notJSON }
        at += 1
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [letter]
        case UInt8(ascii: "b"): return [0x08]
        case UInt8(ascii: "f"): return [0x0C]
        case UInt8(ascii: "n"): return [0x0A]
        case UInt8(ascii: "r"): return [0x0D]
        case UInt8(ascii: "t"): return [0x09]
        case UInt8(ascii: "u"): break
        default: throw .notJSON
        }
        let code = try readHexDigits()
        if 0xD800..<0xDC00 ~= code, bytes[at...].starts(with: "\\u".utf8) {
            let end = at
            at += 2
            let low = try readHexDigits()
            if 0xDC00..<0xE000 ~= low { return JSONReader.utf8(0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)) }
            at = end
        }
        return JSONReader.utf8(code)
    }

    private static func utf8(_ code: UInt32) -> [UInt8] {
        Array(String(Character(Unicode.Scalar(code) ?? "\u{FFFD}")).utf8)
    }

    private mutating func readHexDigits() throws(JSONFault) -> UInt32 {
        guard at + 4 <= bytes.count,
            let code = UInt32(String(decoding: bytes[at..<(at + 4)], as: UTF8.self), radix: 16),
            bytes[at] != UInt8(ascii: "+"), bytes[at] != UInt8(ascii: "-")
        else { throw .notJSON }
        at += 4
        return code
    }

    private mutating func readNumber() throws(JSONFault) -> JSONValue {
        let start = at
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) { try readDigits() }
        let integerEnd = at
        if take(UInt8(ascii: ".")) { try readDigits() }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            try readDigits()
        }
        let text = String(decoding: bytes[start..<at], as: UTF8.self)
        if at == integerEnd, let integer = Int(text) { return .integer(integer) }
        guard let number = Double(text) else { throw .notJSON }
        return .number(number)
    }

    private mutating func readDigits() throws(JSONFault) {
        let start = at
        while let byte = next, 0x30...0x39 ~= byte { at += 1 }
        guard at > start else { throw .notJSON }
    }

    private mutating func read(_ word: String, as value: JSONValue) throws(JSONFault) -> JSONValue {
        guard bytes[at...].starts(with: word.utf8) else { throw .notJSON }
        at += word.utf8.count
        return value
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        at += 1
        return true
    }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { at += 1 }
    }
}
