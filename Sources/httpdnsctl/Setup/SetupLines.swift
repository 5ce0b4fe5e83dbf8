// Breaks long texts of `httpdnsctl setup` into lines for a terminal of 100 columns.

enum SetupLines {
    private static let maxColumns = 96

    /// Puts as many words on each line as fit.
    ///
    /// - Parameters:
    ///   - first: begins the first line, and `other` the others.
    ///   - end: ends every line but the last.
    static func wrapped(_ words: [String], first: String, other: String, end: String = "") -> String {
        var lines: [String] = []
        var line = first
        for word in words {
            if line.count + word.count >= maxColumns {
                lines.append(line + end)
                line = other
            }
            line += " \(word)"
        }
        return (lines + [line]).joined(separator: "\n")
    }

    /// A complaint about an answer, indented like the questions.
    static func complaint(_ reason: String) -> String {
        let words = reason.split { $0 == " " || $0 == "\n" }.map(String.init)
        return wrapped(words, first: "  ", other: "  ") + "\n"
    }
}
