// Breaks long texts of `httpdnsctl setup` into lines for a terminal of 100 columns.

import Control

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
            if line.columns + word.columns >= maxColumns {
                lines.append(line + end)
                line = other
            }
            line += " \(word)"
        }
        return (lines + [line]).joined(separator: "\n")
    }

    /// A complaint about an answer, indented like the questions. Between Chinese characters, a line ends anywhere but
    /// before closing marks.
    static func complaint(_ reason: String) -> String {
        var (lines, line): ([String], String) = ([], "")
        for word in reason.split(whereSeparator: { $0 == " " || $0 == "\n" }) {
            for (index, piece) in pieces(of: word).enumerated() {
                let glue = index == 0 && !line.isEmpty ? " " : ""
                if line.columns + glue.columns + piece.columns > maxColumns - indent.columns {
                    lines.append(line)
                    line = piece
                } else {
                    line += glue + piece
                }
            }
        }
        return (lines + [line]).map { "\(indent)\($0)\n" }.joined()
    }

    private static let indent = "   "

    /// Returns the parts of a word without blanks between which a line may end.
    private static func pieces(of word: Substring) -> [String] {
        var pieces: [String] = []
        var last: Unicode.Scalar?
        for scalar in word.unicodeScalars {
            let isFree =
                (scalar.isWide || last?.isWide ?? false) && !"，。；：！？、）」》".unicodeScalars.contains(scalar)
                && !(last.map { "（「《".unicodeScalars.contains($0) } ?? false)
            if let index = pieces.indices.last, !isFree {
                pieces[index].unicodeScalars.append(scalar)
            } else {
                pieces.append(String(scalar))
            }
            last = scalar
        }
        return pieces
    }
}
