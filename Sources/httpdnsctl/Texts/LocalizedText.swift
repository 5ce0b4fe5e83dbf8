// A text for the operator. The English text stands in the source; `Translations` has the others.

/// Keeps the literal parts of an interpolated string apart from its values, so that the text can be looked up:
/// "no route to \(address)" has the template "no route to %1". A value that is itself a `LocalizedText` is translated,
/// every other one is shown as it is.
struct LocalizedText: Equatable, Sendable, ExpressibleByStringInterpolation {
    fileprivate enum Argument: Sendable {
        case verbatim(String)
        case text(LocalizedText)
        case list([LocalizedText])

        func text(in language: Language) -> String {
            switch self {
            case .verbatim(let text): text
            case .text(let text): text.text(in: language)
            case .list(let list): list.map { $0.text(in: language) }.joined(separator: language.comma)
            }
        }
    }

    private let template: String
    private let arguments: [Argument]

    init(stringLiteral value: String) {
        template = value
        arguments = []
    }

    init(stringInterpolation: StringInterpolation) {
        template = stringInterpolation.template
        arguments = stringInterpolation.arguments
    }

    /// - Parameter text: a command, a name, or a text of another program: the same in all languages.
    init(verbatim text: String) {
        self.init(template: "%1", [.verbatim(text)])
    }

    /// - Parameter name: a value of a table, such as a country: its English text is its template.
    init(translating name: String) {
        self.init(stringLiteral: name)
    }

    /// - Parameter list: is joined with the comma of the language.
    init(list: [LocalizedText]) {
        self.init(template: "%1", [.list(list)])
    }

    /// - Parameters:
    ///   - names: are not translated.
    ///   - maxShown: of more names, the others are counted.
    init(names: [String], maxShown: Int) {
        let shown = names.prefix(maxShown).joined(separator: ", ")
        self = names.count > maxShown ? "\(shown) and \(names.count - maxShown) more" : LocalizedText(verbatim: shown)
    }

    private init(template: String, _ arguments: [Argument]) {
        self.template = template
        self.arguments = arguments
    }

    static func == (one: LocalizedText, other: LocalizedText) -> Bool { one.english == other.english }

    /// The text in JSON, in logs, and in commands without translation.
    var english: String { text(in: .english) }

    /// Returns the English text if the language has no translation.
    func text(in language: Language) -> String {
        let template = language.translations[template] ?? template
        let pieces = template.split(separator: "%", omittingEmptySubsequences: false)
        var text = String(pieces.first ?? "")
        for piece in pieces.dropFirst() {
            if let number = piece.first?.wholeNumberValue, arguments.indices.contains(number - 1) {
                text += arguments[number - 1].text(in: language)
                text += piece.dropFirst()
            } else {
                text += "%"
                text += piece
            }
        }
        return text
    }

    /// Returns the text with changed verbatim values.
    func mapValues(_ change: (String) -> String) -> LocalizedText {
        LocalizedText(
            template: template,
            arguments.map { argument in
                switch argument {
                case .verbatim(let text): .verbatim(change(text))
                case .text(let text): .text(text.mapValues(change))
                case .list(let list): .list(list.map { $0.mapValues(change) })
                }
            })
    }

    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var template = ""
        fileprivate var arguments: [Argument] = []

        init(literalCapacity: Int, interpolationCount: Int) {}

        mutating func appendLiteral(_ literal: String) { template += literal }

        mutating func appendInterpolation(_ value: some CustomStringConvertible) {
            append(.verbatim(value.description))
        }

        mutating func appendInterpolation(_ text: LocalizedText) { append(.text(text)) }

        mutating func appendInterpolation(list: [LocalizedText]) { append(.list(list)) }

        private mutating func append(_ argument: Argument) {
            arguments.append(argument)
            template += "%\(arguments.count)"
        }
    }
}

extension LocalizedText: Encodable {
    /// Reports in JSON are English.
    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(english)
    }
}

extension DefaultStringInterpolation {
    /// A string has one language, which must be named.
    @available(*, unavailable, message: "take its text in a language")
    mutating func appendInterpolation(_ text: LocalizedText) {}
}
