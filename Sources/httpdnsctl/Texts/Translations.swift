// Reads the tables of translations.

enum Translations {
    /// English templates of `LocalizedText`, each with the Chinese one.
    static let pairs = [chineseOfDoctor, chineseOfSetup].flatMap(read)

    static let chinese = Dictionary(pairs.map { ($0.english, $0.chinese) }) { first, _ in first }

    /// - Parameter table: pairs of lines. Empty lines separate groups of pairs.
    private static func read(_ table: String) -> [(english: String, chinese: String)] {
        let lines = table.split(separator: "\n").map(String.init)
        return stride(from: 0, to: lines.count - 1, by: 2).map { (lines[$0], lines[$0 + 1]) }
    }
}
