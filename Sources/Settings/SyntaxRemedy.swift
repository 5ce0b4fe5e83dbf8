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
            return TOMLDocument.SyntaxError(
                line: line, column: word.column,
                reason: "found \(word.text); a string needs quotes: write \(quoted(word.text))")
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

/// The letters and digits around a place, as a user writes a string without quotes.
private struct BareWord {
    let text: String
    /// Counts from 1.
    let column: Int
    /// Whether a = follows.
    let isKey: Bool
    /// The last byte in front of the word that is no blank.
    private let previous: UInt8?

    /// Longer words would be cut in the message.
    private static let maxBytes = 60

    /// Nil if the place is not in a word.
    init?(between before: ArraySlice<UInt8>, and rest: ArraySlice<UInt8>) {
        let head = before.suffix(before.reversed().prefix(while: \.isOfWord).count)
        let tail = rest.prefix(while: \.isOfWord)
        guard !tail.isEmpty, head.count + tail.count <= BareWord.maxBytes else { return nil }
        text = String(decoding: head + tail, as: UTF8.self)
        column = before.dropLast(head.count).characters + 1
        isKey = rest.dropFirst(tail.count).first { !$0.isBlank } == UInt8(ascii: "=")
        previous = before.dropLast(head.count).last { !$0.isBlank }
    }

    /// Whether it stands where a value should, and is neither a number nor a date.
    func isString(inArray: Bool) -> Bool {
        guard !isKey, text.utf8.first?.isDigit == false || text.utf8.contains(where: \.isLetter) || isAddress else {
            return false
        }
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
    /// The last element, or the bracket if there is none.
    let lastElement: String
    /// A line with a table header follows, which no array holds.
    let isBeforeHeader: Bool

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
                    let content = rest.dropFirst().prefix { $0 != line[at] }
                    (length, lastElement) = (content.count + 2, quoted(String(decoding: content, as: UTF8.self)))
                } else if line[at].isOfWord {
                    let word = rest.prefix(while: \.isOfWord)
                    (length, lastElement) = (word.count, String(decoding: word, as: UTF8.self))
                } else if line[at] == UInt8(ascii: "[") {
                    open.append((number, line[..<at]))
                    lastElement = "["
                } else if line[at] == UInt8(ascii: "]") {
                    _ = open.popLast()
                }
                at = min(at + length, line.endIndex)
            }
        }
        guard let innermost = open.last else { return nil }
        (line, column) = (innermost.number + 1, innermost.before.characters + 1)
        (self.lastElement, self.isBeforeHeader) = (lastElement, isBeforeHeader)
    }
}

extension ArraySlice<UInt8> {
    /// Number of characters of UTF-8 text.
    fileprivate var characters: Int { count { $0 & 0xC0 != 0x80 } }

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
