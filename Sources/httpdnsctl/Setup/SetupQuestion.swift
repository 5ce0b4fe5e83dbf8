// One question of the dialogue: its text, its choices, and what a typed line means.

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
        let meaning: String
    }

    let subject: Subject
    /// Title and explanation of the question; empty for a detail of the question before.
    var lines: [String] = []
    var choices: [Choice] = []
    /// The meaning of Enter; nil: an answer is required.
    var usual: String?
    var prompt: String

    var isHidden: Bool { subject == .key }

    /// Everything before the cursor.
    var text: String {
        let width = choices.map(\.value.count).max() ?? 0
        let digits = "\(choices.count)".count
        let listed = choices.enumerated().map { index, choice in
            let indent = String(repeating: " ", count: 5 + digits - "\(index + 1)".count)
            let padding = String(repeating: " ", count: width - choice.value.count)
            return "\(indent)\(index + 1)  \(choice.value)\(padding)  \(choice.meaning)"
        }
        return (lines + listed + [shortText]).joined(separator: "\n")
    }

    /// The last line, which is repeated after a wrong answer.
    var shortText: String { "   \(prompt)\(usual.map { " [\(numbers(of: $0))]" } ?? ""): " }

    /// Returns the line as a flag would have it: numbers of choices become their values, an empty line the usual one.
    func value(of line: String) throws(SetupRefusal) -> String {
        let words = line.split { $0 == " " || $0 == "," || $0 == "\t" }.map(String.init)
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

    /// "1 2" for the values of the first two choices.
    private func numbers(of value: String) -> String {
        value.split(separator: ",").map { word in
            choices.firstIndex { $0.value == word }.map { "\($0 + 1)" } ?? String(word)
        }.joined(separator: " ")
    }
}
