// Names that belong to a provider's account: in the settings, or in a file with one name per line.

package import DNSWire
import InternationalNames

extension Format<QuestionScope> {
    static let ownName = Format.text(
        allowed: "a domain name for it and all names below it, or \"=NAME\" for that name alone",
        schema: .matching("=?\(TextPattern.hostName)"),
        remedy: { OwnNames.remedy($0) ?? InternationalName.remedy($0) }, parse: { OwnNames.scope($0) },
        write: { OwnNames.text($0) })
}

/// The file that `names-file` names. Text after "#" is a comment; blank lines are ignored.
package enum OwnNames {
    /// Maximum size of the file. A vendor's console shows tens of names; a larger file is another list, such as a block
    /// list.
    package static let maxFileBytes = 1 << 20
    package static let maxNames = 10_000

    /// Parses the file. Reports up to ten wrong lines; `file` is the name of the file in their text.
    package static func parse(bytes: [UInt8], file: String) throws(SettingsError) -> [QuestionScope] {
        var names: [QuestionScope] = []
        var faults = FileFaults(file: file)
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (number, line) in lines.enumerated() where !faults.areTooMany {
            let text = String(decoding: line.prefix { $0 != UInt8(ascii: "#") }, as: UTF8.self)
            guard let start = text.firstIndex(where: { !$0.isWhitespace }) else { continue }
            let word = String(text[start...].reversed().drop(while: \.isWhitespace).reversed())
            if let name = scope(word) {
                names.append(name)
            } else {
                let column = text.distance(from: text.startIndex, to: start) + 1
                faults.add(line: number + 1, column: column, complaint(about: word))
            }
        }
        if names.count > maxNames {
            faults.add(line: lines.count, column: 1, "found \(names.count) names; allowed: up to \(maxNames)")
        }
        try faults.throwIfAny()
        return names
    }

    private static func complaint(about word: String) -> String {
        let found = "found \(FileFaults.shown(word)); allowed: \(Format.ownName.allowed)"
        guard FileFaults.looksLikeName(word) else { return found }
        let remedy = (remedy(word) ?? InternationalName.remedy(word)).map { "; \($0)" } ?? ""
        return found + remedy
    }

    static func scope(_ text: String) -> QuestionScope? {
        let isExact = text.hasPrefix("=")
        return Settings.hostName(isExact ? String(text.dropFirst()) : text).flatMap { Name($0) }.map {
            QuestionScope($0, includesDescendants: !isExact)
        }
    }

    static func text(_ scope: QuestionScope) -> String {
        (scope.includesDescendants ? "" : "=") + scope.name.description
    }

    fileprivate static func remedy(_ text: String) -> String? {
        guard text.hasPrefix("*") || text.hasPrefix(".") else { return nil }
        return Settings.hostName(String(text.drop { $0 == "*" || $0 == "." })).map {
            "a name includes its subdomains: write \"\($0)\""
        }
    }
}
