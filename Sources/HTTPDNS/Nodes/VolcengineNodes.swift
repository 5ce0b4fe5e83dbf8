// Volcengine's list of service hosts (`/svc_meta`, providers.md 3 and correction C7): names or addresses, the hosts for
// normal use first.

package import DNSWire
import JSON

package struct VolcengineNodes: NodeListing {
    private let dialect: Volcengine

    package init(_ dialect: Volcengine) { self.dialect = dialect }

    /// The `ts` of the list that the client has; 0 asks for the whole list.
    private static let noList = "0"

    /// The signature is UNCONFIRMED; it follows the rule for questions, with the values of this request.
    package func request(in context: DialectContext) throws(DialectError) -> HTTPRequest {
        let expiry = Volcengine.expiry(in: context)
        let values = Signature.sorted([dialect.secret, expiry, dialect.account, VolcengineNodes.noList])
        return HTTPRequest(
            url: URLQuery.append(
                [
                    (name: "account_id", value: dialect.account), (name: "svc_meta_ts", value: VolcengineNodes.noList),
                    (name: "timestamp", value: expiry),
                    (name: "sign", value: try Signature.md5(values.joined(separator: "_"))),
                ], to: VolcengineNodes.sibling("svc_meta", of: dialect.url)))
    }

    package func nodes(in reply: HTTPReply, allowsPrivate: Bool) throws(DialectError) -> ServiceAddresses {
        let body = try JSONValue.decode(try Volcengine.acceptedBody(of: reply))
        guard let list = body["svc_meta"] else { throw .garbage("JSON without svc_meta") }
        let hosts = ["main_domains", "backup_domains"].flatMap { list[$0]?.elements ?? [] }
        var lifetimeSeconds: Int?
        if case .integer(let minutes)? = body["update_interval_min"], (1...1440).contains(minutes) {
            lifetimeSeconds = minutes * 60
        }
        return try ServiceAddresses(
            reported: hosts.compactMap { $0.scalarText.flatMap { ServiceAddresses.Node(text: $0[...]) } },
            lifetimeSeconds: lifetimeSeconds, allowsPrivate: allowsPrivate)
    }
}
