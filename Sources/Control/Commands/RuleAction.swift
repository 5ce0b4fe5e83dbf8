// The arguments of `rule`: adds, lists and removes rules at run time.

package import DNSWire

package enum RuleAction: Equatable, Sendable {
    /// Adds a rule for a name with its subdomains, the root for all names. The settings are "KEY=VALUE", one or more,
    /// not parsed. Nil seconds: the rule stays until it is removed.
    case add(Name, [String], seconds: Int?)
    case list
    case remove(Name)

    enum Verb: String {
        case add, ls, rm
    }

    var verb: Verb {
        switch self {
        case .add: .add
        case .list: .ls
        case .remove: .rm
        }
    }
}

/// Words of a line in which double quotes keep blanks together; between quotes, a backslash makes the next character
/// literal.
enum QuotedWords {
    /// Splits the line; nil if a quote is not closed.
    static func split(_ text: String) -> [String]? {
        var words: [String] = []
        var word: String?
        var (isQuoted, isEscaped) = (false, false)
        for character in text {
            if isEscaped {
                word?.append(character)
                isEscaped = false
            } else if isQuoted, character == "\\" {
                isEscaped = true
            } else if character == "\"" {
                isQuoted.toggle()
                word = word ?? ""
            } else if character.isWhitespace, !isQuoted {
                if let word { words.append(word) }
                word = nil
            } else {
                word = (word ?? "") + String(character)
            }
        }
        guard !isQuoted else { return nil }
        return words + (word.map { [$0] } ?? [])
    }

    /// Returns the word as `split` reads it.
    static func quoted(_ word: String) -> String {
        guard word.contains(where: { $0.isWhitespace || $0 == "\"" || $0 == "\\" }) else { return word }
        return "\"" + word.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}
