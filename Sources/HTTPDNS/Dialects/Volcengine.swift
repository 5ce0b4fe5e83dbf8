// Volcengine's service: an MD5 signature over six values, an expiry in milliseconds, JSON (providers.md 3). One array
// holds both address families. The secret must never appear in an error's text.

package import DNSWire
import JSON
package import Settings

package struct Volcengine: AddressDialect {
    let url: String
    let account: String
    let secret: String

    package init(url: String, account: String, secret: String) {
        self.url = url
        self.account = account
        self.secret = secret
    }

    package init(_ provider: Settings.Provider, key: String?, cipherKey: String?) {
        self.init(url: provider.url.path, account: provider.account ?? "", secret: key ?? "")
    }

    package func nodeListing(_ provider: Settings.Provider) -> (any NodeListing)? { VolcengineNodes(self) }

    package static func inLab(_ request: HTTPRequest, at path: Substring) -> Volcengine? {
        guard path == "/resolve", URLQuery.value(of: "account_id", in: request.url) != nil else { return nil }
        return Volcengine(url: "", account: "1023", secret: "QlgAuFMwNUwN")
    }

    /// The service's limit and its reply form for several names are UNCONFIRMED.
    package let maxNames = 1
    /// All values but 1 are UNCONFIRMED.
    private static let types = FamilyTexts(v4: "1", v6: "28", both: "")
    /// A lifetime that every service with an expiry accepts (providers.md 9.5).
    private static let lifetimeMilliseconds: Int64 = 300_000

    package func request(
        for names: [String], of families: AddressFamilies, in context: DialectContext
    ) throws(DialectError) -> HTTPRequest {
        let domain = names.joined(separator: ",")
        let ip = context.clientAddress ?? ""
        let type = Volcengine.types.text(of: families)
        let timestamp = Volcengine.expiry(in: context)
        var parameters = [(name: "domain", value: domain)]
        if !ip.isEmpty { parameters.append((name: "ip", value: ip)) }
        if !type.isEmpty { parameters.append((name: "type", value: type)) }
        parameters += [
            (name: "account_id", value: account), (name: "timestamp", value: timestamp),
            (name: "sign", value: try signature(domain: domain, timestamp: timestamp, ip: ip, type: type)),
        ]
        // The app id is for the vendor's statistics, and is not signed.
        if let appID = context.parameters.appID { parameters.append((name: "appid", value: appID)) }
        return HTTPRequest(
            url: URLQuery.append(parameters, to: url),
            headers: HTTPHeaders(context.parameters.tags.map { .init("Am-Tag", $0) }))
    }

    /// Returns the time until which a signature is valid, in milliseconds since 1970.
    static func expiry(in context: DialectContext) -> String {
        String(context.unixMilliseconds + lifetimeMilliseconds)
    }

    /// Signs all six values; absent values are empty.
    func signature(domain: String, timestamp: String, ip: String, type: String) throws(DialectError) -> String {
        let values = Signature.sorted([secret, timestamp, account, domain, ip, type])
        return try Signature.md5(values.joined(separator: "_"))
    }

    /// Returns the body of an accepted reply. 403 says that the name was not added in the vendor's console
    /// (providers.md, correction C1), but also covers wrong parameters, signatures and times; the form of its body is
    /// UNCONFIRMED. The caller compares the clocks.
    static func acceptedBody(of reply: HTTPReply) throws(DialectError) -> [UInt8] {
        do throws(DialectError) {
            return try reply.acceptedBody()
        } catch {
            throw error == .status(403) ? .forbidden : error
        }
    }

    package func reading(
        of reply: HTTPReply, isAlone: Bool
    ) throws(DialectError) -> (Question) throws(DialectError) -> Answer {
        let answers = Volcengine.answers(in: try JSONValue.decode(try Volcengine.acceptedBody(of: reply)))
        return { (question) throws(DialectError) in
            guard let answer = answers.first(where: { $0["host"]?.isName(question.name) == true }) else {
                throw answers.contains { $0["host"] != nil } ? .wrongQuestion : .garbage("JSON without host")
            }
            guard let elements = answer["ips"]?.elements else { throw .garbage("JSON without ips") }
            return try JSONAddresses.answer(to: question, in: elements, ttl: answer["ttl"], isShared: true)
        }
    }

    /// Returns the objects, one per name. The form for several names is UNCONFIRMED: an array of objects, or an
    /// object with such an array, is accepted as well.
    private static func answers(in body: JSONValue) -> [JSONValue] {
        if let elements = body.elements { return elements }
        for key in ["dns", "results", "hosts"] {
            if let elements = body[key]?.elements { return elements }
        }
        return [body]
    }

    package func clientAddress(in reply: HTTPReply) -> Address? { reply.clientAddress(at: "cip") }

    // MARK: the server's side

    package func questions(
        from request: HTTPRequest, in context: DialectContext
    ) throws(DialectError) -> [Question] {
        guard request.method == .get else { throw .status(405) }
        let value = { (name: String) in URLQuery.value(of: name, in: request.url) ?? "" }
        guard value("account_id") == account else { throw .account("account_id") }
        let timestamp = value("timestamp")
        let expected = try signature(
            domain: value("domain"), timestamp: timestamp, ip: value("ip"), type: value("type"))
        guard value("sign") == expected else { throw .account("sign") }
        guard let expiry = Int64(timestamp), expiry > context.unixMilliseconds else { throw .clock }
        guard let families = Volcengine.types.families(of: value("type")) else {
            throw .garbage("type is neither absent nor 1 nor 28")
        }
        return try questions(about: value("domain"), of: families)
    }

    package func reply(
        to questions: [Question], with resolutions: [Resolution], in context: DialectContext
    ) -> HTTPReply {
        let bodies = NamedAnswers.all(questions, resolutions).map { named -> JSONValue in
            let ips = named.families.flatMap { JSONAddresses.json($0.answer, $0.type).elements ?? [] }
            let answers = named.families.compactMap(\.answer)
            // The TTL is the smaller one of the families with addresses.
            let lasting = answers.filter { $0.kind == .records }.min { $0.ttlSeconds < $1.ttlSeconds } ?? answers.first
            return .object([
                "host": .text("\(named.name)"), "ips": .array(ips), "ttl": JSONAddresses.json(ttlOf: lasting),
            ])
        }
        return JSONAddresses.reply(bodies.count == 1 ? bodies[0] : .array(bodies))
    }

    /// Returns the reply to an error: 403, except for a wrong method.
    package func reply(to error: DialectError) -> HTTPReply {
        guard case .status(let status) = error else { return HTTPReply(status: 403) }
        return HTTPReply(status: status)
    }
}
