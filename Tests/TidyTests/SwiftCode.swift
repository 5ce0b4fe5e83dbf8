// Enough of Swift's grammar to separate code from comments and strings, and to find the end of a function. Regular
// expression literals are neither supported nor used.

enum SwiftCode {
    /// Replaces comments and string literals by spaces; interpolations are part of their string.
    static func withoutTexts(_ text: String) -> String {
        var scanner = Scanner(bytes: Array(text.utf8))
        scanner.run()
        return String(decoding: scanner.output, as: UTF8.self)
    }

    struct Body: Equatable {
        /// The number of the first line, counted from 1.
        let firstLine: Int
        let lineCount: Int
    }

    /// Functions, initialisers, subscripts, and properties with a body, from the line of their keyword to their last
    /// brace. `code` contains no comments and strings.
    static func bodies(in code: String) -> [Body] {
        let lines = code.split(separator: "\n", omittingEmptySubsequences: false)
        var bodies: [Body] = []
        for (index, line) in lines.enumerated() where declaresBody(line) {
            guard let last = lastLine(of: index, in: lines) else { continue }
            bodies.append(Body(firstLine: index + 1, lineCount: last - index + 1))
        }
        return bodies
    }

    /// The identifiers and keywords of a line, each with the character before it.
    static func words(_ line: Substring) -> [(word: Substring, before: Character?)] {
        var words: [(Substring, Character?)] = []
        var index = line.startIndex
        var before: Character?
        while index < line.endIndex {
            let start = index
            while index < line.endIndex, line[index].isLetter || line[index].isNumber || line[index] == "_" {
                index = line.index(after: index)
            }
            if index > start { words.append((line[start..<index], before)) }
            guard index < line.endIndex else { break }
            before = line[index]
            index = line.index(after: index)
        }
        return words
    }

    private static func declaresBody(_ line: Substring) -> Bool {
        words(line).contains { word, before in
            switch word {
            case "func", "deinit", "subscript": true
            case "init": before != "."
            case "var", "let": line.contains("{")
            default: false
            }
        }
    }

    /// The last line of the body; nil if another declaration begins before a brace opens, as after a protocol's
    /// requirement.
    private static func lastLine(of first: Int, in lines: [Substring]) -> Int? {
        var depth = 0
        var hasOpened = false
        for index in first..<lines.count {
            if !hasOpened, index > first, declaresBody(lines[index]) || lines[index].hasPrefix("}") { return nil }
            for character in lines[index] where character == "{" || character == "}" {
                depth += character == "{" ? 1 : -1
                hasOpened = true
                if depth <= 0 { return depth == 0 ? index : nil }
            }
        }
        return nil
    }

    private struct Scanner {
        let bytes: [UInt8]
        var output: [UInt8] = []
        var at = 0

        init(bytes: [UInt8]) {
            self.bytes = bytes
        }

        mutating func run() {
            while at < bytes.count {
                if starts("//") {
                    blank { $0.bytes[$0.at] == UInt8(ascii: "\n") }
                } else if starts("/*") {
                    blankBlockComment()
                } else if bytes[at] == UInt8(ascii: "\"") || bytes[at] == UInt8(ascii: "#") {
                    blankString()
                } else {
                    copy()
                }
            }
        }

        private func starts(_ text: String) -> Bool { bytes[at...].starts(with: text.utf8) }

        private mutating func copy() {
            output.append(bytes[at])
            at += 1
        }

        private mutating func skip(_ count: Int = 1) {
            for _ in 0..<min(count, bytes.count - at) {
                output.append(bytes[at] == UInt8(ascii: "\n") ? bytes[at] : UInt8(ascii: " "))
                at += 1
            }
        }

        private mutating func blank(until isEnd: (Scanner) -> Bool) {
            while at < bytes.count, !isEnd(self) { skip() }
        }

        private mutating func blankBlockComment() {
            var depth = 0
            repeat {
                if starts("/*") { depth += 1 }
                if starts("*/") { depth -= 1 }
                skip(starts("/*") || starts("*/") ? 2 : 1)
            } while depth > 0 && at < bytes.count
        }

        /// A string of any kind from its first quote or number sign; a lone number sign is copied.
        private mutating func blankString() {
            let signs = bytes[at...].prefix { $0 == UInt8(ascii: "#") }.count
            guard at + signs < bytes.count, bytes[at + signs] == UInt8(ascii: "\"") else {
                for _ in 0..<signs { copy() }
                return
            }
            let fence = String(repeating: "#", count: signs)
            skip(signs)
            let quotes = starts("\"\"\"") ? "\"\"\"" : "\""
            skip(quotes.count)
            while at < bytes.count, !starts(quotes + fence) {
                if starts("\\" + fence + "(") {
                    skip(2 + signs)
                    blankInterpolation()
                } else {
                    skip(starts("\\" + fence) ? 2 + signs : 1)
                }
            }
            skip(quotes.count + signs)
        }

        private mutating func blankInterpolation() {
            var depth = 1
            while at < bytes.count, depth > 0 {
                if bytes[at] == UInt8(ascii: "\"") {
                    blankString()
                    continue
                }
                if bytes[at] == UInt8(ascii: "(") { depth += 1 }
                if bytes[at] == UInt8(ascii: ")") { depth -= 1 }
                skip()
            }
        }
    }
}
