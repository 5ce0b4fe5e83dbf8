// Addresses of a provider that are not in the settings: service nodes that its vendor lists, or addresses of a host
// name. A forged list could redirect queries, so addresses that cannot belong to a service are rejected.

package import DNSWire

package struct ServiceAddresses: Equatable, Sendable {
    package struct Node: Hashable, Sendable {
        package enum Host: Hashable, Sendable {
            case address(Address)
            /// A name in lower case, which is to be resolved.
            case name(String)
        }

        package let host: Host
        /// The port; nil: the port of the provider's URL.
        package let port: UInt16?

        package init(_ host: Host, port: UInt16? = nil) {
            self.host = host
            self.port = port
        }

        package init(_ address: Address, port: UInt16? = nil) {
            self.init(.address(address), port: port)
        }
    }

    /// The nodes: 1 to `maxNodes` in list order, without duplicates; empty only if `isDisabled`.
    package let nodes: [Node]
    /// The vendor asks clients to stop using the service for now.
    package let isDisabled: Bool
    /// How long the list is valid; nil: the vendor does not say.
    package let lifetimeSeconds: Int?

    /// Maximum number of nodes. The longest list in the vendors' clients has ten.
    package static let maxNodes = 16
    /// Maximum number of names in a list; each costs questions to the nameservers.
    private static let maxNames = 4

    /// Creates a configured list.
    package init(nodes: [Node], isDisabled: Bool = false, lifetimeSeconds: Int? = nil) {
        self.nodes = nodes
        self.isDisabled = isDisabled
        self.lifetimeSeconds = lifetimeSeconds
    }

    /// Creates a list of the first plausible nodes of a reply.
    ///
    /// - Parameter allowsPrivate: true if the service is in a private network.
    package init(
        reported nodes: [Node], isDisabled: Bool = false, lifetimeSeconds: Int? = nil, allowsPrivate: Bool
    ) throws(DialectError) {
        let usable = ServiceAddresses.usable(nodes, allowsPrivate: allowsPrivate)
        guard !usable.isEmpty || isDisabled else { throw .garbage("no usable address in the list of nodes") }
        self.init(nodes: usable, isDisabled: isDisabled, lifetimeSeconds: lifetimeSeconds)
    }

    package var addresses: [Address] { nodes.compactMap(\.address) }

    package var names: [String] {
        nodes.compactMap { node in
            guard case .name(let name) = node.host else { return nil }
            return name
        }
    }

    private static func usable(_ nodes: [Node], allowsPrivate: Bool) -> [Node] {
        var usable: [Node] = []
        var names = 0
        for node in nodes where usable.count < maxNodes && !usable.contains(node) {
            switch node.host {
            case .address(let address): guard allowsPrivate || !address.isPrivate else { continue }
            case .name:
                guard names < maxNames else { continue }
                names += 1
            }
            usable.append(node)
        }
        return usable
    }

    private static let disabled = "disable"

    // MARK: one line of text

    /// The list as text, without the lifetime: "203.0.113.1 203.0.113.2:8080 [2001:db8::1]:443 node.example:8080",
    /// after "disable" if `isDisabled`.
    package var text: String {
        ((isDisabled ? [ServiceAddresses.disabled] : []) + nodes.map(\.text)).joined(separator: " ")
    }

    /// Parses the form of `text`; nil for any other text.
    package init?(text: String, lifetimeSeconds: Int? = nil) {
        var words = text.split(separator: " ", maxSplits: ServiceAddresses.maxNodes + 1)[...]
        isDisabled = words.first == ServiceAddresses.disabled[...]
        if isDisabled { words = words.dropFirst() }
        nodes = ServiceAddresses.usable(words.compactMap { Node(text: $0) }, allowsPrivate: true)
        self.lifetimeSeconds = lifetimeSeconds
        guard nodes.map(\.text) == words.map(String.init), !nodes.isEmpty || isDisabled else { return nil }
    }
}

extension ServiceAddresses.Node {
    package var address: Address? {
        guard case .address(let address) = host else { return nil }
        return address
    }

    var text: String {
        switch (host, port) {
        case (.address(let address), nil): "\(address)"
        case (.address(let address), let port?): "\(SocketAddress(address, port: port))"
        case (.name(let name), nil): name
        case (.name(let name), let port?): "\(name):\(port)"
        }
    }

    /// Parses an address or a name, with or without a port: "203.0.113.1", "[2001:db8::1]:443", "node.example:8080".
    init?(text: Substring) {
        if let address = Address(String(text)) {
            self.init(address)
        } else if let place = SocketAddress(String(text)) {
            guard place.port != 0, "\(place)" == text else { return nil }
            self.init(place.address, port: place.port)
        } else {
            let parts = text.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count <= 2, let host = Self.hostName(parts[0]) else { return nil }
            guard parts.count == 2 else {
                self.init(.name(host))
                return
            }
            guard let port = UInt16(parts[1]), port != 0, "\(port)" == parts[1] else { return nil }
            self.init(.name(host), port: port)
        }
    }

    /// Returns the host name; nil for a single label, and for a name that ends like an address.
    private static func hostName(_ text: Substring) -> String? {
        guard let name = Name(String(text)), name.labels.count > 1, !(name.labels.last?.allSatisfy(\.isDigit) ?? true)
        else { return nil }
        return name.hostText
    }
}
