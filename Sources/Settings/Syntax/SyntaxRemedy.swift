// Finds the text to write for common syntax errors: a string without quotes, an array without its end or a comma. The
// parser knows only where it could not go on.

import DNSWire

/// A common mistake that stopped the parser.
struct SyntaxMistake {
    /// Line and column count from 1.
    let line: Int
    let column: Int
    private let finding: String
    /// The finding without the value.
    private let hiddenFinding: String
    /// The text to write; follows the finding.
    private let remedy: String
    /// The text in place of the remedy, if further mistakes would be left.
    private var unsureRemedy = ""
    /// A word as it is in the file, and the string that it becomes.
    private var word: (written: String, string: String)?
    /// The file up to the value of the key, which may be an array.
    private let front: [UInt8]
    /// The file up to the mistake, without it and with the arrays around it closed.
    let corrected: [UInt8]
    /// The whole file, without the mistake; nil if the remedy is right whatever text follows.
    private var whole: [UInt8]?
    /// The places at which the parser refuses the corrected text: the word and the arrays around it.
    let places: [Place]

    /// A line and a column.
    typealias Place = (Int, Int)

    /// Finds the mistake; nil if the error is none of the known mistakes.
    ///
    /// - Parameter text: the file, in UTF-8.
    init?(_ error: TOMLDocument.SyntaxError, in text: ArraySlice<UInt8>) {
        let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard let last = lines.last else { return nil }
        let current = lines.indices.contains(error.line - 1) ? lines[error.line - 1] : last.suffix(0)
        let (before, rest) = current.splitAtCharacter(error.column - 1)
        let linesBefore = lines.prefix(error.line - 1)
        let word = BareWord(between: before, and: rest)
        let array = OpenArray(in: linesBefore + [word?.isBracketed == true ? word?.before ?? before : before])
        let isInArray = array?.isBeforeHeader == false
        if let word, word.isString(inArray: isInArray) {
            let array = isInArray ? array : nil
            let string = Array(tomlString(word.text).utf8)
            let head = (linesBefore + [word.before]).joined(separator: [UInt8(ascii: "\n")])
            (line, column) = (error.line, word.column)
            (finding, hiddenFinding) = (word.finding, "found \(hiddenValue); a string needs quotes")
            remedy = ": write \(quoted(word.text))"
            if array != nil {
                unsureRemedy = "; an array needs quotes around strings, a , between them and a ] at its end"
            }
            self.word = (word.written, word.text)
            front = array?.front ?? Array(head)
            corrected = Array(head) + string + (array?.brackets ?? [])
            whole = Array(head) + string + text[word.end...]
            places = [(line, column)] + (array?.places ?? [])
            return
        }
        // A string in an array, for example, may have a mistake of its own.
        guard let array, error.reason.contains("array") else { return nil }
        if isInArray, let next = rest.first, next.isQuote || word?.isKey == false {
            // A comma would only follow another one: the string in front of the place has no end.
            guard ![",", "["].contains(array.lastElement.suffix(1)) else { return nil }
            (line, column) = (error.line, error.column)
            (finding, remedy) = ("a , is missing in the array", ": write , behind \(array.lastElement)")
        } else {
            (line, column) = array.places.last ?? (error.line, error.column)
            (finding, remedy) = ("the array has no closing ]", ": write ] behind \(array.lastElement)")
        }
        hiddenFinding = finding
        (front, corrected, places) = (array.front, array.corrected, array.places)
    }

    func text(isShown: Bool) -> String {
        guard isShown else { return hiddenFinding }
        return finding + (isOnlyOne ? remedy : unsureRemedy)
    }

    var isAboutWord: Bool { word != nil }

    /// Returns a complaint about the corrected file, with the word as it is in the file.
    func asWritten(_ complaint: Complaint) -> Complaint {
        guard let word else { return complaint }
        var text = complaint.text
        if let place = text.firstRange(of: quoted(word.string)) { text.replaceSubrange(place, with: word.written) }
        return Complaint(file: complaint.file, line: complaint.line, column: complaint.column, text: text)
    }

    /// The keys of the value that holds the mistake, from the root's key on; nil if the parser finds none.
    var keys: [String]? {
        // The marker is a value that no setting has.
        let marker = "\0value\0"
        return (try? TOMLDocument((front + Array(tomlString(marker).utf8))[...]))?.root.keys(of: marker)
    }

    /// Whether the parser accepts the rest of the line, or of the array, behind the corrected word.
    var isOnlyOne: Bool {
        guard let whole else { return true }
        do throws(TOMLDocument.SyntaxError) {
            _ = try TOMLDocument(whole[...])
            return true
        } catch {
            guard let outermost = places.dropFirst().first else { return error.line != line }
            let lines = whole.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            guard lines.indices.contains(error.line - 1) else { return false }
            let before = lines[error.line - 1].splitAtCharacter(error.column - 1).0
            return OpenArray(in: lines.prefix(error.line - 1) + [before])?.places.contains { $0 == outermost } != true
        }
    }
}

extension TOMLNode {
    /// The keys of a string, from this table's key on; the elements of an array have no keys of their own.
    fileprivate func keys(of text: String) -> [String]? {
        switch value {
        case .string(text): return []
        case .table(let members):
            for (key, node) in members {
                if let rest = node.keys(of: text) { return [key] + rest }
            }
            return nil
        case .array(let elements): return elements.lazy.compactMap { $0.keys(of: text) }.first
        default: return nil
        }
    }
}

