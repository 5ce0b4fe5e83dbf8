// A page of etc/man as far as it can be compared with the program: the entries of its lists, in plain text. Knows the
// few macros and escapes that our pages use; whether the page is well-formed is judged by mandoc.

import TestSupport

struct ManualPage {
    struct Entry {
        /// The heading it stands under.
        let section: String
        /// What it is about, and behind that what is said about it; each in one line.
        let tag: String
        var text = ""
    }

    private(set) var entries: [Entry] = []
    /// All that can be read, a line for each of the source.
    private(set) var lines: [String] = []

    /// - Parameter name: such as "httpdnsd.8".
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

    /// A macro that sets fonts gives its arguments, another one nothing.
    private static func plain(_ line: Substring, _ words: [String]) -> String {
        guard line.hasPrefix("."), let macro = words.first else { return unescaped(String(line)) }
        switch macro {
        case ".B", ".I": return words.dropFirst().joined(separator: " ")
        case ".BR", ".RB", ".IR", ".RI", ".BI", ".IB": return words.dropFirst().joined()
        default: return ""
        }
    }

    /// Those of a line with a macro: quotes keep blanks together.
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
