// The common parts of Tencent's enterprise dialects, encrypted HTTP and HTTPS with a token: the name list, parameter
// order, and the expiry that newer clients add (providers.md 1.2).

import DNSWire

enum DNSPodEnterprise {
    /// The service's limit of names per request (providers.md 1.2).
    static let maxNames = 8
    /// The lifetime that the vendor's own clients use.
    private static let lifetimeSeconds: Int64 = 600
    /// Server side: how far ahead a client's clock may be.
    private static let skewSeconds: Int64 = 60

    /// Returns the comma-separated names, followed by the expiry if requested.
    static func list(_ names: [String], expires: Bool, in context: DialectContext) -> String {
        names.joined(separator: ",") + (expires ? ";\(context.unixSeconds + lifetimeSeconds)" : "")
    }

    /// Returns the parameters in the order of the vendor's own clients.
    ///
    /// - Parameter client: the value of `ip`; nil: no `ip`.
    static func parameters(
        dn: String, account: String, of families: AddressFamilies, credential: (name: String, value: String),
        client: String?
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
        parameters.append(credential)
        if let client { parameters.append((name: "ip", value: client)) }
        return parameters
    }

    /// Returns the body of an accepted reply. 401 means an account error. For names with an expiry it may also mean a
    /// wrong clock, and the server does not distinguish the two (UNCONFIRMED). The caller then retries once with the
    /// learned time.
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

    /// Returns the names of a list and checks its expiry; older clients send none.
    static func names(in list: String, at context: DialectContext) throws(DialectError) -> String {
        let parts = list.split(separator: ";", omittingEmptySubsequences: false)
        guard parts.count > 1 else { return list }
        guard parts.count == 2, let expiry = Int64(parts[1]) else { throw .garbage("dn ends in no time") }
        let now = context.unixSeconds
        guard expiry > now, expiry <= now + lifetimeSeconds + skewSeconds else { throw .clock }
        return String(parts[0])
    }

    /// Returns the text of a reply. Every line ends with a client address, since the vendor's clients drop lines
    /// without one.
    static func text(_ questions: [Question], _ resolutions: [Resolution]) -> String {
        NamedAnswers.all(questions, resolutions).map { DNSPodText.line($0, client: anyClient) }
            .joined(separator: "\n")
    }

    /// Returns the reply to an error. The vendor sends no error bodies. The status for an expired list is UNCONFIRMED.
    static func reply(to error: DialectError) -> HTTPReply {
        switch error {
        case .account, .clock: HTTPReply(status: 401)
        case .status(let status): HTTPReply(status: status)
        default: HTTPReply(status: 400, body: Array("\(error)\n".utf8))
        }
    }

    /// The address in place of the peer's, which a dialect does not know: 203.0.113.7 (RFC 5737).
    private static let anyClient = Address.v4(0xCB00_7107)
}
