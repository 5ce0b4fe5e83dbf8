// Reads a rule from words "KEY=VALUE", as `httpdnsctl rule add` has them. The keys, their formats and the errors are
// those of the settings file.

package import DNSWire

extension Settings.Rule {
    /// The reason why words are no rule; the text is for operators.
    package struct WordsError: Error, Equatable, Sendable {
        package let text: String

        package init(text: String) {
            self.text = text
        }
    }

    /// Maximum number of words. More words than keys are a mistake.
    private static let maxWords = 32
    /// Keys that words cannot have: the names are given apart, and requests of a provider have their parameters from
    /// its settings.
    private static let fileOnlyKeys = ["match", "match-file", "query", "tags", "app-id", "view"]

    /// - Parameters:
    ///   - words: the words, with values as in the file, or without their quotes and brackets; commas separate the
    ///     elements of a list.
    ///   - providers: the names that `resolver` may have.
    ///   - others: the rules beside which this rule applies; a rule for the same name gives way. Read only for an
    ///     alias.
    package init(
        for name: Name, words: [String], providers: [String], nameservers: [String],
        beside others: @autoclosure () -> [Settings.Rule]
    ) throws(WordsError) {
        guard (1...Self.maxWords).contains(words.count) else {
            throw WordsError(text: "found \(words.count) settings; allowed: 1 to \(Self.maxWords)")
        }
        var lines = ["[[rule]]", "match = [\(tomlString(name.description))]"]
        var keys: Set<String> = []
        for word in words {
            let (key, value) = try Self.parts(of: word)
            guard keys.insert(key).inserted else {
                throw WordsError(text: "rule.\(key): found for the second time; allowed: each key once")
            }
            lines.append("\(key) = \(Self.literal(value, for: key))")
        }
        let text = Array(lines.joined(separator: "\n").utf8)
        let document: TOMLDocument
        do throws(TOMLDocument.SyntaxError) {
            document = try TOMLDocument(text[...])
        } catch {
            throw WordsError(text: error.reason)
        }
        var findings = SettingsErrors()
        let rule = findings.rule(from: document.root, providers: providers, nameservers: nameservers)
        guard let rule, findings.all.isEmpty else {
            throw WordsError(text: findings.all.map(\.text).joined(separator: "; "))
        }
        if rule.cname != nil, let loop = ([rule] + others()).aliasLoops().first(where: { $0.index == 0 }) {
            throw WordsError(text: loop.fault)
        }
        self = rule
    }

    private static func parts(of word: String) throws(WordsError) -> (key: String, value: String) {
        guard let equals = word.firstIndex(of: "="), !word.unicodeScalars.contains(where: isUnseen) else {
            throw WordsError(text: "found \(quoted(word)); allowed: KEY=VALUE, such as answer=nxdomain")
        }
        let key = String(word[..<equals])
        guard !fileOnlyKeys.contains(key) else {
            throw WordsError(text: "rule.\(key): found in a rule at run time; allowed: in the settings file")
        }
        guard Self.keys.contains(where: { $0.name == key }) else {
            let known = Self.keys.map(\.name).filter { !fileOnlyKeys.contains($0) }
            let hint = nearestName(to: key, among: known).map { "did you mean \"\($0)\"? " } ?? ""
            throw WordsError(text: "unknown key \(quoted(key)); \(hint)allowed: \(known.joined(separator: ", "))")
        }
        return (key, String(word[word.index(after: equals)...]))
    }

    /// Returns the first form of the value that the key takes: as it is, as a string, and both as an array. If the key
    /// takes none, returns a string or an array of strings, so that the error names the given value. Commas belong to a
    /// text.
    private static func literal(_ value: String, for key: String) -> String {
        let parts =
            key == "txt" ? [value] : value.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        let list = parts.map(tomlString)
        let strings = "[\(list.joined(separator: ", "))]"
        let forms = [value, tomlString(value), "[\(value)]", strings]
        return forms.first { isTaken($0, by: key) } ?? (list.count > 1 ? strings : tomlString(value))
    }

    private static func isTaken(_ form: String, by name: String) -> Bool {
        let text = Array("\(name) = \(form)".utf8)
        guard let document = try? TOMLDocument(text[...]), let node = document.root.member(name),
            let key = keys.first(where: { $0.name == name })
        else { return false }
        var rule = Settings.Rule(match: [])
        do throws(Misfit) {
            try key.read(node, &rule)
            return true
        } catch {
            return false
        }
    }
}
