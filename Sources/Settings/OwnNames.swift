// Names that belong to a provider's account: in the settings, or in a file with one name per line.

package import DNSWire
import InternationalNames

extension Format<QuestionScope> {
    static let ownName = Format.text(
        allowed: "a domain name for it and all names below it, or \"=NAME\" for that name alone",
        remedy: { node in
            guard case .string(let text) = node.value else { return nil }
            return OwnNames.remedy(text) ?? letters(node)
        },
        parse: { OwnNames.scope($0) }, write: { OwnNames.text($0) })
}

/// The file that `names-file` names. Text after "#" is a comment; blank lines are ignored.
package enum OwnNames {
    /// A vendor's console shows tens of names; more than this is another list, such as a block list.
    package static let maxFileBytes = 1 << 20
    package static let maxNames = 10_000
    /// More suggest a wrong file.
    private static let maxComplaints = 10

    /// Reports up to ten wrong lines; `file` is the name in their text.
    package static func parse(bytes: [UInt8], file: String) throws(SettingsError) -> [QuestionScope] {
        var names: [QuestionScope] = []
        var complaints: [Complaint] = []
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (number, line) in lines.enumerated() {
            let text = String(decoding: line.prefix { $0 != UInt8(ascii: "#") }, as: UTF8.self)
            guard let start = text.firstIndex(where: { !$0.isWhitespace }) else { continue }
            let word = String(text[start...].reversed().drop(while: \.isWhitespace).reversed())
            if let name = scope(word) {
                names.append(name)
            } else if complaints.count == maxComplaints {
                let text = "more wrong lines than this file can have by mistake; the rest was not checked"
                complaints.append(Complaint(file: file, line: number + 1, column: 1, text: text))
                break
            } else {
                let column = text.distance(from: text.startIndex, to: start) + 1
                complaints.append(Complaint(file: file, line: number + 1, column: column, text: complaint(about: word)))
            }
        }
        if names.count > maxNames {
            complaints.append(
                Complaint(
                    file: file, line: lines.count, column: 1,
                    text: "found \(names.count) names; allowed: up to \(maxNames)"))
        }
        guard complaints.isEmpty else { throw SettingsError(complaints) }
        return names
    }

    private static func complaint(about word: String) -> String {
        guard looksLikeName(word) else { return "found \(hiddenValue); allowed: \(Format.ownName.allowed)" }
        let remedy = (remedy(word) ?? InternationalName.remedy(word)).map { "; \($0)" } ?? ""
        return "found \(quoted(word)); allowed: \(Format.ownName.allowed)\(remedy)"
    }

    /// Whether a wrong word may be shown. The file may be a key file by mistake, so only a word with a dot counts. The
    /// parts of a signed token have dots as well, but are longer than a label can be.
    private static func looksLikeName(_ word: String) -> Bool {
        let labels = (word.hasPrefix("=") ? word.dropFirst() : word[...]).split(separator: ".")
        return word.contains(".")
            && labels.allSatisfy { label in
                label.utf8.count <= maxLabelBytes
                    && label.allSatisfy { $0.isLetter || $0.isNumber || "-_*".contains($0) }
            }
    }

    private static let maxLabelBytes = 63

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
