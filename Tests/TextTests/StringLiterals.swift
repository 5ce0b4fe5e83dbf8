// The string literals of a Swift file as templates of `LocalizedText`. Raw strings and block comments are refused:
// the sources with texts have none.

struct StringLiteral: Equatable {
    let line: Int
    /// The text with "%1", "%2", ... for its interpolations.
    let template: String
    /// Whether the literal stands in an interpolation of another one.
    let isNested: Bool
    /// The last code before the literal, without white space.
    let before: String

    struct Unreadable: Error, Equatable {
        let line: Int
    }

    static func all(in source: String) throws -> [StringLiteral] {
        var scanner = Scanner(source)
        try scanner.readCode(until: nil, isNested: false)
        return scanner.found
    }
}

private struct Scanner {
    private let bytes: [UInt8]
    private var at = 0
    private var line = 1
    private(set) var found: [StringLiteral] = []

    private static let lineFeed = UInt8(ascii: "\n")
    private static let quote = UInt8(ascii: "\"")
    private static let backslash = UInt8(ascii: "\\")
    /// Stands for a backslash at the end of a line.
    private static let continuation: UInt8 = 0
    /// Enough for the label of an argument and the line before it.
    private static let maxBefore = 80

    init(_ source: String) {
        bytes = Array(source.utf8)
    }

    /// Reads code up to the end, or up to the parenthesis that ends an interpolation.
    mutating func readCode(until end: UInt8?, isNested: Bool) throws {
        var depth = 0
        while at < bytes.count {
            let byte = bytes[at]
            if starts("//") {
                while at < bytes.count, bytes[at] != Scanner.lineFeed { at += 1 }
                continue
            }
            if byte == UInt8(ascii: "#") && (starts("#\"") || starts("##")) || starts("/*") { throw unreadable }
            if byte == Scanner.quote {
                try readLiteral(isNested: isNested)
                continue
            }
            if byte == end, depth == 0 { return }
            if byte == UInt8(ascii: "(") { depth += 1 }
            if byte == UInt8(ascii: ")") { depth -= 1 }
            step()
        }
        if end != nil { throw unreadable }
    }

    private var unreadable: StringLiteral.Unreadable { StringLiteral.Unreadable(line: line) }

    private func starts(_ text: StaticString) -> Bool {
        guard at + text.utf8CodeUnitCount <= bytes.count else { return false }
        return (0..<text.utf8CodeUnitCount).allSatisfy { unsafe bytes[at + $0] == text.utf8Start[$0] }
    }

    private mutating func step() {
        if bytes[at] == Scanner.lineFeed { line += 1 }
        at += 1
    }

    private mutating func readLiteral(isNested: Bool) throws {
        let first = line
        let before = String(decoding: bytes[..<at].suffix(Scanner.maxBefore), as: UTF8.self)
        let quotes = starts("\"\"\"") ? 3 : 1
        at += quotes
        var template: [UInt8] = []
        var interpolations = 0
        while !(quotes == 3 ? starts("\"\"\"") : starts("\"")) {
            guard at + 1 < bytes.count else { throw unreadable }
            if starts("\\(") {
                at += 2
                try readCode(until: UInt8(ascii: ")"), isNested: true)
                at += 1
                interpolations += 1
                template += Array("%\(interpolations)".utf8)
            } else if bytes[at] == Scanner.backslash {
                template += try escaped()
            } else {
                template.append(bytes[at])
                step()
            }
        }
        at += quotes
        let text = quotes == 3 ? Scanner.unindented(template) : template
        found.append(
            StringLiteral(
                line: first, template: String(decoding: text, as: UTF8.self), isNested: isNested,
                before: before.filter { !$0.isWhitespace }))
    }

    private mutating func escaped() throws -> [UInt8] {
        step()
        let byte: UInt8
        switch bytes[at] {
        case UInt8(ascii: "u"): return try escapedScalar()
        case Scanner.quote, Scanner.backslash: byte = bytes[at]
        case UInt8(ascii: "n"): byte = Scanner.lineFeed
        case UInt8(ascii: "r"): byte = UInt8(ascii: "\r")
        case UInt8(ascii: "t"): byte = UInt8(ascii: "\t")
        case Scanner.lineFeed: byte = Scanner.continuation
        default: throw unreadable
        }
        step()
        return [byte]
    }

    /// Reads "u{3000}".
    private mutating func escapedScalar() throws -> [UInt8] {
        let digits = bytes[at...].dropFirst(2).prefix { $0 != UInt8(ascii: "}") }
        let value = UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
        guard starts("u{"), let scalar = value.flatMap(Unicode.Scalar.init) else { throw unreadable }
        at = digits.endIndex + 1
        return Array(String(scalar).utf8)
    }

    /// Removes the indentation of a literal of several lines, and joins the lines that a backslash ends.
    private static func unindented(_ text: [UInt8]) -> [UInt8] {
        let lines = text.split(separator: lineFeed).map { line in
            line.split(separator: continuation).map { $0.drop { $0 == UInt8(ascii: " ") } }.joined()
        }
        return Array(lines.filter { !$0.isEmpty }.joined(separator: [lineFeed]))
    }
}
