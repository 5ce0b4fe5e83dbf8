// One question of the dialogue: its text, its choices, and what a typed line means.

import Control

struct SetupQuestion: Equatable, Sendable {
    enum Subject: Equatable, Sendable {
        case answer(SetupFlags.Answer)
        /// The key for a file that does not exist.
        case key
        /// Whether to write the file.
        case confirmation
    }

    struct Choice: Equatable, Sendable {
        /// The choice as a flag takes it.
        let value: String
        let meaning: LocalizedText
    }

    let subject: Subject
    /// The first line of a question; nil for a detail of the question before.
    var title: LocalizedText?
    /// The explanation.
    var lines: [LocalizedText] = []
    /// Facts, each with label and value.
    var rows: [[LocalizedText]] = []
    var choices: [Choice] = []
    /// The meaning of Enter; nil: an answer is required.
    var usual: String?
    var prompt: LocalizedText

    var isHidden: Bool { subject == .key }

    /// Everything before the cursor.
    func text(in language: Language) -> String {
        let title = title.map { ["", $0.text(in: language)] } ?? []
        let facts = LineFormat.aligned(rows.map { $0.map { $0.text(in: language) } })
        let digits = "\(choices.count)".count
        let listed = choices.enumerated().map { index, choice in
            let indent = String(repeating: " ", count: digits - "\(index + 1)".count)
            return ["  \(indent)\(index + 1)", choice.value, choice.meaning.text(in: language)]
        }
        let details = lines.map { $0.text(in: language) } + facts + LineFormat.aligned(listed)
        return (title + details.map { "   \($0)" } + [shortText(in: language)]).joined(separator: "\n")
    }

    /// The last line, which is repeated after a wrong answer.
    func shortText(in language: Language) -> String {
        let yes: LocalizedText = "yes"
        let line: LocalizedText =
            if let usual {
                "\(prompt) [\(usual == yes.english ? yes : LocalizedText(verbatim: numbers(of: usual)))]:"
            } else {
                "\(prompt):"
            }
        // The colon of Chinese has a space in itself.
        return "   \(line.text(in: language))\(language == .english ? " " : "")"
    }

    /// Returns the line as a flag would have it: numbers of choices become their values, an empty line the usual one.
    func value(of line: String) throws(SetupRefusal) -> String {
        let separators = choices.isEmpty ? SetupQuestion.separators : SetupQuestion.separatorsOfChoices
        let words = line.split(whereSeparator: separators.contains).map(String.init)
        guard !words.isEmpty else {
            guard let usual else { throw SetupRefusal("an answer is needed here") }
            return usual
        }
        guard !choices.isEmpty else { return words.joined(separator: " ") }
        var values: [String] = []
        for word in words {
            guard let number = Int(word) else {
                values.append(word)
                continue
            }
            guard choices.indices.contains(number - 1) else {
                throw SetupRefusal("found \(word); allowed: 1 to \(choices.count)")
            }
            values.append(choices[number - 1].value)
        }
        return values.joined(separator: ",")
    }

    private static let separators: Set<Character> = [" ", ",", "\t"]
    /// Also those of Chinese keyboards, which a path may have.
    private static let separatorsOfChoices = separators.union(["，", "、", "\u{3000}"])

    /// "1 2" for the values of the first two choices.
    private func numbers(of value: String) -> String {
        value.split(separator: ",").map { word in
            choices.firstIndex { $0.value == word }.map { "\($0 + 1)" } ?? String(word)
        }.joined(separator: " ")
    }
}
