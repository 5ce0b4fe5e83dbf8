// Alibaba's list of service nodes (`/ss`, providers.md 2.4).

package import DNSWire
import Settings

package struct AliCloudNodes: NodeListing {
    private let url: String

    private static let disabled = "disable"

    /// - Parameters:
    ///   - url: the base URL, as for `AliCloud`.
    ///   - region: one of `Settings.Provider.regions`; "global" selects the nearest one.
    package init(url: String = "", account: String, region: String) {
        let base = url.hasSuffix("/") ? url.dropLast() : url[...]
        self.url = URLQuery.append([(name: "region", value: region)], to: "\(base)/\(account)/ss")
    }

    init(_ provider: Settings.Provider) {
        self.init(url: provider.url.path, account: provider.account ?? "", region: provider.region ?? "global")
    }

    /// Returns the request, which is unsigned, as in all vendor clients; the vendor's two descriptions of a signature
    /// contradict each other.
    package func request(in context: DialectContext) -> HTTPRequest { HTTPRequest(url: url) }

    package func nodes(in reply: HTTPReply, allowsPrivate: Bool) throws(DialectError) -> ServiceAddresses {
        let body = try JSONBody.decode(Body.self, from: try reply.acceptedAliCloudBody())
        return try ServiceAddresses(
            reported: Body.nodes(body.v4, body.v4Ports, .a) + Body.nodes(body.v6, body.v6Ports, .aaaa),
            isDisabled: body.status == AliCloudNodes.disabled, allowsPrivate: allowsPrivate)
    }

    private struct Body: Decodable {
        let v4: [String]?
        let v6: [String]?
        /// The ports, parallel to the address lists.
        let v4Ports: [LenientInteger]?
        let v6Ports: [LenientInteger]?
        let status: String?

        enum CodingKeys: String, CodingKey {
            case v4 = "service_ip"
            case v6 = "service_ipv6"
            case v4Ports = "service_ip_port"
            case v6Ports = "service_ipv6_port"
            case status = "service_status"
        }

        /// Returns the nodes, without addresses of the wrong family and invalid ports.
        static func nodes(
            _ texts: [String]?, _ ports: [LenientInteger]?, _ family: RecordType
        ) -> [ServiceAddresses.Node] {
            (texts ?? []).enumerated().compactMap { index, text in
                guard let address = Address(text), address.recordType == family else { return nil }
                guard let ports, index < ports.count else { return ServiceAddresses.Node(address) }
                guard let port = UInt16(exactly: ports[index].value), port != 0 else { return nil }
                return ServiceAddresses.Node(address, port: port)
            }
        }
    }

    // MARK: the server's side

    /// Returns the lab's list; nil for another path. Its addresses are for documentation (RFC 5737, RFC 3849), because
    /// clients refuse loopback addresses, where the lab listens.
    package static func labReply(to request: HTTPRequest, at path: Substring) -> HTTPReply? {
        guard path.hasSuffix("/ss") else { return nil }
        let addresses = ["192.0.2.53", "192.0.2.54", "2001:db8::53"].compactMap { Address($0) }
        let list = ServiceAddresses(nodes: addresses.map { ServiceAddresses.Node($0) })
        return reply(with: list, to: request, account: AliCloudRequest.labAccount)
    }

    /// Returns the reply of a service node to a request for the list.
    ///
    /// - Parameter account: the only account that the node knows.
    package static func reply(with list: ServiceAddresses, to request: HTTPRequest, account: String) -> HTTPReply {
        guard request.method == .get else { return AliCloudCode.methodNotAllowed.reply }
        let parts = URLQuery.path(of: request.url).split(separator: "/").suffix(2)
        guard parts.first == account[...] else { return AliCloudCode.accountNotExists.reply }
        let region = URLQuery.value(of: "region", in: request.url) ?? "cn"
        guard Settings.Provider.regions.contains(region) else { return AliCloudCode.missingArgument.reply }
        var members: [(name: String, value: OrderedJSON)] = []
        for (name, family) in [("service_ip", RecordType.a), ("service_ipv6", .aaaa)] {
            let own = list.nodes.filter { $0.address?.recordType == family }
            members.append((name, .strings(own.compactMap(\.address?.description))))
            guard own.contains(where: { $0.port != nil }) else { continue }
            members.append(("\(name)_port", .array(own.map { .number(Int($0.port ?? 443)) })))
        }
        if list.isDisabled { members.append(("service_status", .string(disabled))) }
        return .aliCloud(.object(members))
    }
}
