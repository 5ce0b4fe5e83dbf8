// Tencent's list of service addresses (`/conf`, providers.md 1.7 and correction C6): fields "key:value" between "|",
// such as "log:0|domain:0|ip:119.29.29.98;119.28.28.98|ttl:60". Over HTTP the list is encrypted like replies to
// questions.

package import DNSWire

package struct DNSPodNodes: NodeListing {
    package enum Credentials: Sendable {
        case encrypted(DNSPodEncrypted)
        case token(String)
    }

    private let url: String
    private let credentials: Credentials

    /// The lifetimes that the vendor's clients accept; they ignore other values.
    private static let minutes = 1...1440

    /// - Parameter url: the URL for questions; the list is at `conf` beside it.
    package init(url: String, _ credentials: Credentials) {
        self.url = DNSPodNodes.sibling("conf", of: url)
        self.credentials = credentials
    }

    package func request(in context: DialectContext) -> HTTPRequest {
        let parameters =
            switch credentials {
            case .encrypted(let dialect): dialect.identification
            case .token(let token): [(name: "token", value: token)]
            }
        return HTTPRequest(url: URLQuery.append(parameters, to: url))
    }

    package func nodes(in reply: HTTPReply, allowsPrivate: Bool) throws(DialectError) -> ServiceAddresses {
        let body = try DNSPodEnterprise.acceptedBody(of: reply, expires: false)
        let text: [UInt8]
        switch credentials {
        case .encrypted(let dialect): text = try dialect.plainText(body)
        case .token: text = body
        }
        var fields: [Substring: Substring] = [:]
        for field in String(decoding: text, as: UTF8.self).split(whereSeparator: { "|\r\n".contains($0) }) {
            guard let colon = field.firstIndex(of: ":") else { continue }
            fields[field[..<colon]] = field[colon...].dropFirst()
        }
        let minutes = fields["ttl"].flatMap { Int($0) }.flatMap { DNSPodNodes.minutes.contains($0) ? $0 : nil }
        // The text is split into no more parts than a usable list has.
        let texts = (fields["ip"] ?? "").split(separator: ";", maxSplits: ServiceAddresses.maxNodes)
        return try ServiceAddresses(
            reported: texts.compactMap { Address(String($0)) }.map { ServiceAddresses.Node($0) },
            lifetimeSeconds: (minutes ?? 60) * 60, allowsPrivate: allowsPrivate)
    }
}
