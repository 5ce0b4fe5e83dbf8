// A page of etc/man as far as the tests compare it with the program: the entries of its lists, in plain text. It parses
// only the macros and escapes that these pages use; mandoc checks that a page is well-formed.

import TestSupport

struct ManualPage {
    struct Entry {
        /// The heading above the entry.
        let section: String
        /// The subject of the entry in one line; `text` holds its description.
        let tag: String
        var text = ""
    }

    private(set) var entries: [Entry] = []
    /// All visible text, with one line for each line of the source.
    private(set) var lines: [String] = []

    /// - Parameter name: a file name such as "httpdnsd.8".
    init(_ name: String) throws {
        let top = TestFile.folder(of: TestFile.folder(of: TestFile.folder(of: #filePath)))
        let bytes = try TestFile.bytes(at: "\(top)/etc/man/\(name)")
        self.init(source: String(decoding: bytes, as: UTF8.self))
    }

    init(source: String) {
        var section = ""
        var isTagNext = false
        var isInEntry = false
        for line in source.split(separator: "\n") {
            let words = ManualPage.words(line)
            switch words.first {
            case ".SH", ".SS":
                section = words.dropFirst().joined(separator: " ")
                isInEntry = false
            case ".TP", ".TQ": isTagNext = true
            case ".PP": isInEntry = false
            default:
                let text = ManualPage.plain(line, words)
                guard !text.isEmpty else { continue }
                lines.append(text)
                if isTagNext {
                    entries.append(Entry(section: section, tag: text))
                    isInEntry = true
                } else if isInEntry {
                    entries[entries.count - 1].text += (entries[entries.count - 1].text.isEmpty ? "" : " ") + text
                }
                isTagNext = false
            }
        }
    }

    func tags(under section: String) -> [String] { entries.filter { $0.section == section }.map(\.tag) }

    /// The arguments of a macro that sets fonts; the empty text for any other macro.
    private static func plain(_ line: Substring, _ words: [String]) -> String {
        guard line.hasPrefix("."), let macro = words.first else { return unescaped(String(line)) }
        switch macro {
        case ".B", ".I": return words.dropFirst().joined(separator: " ")
        case ".BR", ".RB", ".IR", ".RI", ".BI", ".IB": return words.dropFirst().joined()
        default: return ""
        }
    }

    /// The words of a line with a macro; quotes keep blanks together.
    private static func words(_ line: Substring) -> [String] {
        var words: [String] = []
        var isQuoted = false
        for (index, piece) in line.split(separator: "\"", omittingEmptySubsequences: false).enumerated() {
            isQuoted = !index.isMultiple(of: 2)
            if isQuoted {
                words.append(String(piece))
            } else {
                words += piece.split(separator: " ").map(String.init)
            }
        }
        return words.map(unescaped)
    }

    private static func unescaped(_ text: String) -> String {
        let escapes = [
            ("\\fB", ""), ("\\fI", ""), ("\\fR", ""), ("\\-", "-"), ("\\(dq", "\""), ("\\(:u", "ü"), ("\\e", "\\"),
        ]
        return escapes.reduce(text) { $0.replacing($1.0, with: $1.1) }
    }
}
