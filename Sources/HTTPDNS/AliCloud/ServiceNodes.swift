// The list of service node addresses of Alibaba's service (`/ss`, providers.md 2.4). A forged list could redirect
// queries, so addresses that cannot belong to the service are rejected.

package import DNSWire

package struct ServiceNodes: Equatable, Sendable {
    package struct Node: Equatable, Sendable {
        package let address: Address
        /// Nil: the scheme's default.
        package let port: UInt16?

        package init(_ address: Address, port: UInt16? = nil) {
            self.address = address
            self.port = port
        }
    }

    /// 1 to `maxNodes` in list order, IPv4 first, without duplicates; empty only if `isDisabled`.
    package let nodes: [Node]
    /// The vendor asks clients to stop using the service for now.
    package let isDisabled: Bool

    /// The longest list in the vendor's clients has ten.
    package static let maxNodes = 16

    package var addresses: [Address] { nodes.map(\.address) }

    /// For configured lists.
    package init(nodes: [Node], isDisabled: Bool = false) {
        self.nodes = nodes
        self.isDisabled = isDisabled
    }

    // MARK: the exchange

    /// Returns the request for the list. Unsigned, as in all vendor clients; the vendor's two descriptions of a
    /// signature contradict each other.
    ///
    /// - Parameters:
    ///   - url: the base URL, as for `AliCloud`.
    ///   - region: one of `regions`.
    package static func request(url: String = "", account: String, region: String) -> HTTPRequest {
        let base = url.hasSuffix("/") ? url.dropLast() : url[...]
        return HTTPRequest(url: URLQuery.append([(name: "region", value: region)], to: "\(base)/\(account)/ss"))
    }

    /// "global" selects the nearest region.
    package static let regions = ["cn", "hk", "sg", "us", "de", "global"]

    /// - Parameter allowsPrivate: true if the service is in a private network.
    package init(reply: HTTPReply, allowsPrivate: Bool = false) throws(DialectError) {
        let body = try JSONBody.decode(Body.self, from: try reply.acceptedAliCloudBody())
        isDisabled = body.status == ServiceNodes.disabled
        nodes = ServiceNodes.usable(
            Body.nodes(body.v4, body.v4Ports, .a) + Body.nodes(body.v6, body.v6Ports, .aaaa),
            allowsPrivate: allowsPrivate)
        guard !nodes.isEmpty || isDisabled else { throw .garbage("no usable address in the list of nodes") }
    }

    private struct Body: Decodable {
        let v4: [String]?
        let v6: [String]?
        /// Parallel to the address lists.
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

        /// Omits addresses of the wrong family and invalid ports.
        static func nodes(_ texts: [String]?, _ ports: [LenientInteger]?, _ family: RecordType) -> [Node] {
            (texts ?? []).enumerated().compactMap { index, text in
                guard let address = Address(text), address.recordType == family else { return nil }
                guard let ports, index < ports.count else { return Node(address) }
                guard let port = UInt16(exactly: ports[index].value), port != 0 else { return nil }
                return Node(address, port: port)
            }
        }
    }

    /// Returns the first `maxNodes` plausible nodes, without duplicates.
    private static func usable(_ nodes: [Node], allowsPrivate: Bool) -> [Node] {
        var usable: [Node] = []
        for node in nodes where usable.count < maxNodes && !usable.contains(node) {
            if allowsPrivate || !node.address.isPrivate { usable.append(node) }
        }
        return usable
    }

    private static let disabled = "disable"

    // MARK: one line of text

    /// "203.0.113.1 203.0.113.2:8080 [2001:db8::1]:443", after "disable" if `isDisabled`.
    package var text: String {
        let texts = nodes.map { node in
            node.port.map { "\(SocketAddress(node.address, port: $0))" } ?? "\(node.address)"
        }
        return ((isDisabled ? [ServiceNodes.disabled] : []) + texts).joined(separator: " ")
    }

    /// Parses the form that `text` writes; nil for anything else.
    package init?(text: String) {
        var words = text.split(separator: " ", maxSplits: ServiceNodes.maxNodes + 1)[...]
        isDisabled = words.first == ServiceNodes.disabled[...]
        if isDisabled { words = words.dropFirst() }
        nodes = ServiceNodes.usable(words.compactMap(Node.init(text:)), allowsPrivate: true)
        guard nodes.count == words.count, !nodes.isEmpty || isDisabled else { return nil }
    }

    // MARK: the server's side

    /// Server side: returns the reply of a service node to a request for the list.
    ///
    /// - Parameter account: the only account that the node knows.
    package func reply(to request: HTTPRequest, account: String) -> HTTPReply {
        guard request.method == .get else { return AliCloudCode.methodNotAllowed.reply }
        let parts = URLQuery.path(of: request.url).split(separator: "/").suffix(2)
        guard parts.first == account[...] else { return AliCloudCode.accountNotExists.reply }
        let region = URLQuery.value(of: "region", in: request.url) ?? "cn"
        guard ServiceNodes.regions.contains(region) else { return AliCloudCode.missingArgument.reply }
        var members: [(name: String, value: OrderedJSON)] = []
        for (name, family) in [("service_ip", RecordType.a), ("service_ipv6", .aaaa)] {
            let own = nodes.filter { $0.address.recordType == family }
            members.append((name, .strings(own.map(\.address.description))))
            guard own.contains(where: { $0.port != nil }) else { continue }
            members.append(("\(name)_port", .array(own.map { .number(Int($0.port ?? 443)) })))
        }
        if isDisabled { members.append(("service_status", .string(ServiceNodes.disabled))) }
        return .aliCloud(.object(members))
    }
}

extension ServiceNodes.Node {
    fileprivate init?(text: Substring) {
        if let address = Address(String(text)) {
            self.init(address)
            return
        }
        guard let place = SocketAddress(String(text)), place.port != 0, "\(place)" == text else { return nil }
        self.init(place.address, port: place.port)
    }
}
