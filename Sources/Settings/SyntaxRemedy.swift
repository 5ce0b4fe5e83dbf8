// Finds the text to write for common syntax errors: a string without quotes, an array without its end or a comma. The
// parser knows only where it could not go on.

import DNSWire

extension TOMLDocument.SyntaxError {
    /// Returns the error with place and remedy of a common mistake; unchanged if it is none of these.
    ///
    /// - Parameter text: the file, in UTF-8.
    func withRemedy(in text: ArraySlice<UInt8>) -> TOMLDocument.SyntaxError {
        let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard let last = lines.last else { return self }
        let current = lines.indices.contains(line - 1) ? lines[line - 1] : last.suffix(0)
        let (before, rest) = current.splitAtCharacter(column - 1)
        let array = OpenArray(in: lines.prefix(line - 1) + [before])
        let word = BareWord(between: before, and: rest)
        let isInArray = array?.isBeforeHeader == false
        if let word, word.isString(inArray: isInArray) {
            let brackets = String(repeating: "]", count: isInArray ? array?.depth ?? 0 : 0)
            let string = Array("\(tomlString(word.text))\(brackets)".utf8)
            let corrected = (lines.prefix(line - 1) + [word.before + string]).joined(separator: [UInt8(ascii: "\n")])
            return TOMLDocument.SyntaxError(
                line: line, column: word.column, reason: "\(word.finding): write \(word.replacement)",
                corrected: word.isInKeyFileLine
                    ? nil : .init(found: word.written, string: word.text, text: Array(corrected)))
        }
        // The parser's reasons about arrays. A string in an array, for example, may have a fault of its own.
        guard let array, reason.contains("array") else { return self }
        if isInArray, let next = rest.first, next.isQuote || word?.isKey == false {
            return TOMLDocument.SyntaxError(
                line: line, column: column, reason: "a , is missing in the array: write , behind \(array.lastElement)")
        }
        return TOMLDocument.SyntaxError(
            line: array.line, column: array.column,
            reason: "the array has no closing ]: write ] behind \(array.lastElement)")
    }
}

/// What a user writes in place of a string: letters and digits without quotes, or a text in typographic quotes.
private struct BareWord {
    let text: String
    /// With its quotes.
    let written: String
    /// The line in front of it.
    let before: ArraySlice<UInt8>
    /// Counts from 1.
    let column: Int
    /// Whether a = follows.
    let isKey: Bool
    /// The line names the file of a secret in front of the word, which may be that secret.
    let isInKeyFileLine: Bool
    /// The last byte in front of the word that is no blank.
    private let previous: UInt8?

    /// Longer words would be cut in the message.
    private static let maxBytes = 60

    /// Nil if the place is not in a word.
    init?(between before: ArraySlice<UInt8>, and rest: ArraySlice<UInt8>) {
        let typographic = BareWord.inTypographicQuotes(rest)
        let head = before.suffix(typographic == nil ? before.reversed().prefix(while: \.isOfWord).count : 0)
        let tail = typographic?.written ?? rest.prefix(while: \.isOfWord)
        guard !tail.isEmpty, head.count + tail.count <= BareWord.maxBytes else { return nil }
        written = String(decoding: head + tail, as: UTF8.self)
        text = typographic.map { String(decoding: $0.text, as: UTF8.self) } ?? written
        self.before = before.dropLast(head.count)
        column = self.before.characters + 1
        isKey = rest.dropFirst(tail.count).first { !$0.isBlank } == UInt8(ascii: "=")
        isInKeyFileLine = self.before.contains("key-file".utf8)
        previous = self.before.last { !$0.isBlank }
    }

    /// The text up to the next typographic quote; nil if it does not begin with one.
    private static func inTypographicQuotes(
        _ rest: ArraySlice<UInt8>
    ) -> (text: ArraySlice<UInt8>, written: ArraySlice<UInt8>)? {
        guard rest.beginsWithTypographicQuote else { return nil }
        let inner = rest.dropFirst(3)
        guard let end = inner.indices.first(where: { inner[$0...].beginsWithTypographicQuote }) else { return nil }
        return (inner[..<end], rest[..<(end + 3)])
    }

    var finding: String {
        if isInKeyFileLine { return "found \(hiddenValue); a string needs quotes" }
        return written == text ? "found \(text); a string needs quotes" : "found the typographic quotes of \(written)"
    }

    var replacement: String { isInKeyFileLine ? "\"/PATH/OF/THE/FILE\"" : quoted(text) }