/// A word that a user writes in place of a string: letters and digits without quotes, or a text in typographic quotes.
private struct BareWord {
    let text: String
    /// The word with its quotes.
    let written: String
    /// The line in front of the word.
    let before: ArraySlice<UInt8>
    /// The column of the word, from 1.
    let column: Int
    /// Whether the word is an endpoint such as [::1]:53, whose brackets look like those of an array.
    let isBracketed: Bool
    /// Whether a "=" follows the word.
    let isKey: Bool
    /// The index behind the word.
    let end: Int
    /// The last byte in front of the word that is no blank.
    private let previous: UInt8?

    /// Maximum size of a word. Longer words would be cut in the message.
    private static let maxBytes = 60

    /// Finds the word; nil if the place is not in a word.
    init?(between before: ArraySlice<UInt8>, and rest: ArraySlice<UInt8>) {
        let typographic = BareWord.inTypographicQuotes(rest)
        let head = before.suffix(typographic == nil ? before.reversed().prefix(while: \.isOfWord).count : 0)
        let tail = typographic?.written ?? rest.prefix(while: \.isOfWord)
        guard !tail.isEmpty, head.count + tail.count <= BareWord.maxBytes else { return nil }
        var (front, word, after) = (before.dropLast(head.count), head + tail, rest.dropFirst(tail.count))
        let port = after.dropFirst(2).prefix(while: \.isDigit)
        isBracketed = front.last == UInt8(ascii: "[") && after.starts(with: "]:".utf8) && !port.isEmpty
        if isBracketed {
            (front, word, after) = (
                front.dropLast(), "[".utf8 + word + "]:".utf8 + port, after.dropFirst(2 + port.count)
            )
        }
        written = String(decoding: word, as: UTF8.self)
        text = typographic.map { String(decoding: $0.text, as: UTF8.self) } ?? written
        self.before = front
        column = front.characters + 1
        isKey = after.first { !$0.isBlank } == UInt8(ascii: "=")
        end = after.startIndex
        // A word with such characters is not quoted, as no message would tell the user that they are there.
        guard !text.unicodeScalars.contains(where: { isUnseen($0) || $0.properties.isWhitespace }) else { return nil }
        previous = self.before.last { !$0.isBlank }
    }

    /// Returns the text up to the next typographic quote; nil if the text does not begin with one.
    private static func inTypographicQuotes(
        _ rest: ArraySlice<UInt8>
    ) -> (text: ArraySlice<UInt8>, written: ArraySlice<UInt8>)? {
        guard rest.beginsWithTypographicQuote else { return nil }
        let inner = rest.dropFirst(3)
        guard let end = inner.indices.first(where: { inner[$0...].beginsWithTypographicQuote }) else { return nil }
        return (inner[..<end], rest[..<(end + 3)])
    }

    var finding: String {
        written == text ? "found \(text); a string needs quotes" : "found the typographic quotes of \(written)"
    }

    /// Whether the word stands where a value should, and is neither a number nor a date.
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

/// The arrays that are open at the end of some lines.
private struct OpenArray {
    /// The places of the opening brackets, the innermost last.
    let places: [SyntaxMistake.Place]
    /// The lines up to the outermost array.
    let front: [UInt8]
    /// The lines up to the last element, with the arrays closed.
    let corrected: [UInt8]
    /// The last element and the comma behind it, or the bracket if there is none.
    let lastElement: String
    /// A line with a table header follows, which no array holds.
    let isBeforeHeader: Bool
    /// The brackets that close the arrays.
    var brackets: [UInt8] { Array(repeating: UInt8(ascii: "]"), count: places.count) }

    /// Finds the open arrays; nil if no array is open.
    init?(in lines: some Collection<ArraySlice<UInt8>>) {
        var open: [(number: Int, before: ArraySlice<UInt8>)] = []
        var lastElement = "["
        var (lastNumber, lastEnd) = (0, 0)
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
                    (length, lastElement) = (
                        word.count,
                        String(quoted(String(decoding: word, as: UTF8.self)).dropFirst().prefix { $0 != "\"" })
                    )
                } else if line[at] == UInt8(ascii: "[") {
                    open.append((number, line[..<at]))
                    lastElement = "["
                } else if line[at] == UInt8(ascii: "]") {
                    _ = open.popLast()
                } else if line[at] == UInt8(ascii: ",") {
                    lastElement += ","
                }
                if !line[at].isBlank { (lastNumber, lastEnd) = (number, min(at + length, line.endIndex)) }
                at = min(at + length, line.endIndex)
            }
        }
        guard let outermost = open.first else { return nil }
        let text = { (number: Int, line: ArraySlice<UInt8>) in
            Array((lines.prefix(number) + [line]).joined(separator: [UInt8(ascii: "\n")]))
        }
        places = open.map { ($0.number + 1, $0.before.characters + 1) }
        front = text(outermost.number, outermost.before)
        let last = lines.dropFirst(lastNumber).first ?? []
        corrected = text(lastNumber, last[..<lastEnd]) + Array(repeating: UInt8(ascii: "]"), count: open.count)
        (self.lastElement, self.isBeforeHeader) = (lastElement, isBeforeHeader)
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
        let closingQuote = dropFirst().firstIndex { byte in
            defer { isEscaped = !isEscaped && byte == UInt8(ascii: "\\") && first == UInt8(ascii: "\"") }
            return byte == first && !isEscaped
        }
        return self[...(closingQuote ?? endIndex - 1)]
    }

    /// Whether the text begins with one of U+2018 to U+201F.
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
    /// Whether a word may have the byte. Bytes of characters outside ASCII belong to words.
    fileprivate var isOfWord: Bool { isDigit || isLetter || self >= 0x80 || "-_.:/".utf8.contains(self) }
}
