// Kind of an interface, as its driver reports it, and address blocks that matter for default routes.

import DNSWire

extension NetworkTables {
    /// Returns how an interface is used; nil if there is no such interface.
    package func use(of interface: String) -> LinkUse? {
        links.first { $0.name == interface }.map { link in
            LinkUse(
                isTunnel: link.networkKind == .tunnel,
                hasDefaultRoute: routes.contains {
                    $0.link == link.index && NetworkReach.leadsFarAway($0.destination)
                })
        }
    }

    var usableLinks: [Int: Link] {
        Dictionary(links.filter(\.isUp).map { ($0.index, $0) }) { first, _ in first }
    }
}

extension NetworkTables.Link {
    var networkKind: NetworkIdentity.Kind {
        if isCellular { return .cellular }
        if isWireless { return .wifi }
        if Link.tunnelDrivers.contains(kind) || Link.tunnelHardware.contains(hardwareType) { return .tunnel }
        return hardwareType == Link.ethernet ? .ethernet : .other
    }

    /// Whether neighbours have a hardware address that identifies them.
    var hasHardwareAddresses: Bool { ![.cellular, .tunnel].contains(networkKind) }

    /// Whether the link is cellular. Many modems report Ethernet; the names that systemd and the kernel give them
    /// identify them.
    private var isCellular: Bool {
        hardwareType == Link.rawIP || ["wwan", "rmnet"].contains(kind) || name.hasPrefix("ww")
            || name.hasPrefix("rmnet")
    }

    private typealias Link = NetworkTables.Link

    /// ARPHRD_ETHER and ARPHRD_RAWIP of <linux/if_arp.h>.
    private static let ethernet = 1
    private static let rawIP = 519
    /// ARPHRD_PPP, _TUNNEL, _TUNNEL6, _SIT, _IPGRE, _IP6GRE, _NONE.
    private static let tunnelHardware: Set<Int> = [512, 768, 769, 776, 778, 823, 0xFFFE]
    private static let tunnelDrivers: Set<String> = [
        "wireguard", "amneziawg", "tun", "ovpn", "ovpn-dco", "ppp", "ipip", "sit", "gre", "gretap", "ip6tnl", "ip6gre",
        "ip6gretap", "vti", "vti6", "xfrm", "ipsec",
    ]
}

package struct LinkUse: Equatable, Sendable {
    package let isTunnel: Bool
    /// A default route or a part of one uses the interface.
    package let hasDefaultRoute: Bool
}

extension NetworkTables.Route {
    var family: RecordType { destination.address.recordType }
}

extension Prefix {
    var isSingleAddress: Bool { length == address.bytes.count * 8 }
}