    /// Whether it stands where a value should, and is neither a number nor a date.
    func isString(inArray: Bool) -> Bool {
        guard !isKey,
            written != text || text.utf8.first?.isDigit == false || text.utf8.contains(where: \.isLetter) || isAddress
        else { return false }
        return switch previous {
        case UInt8(ascii: "="): true
        case UInt8(ascii: "["), UInt8(ascii: ","), nil: inArray
        default: false
        }
    }

    private var isAddress: Bool { text.utf8.count { $0 == UInt8(ascii: ".") } > 1 }
}

/// The innermost array that is open at the end of some lines.
private struct OpenArray {
    /// Place of its bracket; both count from 1.
    let line: Int
    let column: Int
    /// The last element and the comma behind it, or the bracket if there is none.
    let lastElement: String
    /// A line with a table header follows, which no array holds.
    let isBeforeHeader: Bool
    /// Number of open arrays.
    let depth: Int

    /// Nil if no array is open.
    init?(in lines: some Collection<ArraySlice<UInt8>>) {
        var open: [(number: Int, before: ArraySlice<UInt8>)] = []
        var lastElement = "["
        var isBeforeHeader = false
        for (number, line) in lines.enumerated() {
            var at = line.startIndex
            isBeforeHeader = !open.isEmpty && line.first { !$0.isBlank } == UInt8(ascii: "[")
            if isBeforeHeader { break }
            while at < line.endIndex, line[at] != UInt8(ascii: "#") {
                let rest = line[at...]
                var length = 1
                if line[at].isQuote {
                    let written = rest.quotedString
                    (length, lastElement) = (written.count, quoted(OpenArray.content(of: written)))
                } else if line[at].isOfWord {
                    let word = rest.prefix(while: \.isOfWord)
                    (length, lastElement) = (word.count, String(decoding: word, as: UTF8.self))
                } else if line[at] == UInt8(ascii: "[") {
                    open.append((number, line[..<at]))
                    lastElement = "["
                } else if line[at] == UInt8(ascii: "]") {
                    _ = open.popLast()
                } else if line[at] == UInt8(ascii: ",") {
                    lastElement += ","
                }
                at = min(at + length, line.endIndex)
            }
        }
        guard let innermost = open.last else { return nil }
        (line, column) = (innermost.number + 1, innermost.before.characters + 1)
        (self.lastElement, self.isBeforeHeader, depth) = (lastElement, isBeforeHeader, open.count)
    }

    /// The text of a string, with the escapes for quote and backslash removed.
    private static func content(of written: ArraySlice<UInt8>) -> String {
        let text = String(decoding: written.dropFirst().dropLast(), as: UTF8.self)
        guard written.first == UInt8(ascii: "\"") else { return text }
        return text.replacing("\\\"", with: "\"").replacing("\\\\", with: "\\")
    }
}

extension ArraySlice<UInt8> {
    /// Number of characters of UTF-8 text.
    fileprivate var characters: Int { count { $0 & 0xC0 != 0x80 } }

    /// The string that begins here, with its quotes; up to the end if it has none.
    fileprivate var quotedString: ArraySlice {
        var isEscaped = false
        let end = dropFirst().firstIndex { byte in
            defer { isEscaped = !isEscaped && byte == UInt8(ascii: "\\") && first == UInt8(ascii: "\"") }
            return byte == first && !isEscaped
        }
        return self[...(end ?? endIndex - 1)]
    }

    /// U+2018 to U+201F.
    fileprivate var beginsWithTypographicQuote: Bool {
        let bytes = Array(prefix(3))
        return bytes.count == 3 && bytes[0] == 0xE2 && bytes[1] == 0x80 && (0x98...0x9F).contains(bytes[2])
    }

    fileprivate func splitAtCharacter(_ number: Int) -> (ArraySlice, ArraySlice) {
        var left = number
        let start = indices.first { index in
            if self[index] & 0xC0 != 0x80 { left -= 1 }
            return left < 0
        }
        return (self[..<(start ?? endIndex)], self[(start ?? endIndex)...])
    }
}

extension UInt8 {
    fileprivate var isBlank: Bool { self == 0x20 || self == 0x09 || self == 0x0D }
    fileprivate var isQuote: Bool { self == UInt8(ascii: "\"") || self == UInt8(ascii: "'") }
    fileprivate var isLetter: Bool { (0x61...0x7A).contains(self | 0x20) }
    fileprivate var isOfWord: Bool { isDigit || isLetter || "-_.:/".utf8.contains(self) }
}
