// Baidu's service, versions 3 and 4: an MD5 signature over names, secret and expiry, up to ten names, JSON by name
// (providers.md 7.1). The secret must never appear in an error's text.

package import DNSWire
import JSON
package import Settings

package struct Baidu: AddressDialect {
    private let url: String
    private let account: String
    private let secret: String
    /// Version 3 has no type parameter and no IPv6.
    private let isVersion3: Bool
    /// Replies are to list the service's addresses, too (`BaiduNodes`).
    private let wantsNodes: Bool

    /// - Parameter url: its path selects the version: `/v4/resolve` or `/v3/resolve`.
    package init(url: String, account: String, secret: String, wantsNodes: Bool = false) {
        self.url = url
        self.account = account
        self.secret = secret
        self.wantsNodes = wantsNodes
        isVersion3 = URLQuery.path(of: url).split(separator: "/").contains("v3")
    }

    package init(_ provider: Settings.Provider, key: String?, cipherKey: String?) {
        self.init(
            url: provider.url.path, account: provider.account ?? "", secret: key ?? "",
            wantsNodes: provider.serviceNodes)
    }

    package func nodeListing(_ provider: Settings.Provider) -> (any NodeListing)? { BaiduNodes() }

    package static func inLab(_ request: HTTPRequest, at path: Substring) -> Baidu? {
        guard path == "/v3/resolve" || path == "/v4/resolve" else { return nil }
        return Baidu(url: String(path), account: "100", secret: "1234567890")
    }

    /// The service's limit of names per request (providers.md 7.1).
    package let maxNames = 10
    package var asksBothFamilies: Bool { !isVersion3 }
    /// The values of the vendor's own client, which always sends one (providers.md, correction C4).
    private static let types = FamilyTexts(v4: "ipv4", v6: "ipv6", both: "dual_stack")
    /// The signature lifetime of the vendor's own client.
    private static let lifetimeSeconds: Int64 = 300

    package func supports(_ type: RecordType) -> Bool { isVersion3 ? type == .a : type.isAddress }

    package func request(
        for names: [String], of families: AddressFamilies, in context: DialectContext
    ) throws(DialectError) -> HTTPRequest {
        let list = names.joined(separator: ",")
        let expiry = String(context.unixSeconds + Baidu.lifetimeSeconds)
        var parameters = [
            (name: "account_id", value: account), (name: "dn", value: list), (name: "t", value: expiry),
            (name: "sign", value: try signature(of: list, until: expiry)),
        ]
        if !isVersion3 { parameters.append((name: "type", value: Baidu.types.text(of: families))) }
        if let client = context.clientAddress { parameters.append((name: "ip", value: client)) }
        if wantsNodes { parameters.append((name: "alt_server_ip", value: "true")) }
        return HTTPRequest(url: URLQuery.append(parameters, to: url))
    }

    private func signature(of list: String, until expiry: String) throws(DialectError) -> String {
        try Signature.md5("\(list)-\(secret)-\(expiry)")
    }

    package func reading(
        of reply: HTTPReply, isAlone: Bool
    ) throws(DialectError) -> (Question) throws(DialectError) -> Answer {
        let body: JSONValue
        do throws(DialectError) {
            body = try JSONValue.decode(try reply.acceptedBody())
        } catch {
            // The HTTP status of error messages is UNCONFIRMED.
            guard case .status = error, let body = try? JSONValue.decode(reply.body) else { throw error }
            throw Baidu.error(body["msg"]) ?? error
        }
        guard body["msg"]?.scalarText == "ok" else { throw Baidu.error(body["msg"]) ?? .garbage("JSON without msg") }
        guard let names = body["data"], case .object = names else { throw .garbage("JSON without data") }
        return { (question) throws(DialectError) in
            // A missing name has no addresses or is not registered for the account.
            guard let named = names[question.name] else { return Answer(negative: .ambiguousEmpty) }
            let isWhole = named["ip"] != nil
            guard let list = isWhole ? named : named[question.type == .a ? "ipv4" : "ipv6"] else {
                guard case .object = named else { throw .garbage("JSON data without an object for the name") }
                return Answer(negative: .ambiguousEmpty)
            }
            guard Baidu.isFamily(list) else { throw .garbage("JSON data without an object for the family") }
            // A family without addresses may have no list (providers.md, correction C4).
            let elements = list["ip"]?.elements ?? []
            return try JSONAddresses.answer(to: question, in: elements, ttl: list["ttl"], isShared: isWhole)
        }
    }

    /// Whether the value may stand for a family: null and an empty array stand for a family without addresses.
    private static func isFamily(_ value: JSONValue) -> Bool {
        switch value {
        case .object, .null: true
        case .array(let elements): elements.isEmpty
        case .text, .integer, .number, .boolean: false
        }
    }

    /// Returns the body's `timestamp` (providers.md, correction C4).
    package func unixSeconds(in body: [UInt8]) -> Int64? {
        (try? JSONBody.read(body))?["timestamp"]?.lenientInteger.map { Int64($0) }
    }

    /// The vendor's message about an expired signature (providers.md, correction C3).
    private static let expired = "SignatureExpired"

    /// Maps a vendor message to an error. Apart from `expired` the texts are UNCONFIRMED; the stems of their words
    /// decide. "timeout" matches none, since clock and account errors may disable the account. Returns nil if the
    /// message is absent or "ok".
    private static func error(_ message: JSONValue?) -> DialectError? {
        guard let text = message?.scalarText, text != "ok" else { return nil }
        // The prefix and the filter limit the untrusted text that reaches the log.
        let shown = String(text.unicodeScalars.prefix(40).filter { $0.isASCII && $0.value >= 0x20 && $0.value < 0x7F })
        let words = shown.lowercased().split { !$0.isLetter }
        let hasWord = { (stems: [String]) in words.contains { word in stems.contains(where: word.hasPrefix) } }
        if text == expired || hasWord(["expire", "timestamp"]) { return .clock }
        if hasWord(["sign", "auth", "account"]) { return .account(shown) }
        return .garbage("msg \(shown)")
    }

    package func clientAddress(in reply: HTTPReply) -> Address? { reply.clientAddress(at: "clientip") }

    // MARK: the server's side

    package func questions(
        from request: HTTPRequest, in context: DialectContext
    ) throws(DialectError) -> [Question] {
        let value = { (name: String) in URLQuery.value(of: name, in: request.url) ?? "" }
        guard value("account_id") == account else { throw .account("account") }
        guard !value("dn").isEmpty, value("tag").isEmpty else { throw .garbage("either dn or tag") }
        guard value("sign") == (try signature(of: value("dn"), until: value("t"))) else { throw .account("sign") }
        guard let expiry = Int64(value("t")), expiry > context.unixSeconds else { throw .clock }
        let absent: AddressFamilies? = value("type").isEmpty ? isVersion3 ? .v4 : .both : nil
        guard let families = absent ?? Baidu.types.families(of: value("type")) else {
            throw .garbage("type is none of ipv4, ipv6, dual_stack")
        }
        return try questions(about: value("dn"), of: families)
    }

    package func reply(
        to questions: [Question], with resolutions: [Resolution], in context: DialectContext
    ) -> HTTPReply {
        var names = JSONObject()
        for named in NamedAnswers.all(questions, resolutions) {
            guard named.families.contains(where: { $0.answer?.kind == .records }) else { continue }
            let lists = named.families.map { type, answer in
                (
                    type == .a ? "ipv4" : "ipv6",
                    JSONValue.object([
                        "ip": JSONAddresses.json(answer, type), "ttl": JSONAddresses.json(ttlOf: answer),
                    ])
                )
            }
            names["\(named.name)"] = isVersion3 ? lists[0].1 : .object(JSONObject(lists))
        }
        return JSONAddresses.reply(
            .object(["msg": .text("ok"), "data": .object(names), "timestamp": .integer(Int(context.unixSeconds))]))
    }

    /// Returns the reply to an error. Its text and status are UNCONFIRMED.
    package func reply(to error: DialectError) -> HTTPReply {
        let message =
            switch error {
            case .clock: Baidu.expired
            case .account(let what): "\(what) error"
            default: "parameter error"
            }
        return JSONAddresses.reply(.object(["msg": .text(message)]))
    }
}
