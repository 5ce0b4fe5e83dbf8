// The language of texts on the terminal, by the environment variables of locale(7) and of gettext(3).

import LinuxIO

enum Language: Equatable, Sendable {
    case english
    /// Chinese in simplified characters.
    case chinese

    /// The language of the operator who runs the program.
    static var ofOperator: Language { Language { Environment.value(of: $0) } }

    /// - Parameter variable: returns the value of an environment variable; nil if it is not set.
    init(environment variable: (String) -> String?) {
        func locale(_ category: String) -> Substring {
            let values = ["LC_ALL", category, "LANG"].lazy.compactMap(variable)
            return values.first { !$0.isEmpty }?[...] ?? "C"
        }
        let messages = locale("LC_MESSAGES")
        guard !Language.isStandard(messages), Language.isUTF8(locale("LC_CTYPE")) else {
            self = .english
            return
        }
        // Texts that the source has are English, so a list without a known language is English, too.
        let list = variable("LANGUAGE").map { $0.split(separator: ":") } ?? []
        self = (list.isEmpty ? [messages] : list).lazy.compactMap(Language.init(tag:)).first ?? .english
    }

    /// Between the elements of a list.
    var comma: String { self == .english ? ", " : "、" }

    /// Translations by the English template; empty for English.
    var translations: [String: String] { self == .english ? [:] : Translations.chinese }

    /// - Parameter tag: "zh_CN.UTF-8"; nil for languages without translation. Traditional Chinese is one.
    private init?(tag: Substring) {
        let name = tag.prefix { $0 != "." && $0 != "@" }
        if name == "zh" || ["zh_CN", "zh_SG", "zh_Hans"].contains(where: name.hasPrefix) {
            self = .chinese
        } else if name == "en" || name.hasPrefix("en_") || Language.isStandard(tag) {
            self = .english
        } else {
            return nil
        }
    }

    /// Whether the locale is the one of programs without translation, for which LANGUAGE does not count.
    private static func isStandard(_ locale: Substring) -> Bool {
        ["C", "POSIX"].contains(locale.prefix { $0 != "." && $0 != "@" })
    }

    /// Whether the terminal shows UTF-8. A locale without charset has it: only old systems give "zh_CN" another one.
    private static func isUTF8(_ locale: Substring) -> Bool {
        guard let dot = locale.firstIndex(of: ".") else { return !["C", "POSIX"].contains(locale) }
        let charset = locale[dot...].dropFirst().prefix { $0 != "@" }
        return charset.filter { $0 != "-" }.lowercased() == "utf8"
    }
}
