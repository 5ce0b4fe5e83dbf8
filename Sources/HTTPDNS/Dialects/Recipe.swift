// The template of a vendor's API from the settings, validated once. An invalid template throws an error that states
// the allowed form.

package import Settings

package struct Recipe: Equatable, Sendable {
    /// A field, named as in the settings.
    package enum Field: String, Sendable {
        case query
        case headers
        case maxNames = "max-names"
        case digest
        case signed
        case v4
        case v6
        case ttl
        case success
    }

    package struct Fault: Error, Equatable, Sendable {
        package let field: Field
        package let found: String
        package let allowed: String

        package var text: String { "\(field.rawValue): found \(found); allowed: \(allowed)" }
    }

    struct Entry: Equatable, Sendable {
        let name: String
        let text: RecipeText
    }

    struct Success: Equatable, Sendable {
        let path: JSONPath
        /// The expected value; nil: the query name.
        let value: String?
    }

    /// The texts as the settings have them. A parameter whose text is empty is left out of the request.
    let template: Settings.Provider.Template
    let parameters: [Entry]
    let headerEntries: [Entry]
    let signedTexts: [RecipeText]
    let v4Path: JSONPath?
    let v6Path: JSONPath?
    let ttlPath: JSONPath?
    let successRule: Success?

    /// Maximum number of entries: no known service signs or requires as many.
    static let maxEntries = 32

    package init(_ template: Settings.Provider.Template) throws(Fault) {
        self.template = template
        parameters = try Recipe.parameters(template.query)
        headerEntries = try Recipe.headerEntries(template.headers)
        signedTexts = try template.signed.map { text throws(Fault) in
            try Recipe.text(text, .signed, without: [.signature])
        }
        v4Path = try Recipe.path(template.v4, .v4)
        v6Path = try Recipe.path(template.v6, .v6)
        ttlPath = try Recipe.path(template.ttl, .ttl)
        successRule = try Recipe.success(template.success)
        try checkNames()
        try checkSignature()
    }

    var placeholders: Set<RecipeText.Placeholder> {
        Set((parameters + headerEntries).flatMap(\.text.placeholders) + signedTexts.flatMap(\.placeholders))
    }

    /// Whether the template uses an account or a secret; without it, requests would be anonymous or unsigned.
    package var needsAccount: Bool { placeholders.contains(.account) }
    package var needsSecret: Bool { placeholders.contains(.secret) || template.digest == .hmacSHA256 }

    // MARK: what fits together

    private func checkNames() throws(Fault) {
        guard v4Path != nil || v6Path != nil else {
            throw Fault(field: .v4, found: "neither v4 nor v6", allowed: "the path to at least one family's addresses")
        }
        let asked = parameters.flatMap(\.text.placeholders).filter { $0 == .name || $0 == .names }
        guard asked.count == 1 else {
            throw Fault(
                field: .query, found: asked.isEmpty ? "no name" : "several places for names",
                allowed: "{name} or {names}, once")
        }
        guard template.maxNames > 1 else { return }
        guard !placeholders.contains(.name) else {
            throw Fault(
                field: .maxNames, found: "\(template.maxNames) with {name}", allowed: "1, or {names} instead of {name}")
        }
        for (path, field) in [(v4Path, Field.v4), (v6Path, .v6)] {
            guard let path, !path.choosesName else { continue }
            throw Fault(
                field: field, found: "a path that is the same for all of \(template.maxNames) names",
                allowed: "{name} or [key={name}] in it")
        }
    }

    private func checkSignature() throws(Fault) {
        let isUsed = (parameters + headerEntries).contains { $0.text.placeholders.contains(.signature) }
        guard template.digest != .none else {
            guard !isUsed, template.signed.isEmpty else {
                throw Fault(
                    field: .digest, found: "none beside \(isUsed ? "{signature}" : "signed values")",
                    allowed: "md5, sha256, hmac-sha256")
            }
            return
        }
        guard isUsed else {
            throw Fault(
                field: .digest, found: template.digest.rawValue, allowed: "none without {signature} in query or headers"
            )
        }
        guard !template.signed.isEmpty else {
            throw Fault(field: .signed, found: "nothing to sign", allowed: "at least one value")
        }
    }
}

// MARK: reading each field

extension Recipe {
    private static func text(
        _ text: String, _ field: Field, without forbidden: [RecipeText.Placeholder]
    ) throws(Fault) -> RecipeText {
        let allowed = RecipeText.Placeholder.allCases.filter { !forbidden.contains($0) }.map(\.inBraces)
        do throws(RecipeText.Stranger) {
            let read = try RecipeText(text)
            guard let first = read.placeholders.first(where: { forbidden.contains($0) }) else { return read }
            throw RecipeText.Stranger(text: first.inBraces)
        } catch {
            throw Fault(field: field, found: "\"\(error.text)\"", allowed: allowed.joined(separator: ", "))
        }
    }

    private static func parameters(_ query: String) throws(Fault) -> [Entry] {
        let texts = query.split(separator: "&", omittingEmptySubsequences: false)
        guard texts.count <= maxEntries else { throw tooMany(texts.count, .query) }
        guard query.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") }) else {
            throw Fault(
                field: .query, found: "a byte that is not allowed in a query", allowed: "visible ASCII without #")
        }
        return try texts.map { text throws(Fault) in
            let halves = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count == 2, !halves[0].isEmpty, !halves[0].contains(where: { "{}?".contains($0) }) else {
                throw Fault(field: .query, found: "\"\(text)\"", allowed: "name=text")
            }
            return Entry(name: String(halves[0]), text: try Recipe.text(String(halves[1]), .query, without: [.secret]))
        }
    }

    private static func headerEntries(_ headers: [String]) throws(Fault) -> [Entry] {
        guard headers.count <= maxEntries else { throw tooMany(headers.count, .headers) }
        return try headers.map { text throws(Fault) in
            let halves = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let isName = halves[0].utf8.allSatisfy(\.isHostByte)
            // Line ends are rejected, so that a value cannot add a second header.
            guard halves.count == 2, isName, !halves[0].isEmpty, text.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
            else { throw Fault(field: .headers, found: "\"\(text)\"", allowed: "Name: text, in visible ASCII") }
            let value = String(halves[1].drop { $0 == " " })
            return Entry(name: String(halves[0]), text: try Recipe.text(value, .headers, without: [.secret]))
        }
    }

    private static func tooMany(_ count: Int, _ field: Field) -> Fault {
        Fault(field: field, found: "\(count) entries", allowed: "at most \(maxEntries)")
    }

    /// Returns the path; nil for an empty text.
    private static func path(_ text: String, _ field: Field) throws(Fault) -> JSONPath? {
        guard !text.isEmpty else { return nil }
        guard let path = JSONPath(text) else {
            throw Fault(field: field, found: "\"\(text)\"", allowed: JSONPath.form)
        }
        return path
    }

    private static func success(_ text: String) throws(Fault) -> Success? {
        guard !text.isEmpty else { return nil }
        guard let sign = text.lastIndex(of: "="), let path = JSONPath(String(text[..<sign])) else {
            throw Fault(field: .success, found: "\"\(text)\"", allowed: "path=value, where a path is \(JSONPath.form)")
        }
        let value = String(text[text.index(after: sign)...])
        guard value == "{name}" || !value.contains(where: { "{}".contains($0) }) else {
            throw Fault(field: .success, found: "\"\(value)\"", allowed: "path=value or path={name}")
        }
        return Success(path: path, value: value == "{name}" ? nil : value)
    }
}
