// What Tencent's enterprise dialects have in common, over HTTP with encryption and over HTTPS with a token: the list of
// names, the order of parameters, and the expiry that newer clients add to the names (providers.md 1.2).

import DNSWire

enum DNSPodEnterprise {
    /// The service's limit (providers.md 1.2).
    static let maxNames = 8
    /// What the vendor's own clients add to the time.
    private static let lifetimeSeconds: Int64 = 600
    /// The server's side: how far ahead another clock may be.
    private static let skewSeconds: Int64 = 60

    /// The names with commas between, and the end of their life if they have one.
    static func list(_ names: [String], expires: Bool, in context: DialectContext) -> String {
        names.joined(separator: ",") + (expires ? ";\(context.unixSeconds + lifetimeSeconds)" : "")
    }

    /// In the order in which the vendor's own clients write them. `ip` is plain in both dialects, as those clients send
    /// it; that it should be encrypted like `dn` over HTTP, as the documentation says, is UNCONFIRMED.
    static func parameters(
        dn: String, account: String, of families: AddressFamilies, proof: (name: String, value: String),
        in context: DialectContext
    ) -> [(name: String, value: String)] {
        var parameters = [
            (name: "dn", value: dn), (name: "clientip", value: "1"), (name: "ttl", value: "1"),
            (name: "query", value: "1"),
        ]
        if !account.isEmpty { parameters.append((name: "id", value: account)) }
        switch families {
        case .v4: break
        case .v6: parameters.append((name: "type", value: "aaaa"))
        case .both: parameters.append((name: "type", value: "addrs"))
        }
        parameters.append(proof)
        if let client = context.clientAddress { parameters.append((name: "ip", value: client)) }
        return parameters
    }

    /// 401 is about the account, unless the names had an expiry: then our clock may be what is wrong, and the server
    /// does not say which (UNCONFIRMED). The caller tries that once more with the time that it has learned.
    static func acceptedBody(of reply: HTTPReply, expires: Bool) throws(DialectError) -> [UInt8] {
        guard reply.status != 401 else { throw expires ? .clock : .account("401") }
        return try reply.acceptedBody()
    }

    // MARK: the server's side

    static func families(in request: HTTPRequest) throws(DialectError) -> AddressFamilies {
        switch URLQuery.value(of: "type", in: request.url)?.lowercased() {
        case nil: .v4
        case "aaaa": .v6
        case "addrs": .both
        default: throw .garbage("type is neither absent nor aaaa nor addrs")
        }
    }

    /// The names of a list, whose expiry is checked if it has one: older clients send none.
    static func names(in list: String, at context: DialectContext) throws(DialectError) -> String {
        let parts = list.split(separator: ";", omittingEmptySubsequences: false)
        guard parts.count > 1 else { return list }
        guard parts.count == 2, let expiry = Int64(parts[1]) else { throw .garbage("dn ends in no time") }
        let now = context.unixSeconds
        guard expiry > now, expiry <= now + lifetimeSeconds + skewSeconds else { throw .clock }
        return String(parts[0])
    }

    /// Every line ends in the client's address: the vendor's clients drop lines without one.
    static func text(_ questions: [Question], _ resolutions: [Resolution]) -> String {
        NamedAnswers.all(questions, resolutions).map { DNSPodText.line($0, client: anyClient) }
            .joined(separator: "\n")
    }

    /// The vendor has no error bodies. The status of an expired list is UNCONFIRMED.
    static func reply(to error: DialectError) -> HTTPReply {
        switch error {
        case .account, .clock: HTTPReply(status: 401)
        case .status(let status): HTTPReply(status: status)
        default: HTTPReply(status: 400, body: Array("\(error)\n".utf8))
        }
    }

    /// In the place of the peer's address, which a dialect does not know: 203.0.113.7 (RFC 5737).
    private static let anyClient = Address.v4(0xCB00_7107)
}
