// The kernel's interfaces, addresses, routes and neighbours, from which all network facts are derived.

package import DNSWire

/// The tables. `RouteWatch` sorts each list, so that equal tables compare as equal.
package struct NetworkTables: Equatable, Sendable {
    package var links: [Link] = []
    package var addresses: [InterfaceAddress] = []
    package var routes: [Route] = []
    package var neighbours: [Neighbour] = []

    package struct Link: Equatable, Sendable {
        package let index: Int
        package let name: String
        /// ARPHRD_* of <net/if_arp.h>.
        package let hardwareType: Int
        /// The driver's name: "veth", "wireguard", "tun", "bridge"; empty for plain hardware.
        package let kind: String
        package let isWireless: Bool
        /// The link is administratively up and has a carrier as far as the driver knows (IFF_UP, IFF_LOWER_UP and
        /// IFF_RUNNING).
        package let isUp: Bool
    }

    /// A usable address: neither tentative nor a duplicate.
    package struct InterfaceAddress: Hashable, Sendable {
        package let link: Int
        package let address: Address
        package let prefixLength: Int
    }

    /// A unicast route of any table but "local". Excludes routes to link-local and multicast IPv6 addresses, which
    /// every link has.
    package struct Route: Equatable, Sendable {
        package let destination: Prefix
        /// The gateway; nil if the destination is on the link. It may be IPv6 for an IPv4 destination (RTA_VIA).
        package let gateway: Address?
        /// The link of the first hop whose link is up, else of the first hop.
        package let link: Int
        package let metric: UInt32
        package let table: UInt32
    }

    /// A gateway with a hardware address that the kernel uses (states reachable, stale, delay, probe, permanent,
    /// noarp).
    package struct Neighbour: Equatable, Sendable {
        package let link: Int
        package let address: Address
        package let hardwareAddress: [UInt8]
    }
}

/// A NAT64 prefix from a router advertisement (RFC 8781).
package struct AdvertisedPrefix: Equatable, Sendable {
    package let link: Int
    package let prefix: NAT64Prefix
    /// End of the prefix's lifetime, unless the router announces it again.
    package let end: Instant
}

// Sort order of the lists.

extension Address {
    /// The sort key of an address, IPv4 first.
    var order: (UInt64, UInt64, UInt64) {
        switch self {
        case .v4(let value): (0, 0, UInt64(value))
        case .v6(let high, let low): (1, high, low)
        }
    }
}

extension NetworkTables.InterfaceAddress {
    func precedes(_ other: NetworkTables.InterfaceAddress) -> Bool {
        if address != other.address { return address.order < other.address.order }
        return (link, prefixLength) < (other.link, other.prefixLength)
    }
}

extension NetworkTables.Route {
    func precedes(_ other: NetworkTables.Route) -> Bool {
        let (address, second) = (destination.address, other.destination.address)
        if address != second { return address.order < second.order }
        let numbers = (destination.length, table, metric, link)
        let others = (other.destination.length, other.table, other.metric, other.link)
        if numbers != others { return numbers < others }
        guard let gateway, let otherGateway = other.gateway else { return gateway == nil && other.gateway != nil }
        return gateway.order < otherGateway.order
    }
}

extension NetworkTables.Neighbour {
    func precedes(_ other: NetworkTables.Neighbour) -> Bool {
        if address != other.address { return address.order < other.address.order }
        return link < other.link
    }
}
