// Tencent's enterprise service with a token: plain text over TLS, up to eight names per request, A, AAAA or both
// (providers.md 1.2 and 1.4). The token must never appear in an error's text.

package import DNSWire
package import Settings

package struct DNSPodHTTPS: AddressDialect {
    private let url: String
    /// The authorisation id; empty: none.
    private let account: String
    private let token: String
    private let expires: Bool

    /// - Parameter expires: sends an expiry time with the names, as newer clients do. The server's handling is
    ///   UNCONFIRMED.
    package init(url: String, account: String = "", token: String, expires: Bool = false) {
        self.url = url
        self.account = account
        self.token = token
        self.expires = expires
    }

    package init(_ provider: Settings.Provider, key: String?, cipherKey: String?) {
        self.init(
            url: provider.url.path, account: provider.account ?? "", token: key ?? "", expires: provider.expiring)
    }

    package func nodeListing(_ provider: Settings.Provider) -> (any NodeListing)? {
        DNSPodNodes(url: url, .token(token))
    }

    package static func inLab(_ request: HTTPRequest, at path: Substring) -> DNSPodHTTPS? {
        let (cipher, token) = (URLQuery.value(of: "alg", in: request.url), URLQuery.value(of: "token", in: request.url))
        guard path == "/d", cipher == nil, token != nil else { return nil }
        return DNSPodHTTPS(url: "", account: "1234", token: "567890")
    }

    package let maxNames = DNSPodEnterprise.maxNames

    package func request(
        for names: [String], of families: AddressFamilies, in context: DialectContext
    ) -> HTTPRequest {
        let parameters = DNSPodEnterprise.parameters(
            dn: DNSPodEnterprise.list(names, expires: expires, in: context), account: account, of: families,
            credential: (name: "token", value: token), client: context.clientAddress)
        return HTTPRequest(url: URLQuery.append(parameters, to: url))
    }

    package func reading(
        of reply: HTTPReply, isAlone: Bool
    ) throws(DialectError) -> (Question) throws(DialectError) -> Answer {
        let text = DNSPodText(try DNSPodEnterprise.acceptedBody(of: reply, expires: expires))
        return { (question) throws(DialectError) in try text.answer(to: question, isAlone: isAlone) }
    }

    package func clientAddress(in reply: HTTPReply) -> Address? {
        (try? DNSPodEnterprise.acceptedBody(of: reply, expires: expires)).flatMap { DNSPodText($0).client }
    }

    package func questions(
        from request: HTTPRequest, in context: DialectContext
    ) throws(DialectError) -> [Question] {
        guard URLQuery.value(of: "token", in: request.url) == token else { throw .account("token") }
        let families = try DNSPodEnterprise.families(in: request)
        guard let list = URLQuery.value(of: "dn", in: request.url) else { throw .garbage("no parameter dn") }
        return try questions(about: try DNSPodEnterprise.names(in: list, at: context), of: families)
    }

    package func reply(
        to questions: [Question], with resolutions: [Resolution], in context: DialectContext
    ) -> HTTPReply {
        DNSPodText.reply(DNSPodEnterprise.text(questions, resolutions))
    }

    package func reply(to error: DialectError) -> HTTPReply { DNSPodEnterprise.reply(to: error) }
}
