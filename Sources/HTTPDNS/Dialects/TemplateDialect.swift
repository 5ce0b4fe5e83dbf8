// A dialect defined in the settings, for vendors that differ only in parameter names, signed values and JSON paths.
// The secret must never appear in an error's text.

package import DNSWire
import JSON
package import Settings

// There is no code for a single vendor: templates for Volcengine, Baidu and UCloud give the same bytes as their
// dialects, which the tests check.
package struct TemplateDialect: AddressDialect {
    private let url: String
    private let account: String
    private let secret: String
    private let recipe: Recipe

    /// - Parameters:
    ///   - account: the account; empty: none.
    ///   - secret: the secret; empty: none.
    package init(url: String, account: String = "", secret: String = "", recipe: Recipe) {
        self.url = url
        self.account = account
        self.secret = secret
        self.recipe = recipe
    }

    package init(_ provider: Settings.Provider, key: String?, cipherKey: String?) throws(DialectFault) {
        guard let template = provider.template else {
            throw DialectFault("no [provider.template]; dialect template needs one")
        }
        do throws(Recipe.Fault) {
            recipe = try Recipe(template)
        } catch {
            throw DialectFault("template.\(error.text)")
        }
        (url, account, secret) = (provider.url.path, provider.account ?? "", key ?? "")
        guard provider.account != nil || !recipe.needsAccount else {
            throw DialectFault("no account; the template has {account}: set it to the id that the vendor gave you")
        }
        guard !secret.isEmpty || !recipe.needsSecret else {
            throw DialectFault("no key-file; the template signs with its content: name a file with the secret")
        }
    }

    /// The lab has no template.
    package static func inLab(_ request: HTTPRequest, at path: Substring) -> TemplateDialect? { nil }

    package var maxNames: Int { recipe.template.maxNames }

    package var asksBothFamilies: Bool { recipe.v4Path != nil && recipe.v6Path != nil && !saysFamily }

    package func supports(_ type: RecordType) -> Bool {
        (type == .a && recipe.v4Path != nil) || (type == .aaaa && recipe.v6Path != nil)
    }

    private var saysFamily: Bool {
        recipe.parameters.contains { $0.text.placeholders.contains { $0 == .type || $0 == .family } }
    }

    // MARK: requests

    private typealias Values = [RecipeText.Placeholder: String]

    package func request(
        for names: [String], of families: AddressFamilies, in context: DialectContext
    ) throws(DialectError) -> HTTPRequest {
        let expiry = context.unixMilliseconds + Int64(recipe.template.lifetimeSeconds) * 1000
        let list = names.joined(separator: ",")
        let values: Values = [
            .name: list, .names: list, .account: account, .secret: secret,
            // A type or family that the query omits is not signed, since the server could not know it.
            .type: saysFamily ? String(families.types[0].rawValue) : "",
            .family: saysFamily ? (families == .v4 ? "4" : "6") : "",
            .now: String(context.unixSeconds), .nowMilliseconds: String(context.unixMilliseconds),
            .expiry: String(expiry / 1000), .expiryMilliseconds: String(expiry),
            .nonce: Hex.encode(context.makeNonce()), .clientIP: context.clientAddress ?? "",
        ]
        return try request(values)
    }

    /// Signs the values and inserts them into the request.
    private func request(_ unsigned: Values) throws(DialectError) -> HTTPRequest {
        var values = unsigned
        values[.signature] = try signature(unsigned)
        let parameters = recipe.parameters.compactMap { entry -> String? in
            let text = entry.text.rendered(values) { URLQuery.encode($0) }
            return text.isEmpty && !entry.text.parts.isEmpty ? nil : "\(entry.name)=\(text)"
        }
        let headers = recipe.headerEntries.map { HTTPHeaders.Field($0.name, $0.text.rendered(values)) }
        return HTTPRequest(
            url: URLQuery.append(parameters.joined(separator: "&"), to: url), headers: HTTPHeaders(headers))
    }

    private func signature(_ values: Values) throws(DialectError) -> String {
        let signed = recipe.signedTexts.map { $0.rendered(values) }
        let text = (recipe.template.sorts ? Signature.sorted(signed) : signed).joined(separator: recipe.template.joiner)
        return switch recipe.template.digest {
        case .none: ""
        case .md5: try Signature.md5(text)
        case .sha256: try Signature.sha256(text)
        case .hmacSHA256: try Signature.hmacSHA256(text, key: secret)
        }
    }

    // MARK: replies

    package func reading(
        of reply: HTTPReply, isAlone: Bool
    ) throws(DialectError) -> (Question) throws(DialectError) -> Answer {
        let body = try JSONValue.decode(try acceptedBody(of: reply))
        return { (question) throws(DialectError) in
            try checkSuccess(of: body, for: question)
            guard let path = question.type == .a ? recipe.v4Path : recipe.v6Path else { throw .unsupported }
            switch path.find(in: body, for: question) {
            case .malformed: throw .garbage("JSON without the path to the addresses")
            case .absent: return Answer(negative: .ambiguousEmpty)
            case .values(let values):
                guard values.allSatisfy({ $0.elements != nil || $0.scalarText != nil }) else {
                    throw .garbage("JSON without addresses at their path")
                }
                return try JSONAddresses.answer(
                    to: question, in: values.flatMap { $0.elements ?? [$0] }, ttl: ttl(in: body, for: question),
                    isShared: recipe.v4Path == recipe.v6Path)
            }
        }
    }

    /// Maps a refusal to an error: it may concern the key or the time. If the request carries a time, the caller
    /// corrects its clock and retries once; a second refusal is final. A status in `nameStatuses` may also concern the
    /// name, so it never refuses the account.
    private func acceptedBody(of reply: HTTPReply) throws(DialectError) -> [UInt8] {
        do throws(DialectError) {
            return try reply.acceptedBody()
        } catch {
            if case .status(let status) = error, recipe.template.nameStatuses.contains(status) { throw .forbidden }
            guard error == .status(401) || error == .status(403) else { throw error }
            let times: Set<RecipeText.Placeholder> = [.now, .nowMilliseconds, .expiry, .expiryMilliseconds]
            throw recipe.placeholders.isDisjoint(with: times) ? .account("\(reply.status)") : .clock
        }
    }

    private func checkSuccess(of body: JSONValue, for question: Question) throws(DialectError) {
        guard let rule = recipe.successRule else { return }
        guard case .values(let values) = rule.path.find(in: body, for: question) else {
            throw .garbage("JSON without the sign of success")
        }
        if let wanted = rule.value {
            guard values.contains(where: { $0.scalarText == wanted }) else { throw .garbage("JSON says no success") }
        } else {
            guard values.contains(where: { $0.isName(question.name) }) else { throw .wrongQuestion }
        }
    }

    private func ttl(in body: JSONValue, for question: Question) -> JSONValue? {
        guard case .values(let values)? = recipe.ttlPath?.find(in: body, for: question) else { return nil }
        return values.first
    }

    // MARK: the server's side

    /// Reads the placeholders that fill a whole parameter or header. After that, checks that a client would build the
    /// same request from them.
    package func questions(
        from request: HTTPRequest, in context: DialectContext
    ) throws(DialectError) -> [Question] {
        var values: Values = [:]
        for entry in recipe.parameters {
            if let only = entry.text.only { values[only] = URLQuery.value(of: entry.name, in: request.url) ?? "" }
        }
        for entry in recipe.headerEntries {
            if let only = entry.text.only { values[only] = request.headers[entry.name] ?? "" }
        }
        guard let list = values[.names] ?? values[.name] else { throw .garbage("no name") }
        values.merge([.name: list, .names: list, .account: account, .secret: secret]) { _, own in own }
        let expected = try self.request(values)
        let isGenuine =
            recipe.parameters.allSatisfy { entry in
                URLQuery.value(of: entry.name, in: request.url) == URLQuery.value(of: entry.name, in: expected.url)
            } && recipe.headerEntries.allSatisfy { request.headers[$0.name] == expected.headers[$0.name] }
        guard isGenuine else { throw .account("signature") }
        try checkTime(values, in: context)
        return try questions(about: list, of: try families(values))
    }

    private func families(_ values: Values) throws(DialectError) -> AddressFamilies {
        guard saysFamily else { return asksBothFamilies ? .both : recipe.v4Path != nil ? .v4 : .v6 }
        switch (values[.type], values[.family]) {
        case ("1", _), (nil, "4"): return .v4
        case ("28", _), (nil, "6"): return .v6
        default: throw .garbage("no type that is served")
        }
    }

    private func checkTime(_ values: Values, in context: DialectContext) throws(DialectError) {
        let now = context.unixMilliseconds
        let lifetime = Int64(recipe.template.lifetimeSeconds) * 1000
        let allowed: [(RecipeText.Placeholder, scale: Int64, ClosedRange<Int64>)] = [
            (.now, 1000, now - lifetime...now + lifetime), (.nowMilliseconds, 1, now - lifetime...now + lifetime),
            (.expiry, 1000, now + 1...Int64.max), (.expiryMilliseconds, 1, now + 1...Int64.max),
        ]
        for (placeholder, scale, range) in allowed {
            guard let text = values[placeholder] else { continue }
            guard let scaled = Int64(text)?.multipliedReportingOverflow(by: scale), !scaled.overflow,
                range.contains(scaled.partialValue)
            else { throw .clock }
        }
    }

    package func reply(
        to questions: [Question], with resolutions: [Resolution], in context: DialectContext
    ) -> HTTPReply {
        var body: JSONValue?
        for (place, named) in NamedAnswers.all(questions, resolutions).enumerated() {
            for (type, answer) in named.families {
                let question = Question(named.name, type)
                let addresses = JSONAddresses.json(answer, type)
                let path = type == .a ? recipe.v4Path : recipe.v6Path
                body = path?.placing(addresses, in: body, for: question, place: place)
                guard let ttlPath = recipe.ttlPath else { continue }
                body = ttlPath.placing(JSONAddresses.json(ttlOf: answer), in: body, for: question, place: place)
            }
            guard let rule = recipe.successRule else { continue }
            let value = JSONValue.text(rule.value ?? "\(named.name)")
            body = rule.path.placing(value, in: body, for: Question(named.name, .a), place: place)
        }
        return JSONAddresses.reply(body ?? .object([:]))
    }
}
