// UCloud's list of service nodes (`/ACCOUNT/service`, providers.md 7.2): URLs, the best one first.

package import DNSWire
import JSON

package struct UCloudNodes: NodeListing {
    private let url: String
    private let dialect: UCloud
    private let scheme: String
    /// The port of URLs without a port.
    private let schemePort: UInt16

    /// - Parameters:
    ///   - url: the URL, as for `UCloud`.
    ///   - isSecure: whether the provider's URL is https; nodes of the other scheme are left out.
    package init(url: String, account: String, secret: String, isSecure: Bool) {
        let base = url.hasSuffix("/") ? url.dropLast() : url[...]
        self.url = "\(base)/\(account)/service"
        dialect = UCloud(url: url, account: account, secret: secret)
        (scheme, schemePort) = isSecure ? ("https://", 443) : ("http://", 80)
    }

    package func request(in context: DialectContext) throws(DialectError) -> HTTPRequest {
        let parameters = [(name: "timestamp", value: String(context.unixSeconds))]
        return HTTPRequest(
            url: URLQuery.append(parameters, to: url),
            headers: HTTPHeaders([.init("Authorization", try dialect.signature(parameters))]))
    }

    package func nodes(in reply: HTTPReply, allowsPrivate: Bool) throws(DialectError) -> ServiceAddresses {
        let body = try JSONValue.decode(try UCloud.acceptedBody(of: reply))
        let urls = [body["best_service_node"]].compactMap { $0 } + (body["service_node_list"]?.elements ?? [])
        return try ServiceAddresses(
            reported: urls.compactMap { node($0.scalarText ?? "") }, allowsPrivate: allowsPrivate)
    }

    private func node(_ url: String) -> ServiceAddresses.Node? {
        guard url.hasPrefix(scheme),
            let node = ServiceAddresses.Node(text: url.dropFirst(scheme.count).prefix { $0 != "/" })
        else { return nil }
        return ServiceAddresses.Node(node.host, port: node.port ?? schemePort)
    }
}
