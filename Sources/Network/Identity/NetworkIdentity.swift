// Identity of a network: its default route and VPNs. Consists of facts that are equal at every visit. Excludes the
// machine's own address, lifetimes, and interfaces without routes.

package import DNSWire

// Interface names and the set of all addresses change many times a day through containers, bridges and lifetimes. The
// gateway's hardware address distinguishes networks with the gateway 192.168.1.1.
package struct NetworkIdentity: Hashable, Sendable {
    package enum Kind: UInt8, CaseIterable, Sendable {
        case none, ethernet, wifi, cellular, tunnel, other
    }

    /// Kind of the interface with the default route; a VPN's only if there is no other.
    package let kind: Kind
    /// The gateway; nil for point-to-point links and for cellular networks, whose gateway changes as often as the
    /// address.
    package let gateway: Address?
    /// The gateway's hardware address; nil: not known yet, or nonexistent.
    package let gatewayHardware: [UInt8]?
    /// Prefix of the interface's address, in the gateway's family; a /64 for IPv6. Nil if the prefix is only the
    /// machine's own address, and on cellular networks.
    package let prefix: Prefix?
    /// VPN interfaces that are up and lead to more than a single address; sorted, at most `NetworkBounds.maxTunnels`.
    package let tunnels: [String]
    /// The entries of `tunnels` with a default route: they determine how the Internet is reached. Sorted.
    package let exits: [String]
    /// Search domains in lower case, sorted, at most `NetworkBounds.maxSearchDomains`.
    package let searchDomains: [String]

    package init(
        kind: Kind, gateway: Address? = nil, gatewayHardware: [UInt8]? = nil, prefix: Prefix? = nil,
        tunnels: [String] = [], exits: [String] = [], searchDomains: [String] = []
    ) {
        self.kind = kind
        self.gateway = gateway
        self.gatewayHardware = gatewayHardware
        self.prefix = prefix
        self.tunnels = tunnels
        self.exits = exits
        self.searchDomains = searchDomains
    }

    /// The identity without a default route.
    package static let isolated = NetworkIdentity(kind: .none)

    /// - Parameter searchDomains: the normalised search domains.
    init(_ routed: RoutedLinks, _ wayOut: WayOut, searchDomains: [String]) {
        let kind = wayOut.link.networkKind
        let isFleeting = kind == .cellular
        self.init(
            kind: kind, gateway: isFleeting ? nil : wayOut.gateway, gatewayHardware: wayOut.gatewayHardware,
            prefix: isFleeting ? nil : wayOut.prefix, tunnels: routed.tunnels, exits: routed.exits,
            searchDomains: searchDomains)
    }

    /// Whether the gateway's hardware address is known, or there is none.
    package var isComplete: Bool { gateway == nil || gatewayHardware != nil || kind == .tunnel }

    /// Whether `other` is this network after its gateway has revealed its hardware address.
    func isCompleted(by other: NetworkIdentity) -> Bool {
        !isComplete && other.isComplete && self == other.with(gatewayHardware: nil)
    }

    func with(gatewayHardware: [UInt8]?) -> NetworkIdentity {
        NetworkIdentity(
            kind: kind, gateway: gateway, gatewayHardware: gatewayHardware, prefix: prefix, tunnels: tunnels,
            exits: exits, searchDomains: searchDomains)
    }
}

extension NetworkIdentity {
    /// Injective and machine-independent encoding, as input of a salted hash. A two-byte length precedes each field,
    /// a count each list.
    package var canonicalBytes: [UInt8] {
        var bytes: [UInt8] = [NetworkIdentity.formOfBytes, kind.rawValue]
        func append(_ field: [UInt8]) {
            // Fields are shorter than this limit: names, addresses, and domains of 253 bytes.
            let field = field.prefix(Int(UInt16.max))
            bytes += [UInt8(field.count >> 8), UInt8(field.count & 0xFF)]
            bytes += field
        }
        append(gateway?.bytes ?? [])
        append(gatewayHardware ?? [])
        append(prefix.map { $0.address.bytes + [UInt8($0.length)] } ?? [])
        for list in [tunnels, exits, searchDomains] {
            append([UInt8(list.count)])
            for text in list { append(Array(text.utf8)) }
        }
        return bytes
    }

    /// A number that changes with the meaning of the bytes, so that networks of an older release are not mistaken for
    /// others.
    private static let formOfBytes: UInt8 = 1

    /// Text for reports: "wifi, gateway 192.168.1.1 (0a:1b:2c:3d:4e:5f), 192.168.1.0/24, VPN wg0, search
    /// corp.example". One line of ASCII, at most `NetworkBounds.maxWordsBytes`.
    package var words: String {
        var parts = [kind == .none ? "no network" : "\(kind)"]
        if let gateway {
            let hardware = gatewayHardware.map { " (\(NetworkIdentity.hexadecimal($0)))" } ?? ""
            parts.append("gateway \(gateway)\(hardware)")
        }
        if let prefix { parts.append("\(prefix)") }
        parts += tunnels.map { exits.contains($0) ? "all through VPN \($0)" : "VPN \($0)" }
        if !searchDomains.isEmpty { parts.append("search " + searchDomains.joined(separator: " ")) }
        return ShortLine.of(parts.joined(separator: ", "))
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { $0.digits(2, radix: 16) }.joined(separator: ":")
    }
}

/// Normalises search domains, which come from an untrusted network.
enum SearchDomains {
    /// Returns the domains in lower case, without the final dot, sorted, without duplicates. Drops domains that are not
    /// printable ASCII, too long, or over the limit.
    static func normal(_ domains: [String]) -> [String] {
        let usable = domains.map { $0.hasSuffix(".") ? $0.dropLast() : $0[...] }.filter { domain in
            (1...NetworkBounds.maxSearchDomainBytes).contains(domain.utf8.count)
                && domain.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        }
        return Set(usable.map { $0.lowercased() }).sorted().prefix(NetworkBounds.maxSearchDomains).map { $0 }
    }
}

enum ShortLine {
    /// Replaces unprintable characters: interface names may contain any byte.
    static func of(_ text: String) -> String {
        let line = text.unicodeScalars.map { (0x20...0x7E).contains($0.value) ? Character($0) : "?" }
        guard line.count > NetworkBounds.maxWordsBytes else { return String(line) }
        return String(line.prefix(NetworkBounds.maxWordsBytes - 3)) + "..."
    }
}
