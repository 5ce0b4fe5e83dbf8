// The kernel's interfaces, addresses, routes and neighbours, without a judgement of their relevance.

/// Each list is sorted, so that equal tables compare as equal. Addresses have port 0. The scope of a link-local IPv6
/// address is its link's number.
package struct KernelTables: Equatable, Sendable {
    package var links: [Link] = []
    package var addresses: [Address] = []
    package var routes: [Route] = []
    /// Only gateways of routes.
    package var neighbours: [Neighbour] = []

    package struct Link: Equatable, Sendable {
        package let index: Int32
        package let name: String
        /// ARPHRD_* of <net/if_arp.h>.
        package let hardwareType: UInt16
        /// The driver's name: "veth", "wireguard", "tun", "bridge"; empty for plain hardware.
        package let kind: String
        package let isWireless: Bool
        /// Administratively up and with a carrier as far as the driver knows (IFF_UP, IFF_LOWER_UP and IFF_RUNNING).
        package let isUp: Bool
    }

    /// A usable address: neither tentative nor a duplicate.
    package struct Address: Equatable, Sendable {
        package let link: Int32
        package let address: SocketAddress
        package let prefixLength: Int
    }

    /// A unicast route of any table but "local". Excludes routes to link-local and multicast IPv6 addresses, which
    /// every link has.
    package struct Route: Equatable, Sendable {
        /// All zeros, of the route's family, for a default route.
        package let destination: SocketAddress
        package let prefixLength: Int
        /// Nil if the destination is on the link. May be IPv6 for an IPv4 destination (RTA_VIA).
        package let gateway: SocketAddress?
        /// The link of the first hop whose link is up, else of the first hop.
        package let link: Int32
        package let metric: UInt32
        package let table: UInt32
    }

    /// A neighbour with a hardware address that the kernel uses (states reachable, stale, delay, probe, permanent,
    /// noarp).
    package struct Neighbour: Equatable, Sendable {
        package let link: Int32
        package let address: SocketAddress
        package let hardwareAddress: [UInt8]
    }
}

/// A NAT64 prefix from a router advertisement (RFC 8781).
package struct AdvertisedPrefix: Equatable, Sendable {
    package let link: Int32
    /// The bits after `length` are zero.
    package let prefix: SocketAddress
    /// 32, 40, 48, 56, 64 or 96.
    package let length: Int
    /// End of its lifetime, unless the router announces it again.
    package let end: Instant
}

extension SocketAddress {
    /// fe80::/10
    var isLinkLocal: Bool { isIPv6 && high >> 54 == 0x3FA }

    /// Returns the address with the link as scope if it is link-local.
    func within(_ link: Int32) -> SocketAddress {
        guard isLinkLocal else { return self }
        return SocketAddress(high: high, low: low, isIPv6: true, port: port, scopeID: UInt32(bitPattern: link))
    }

    /// Sort key: IPv4 first.
    var order: (UInt64, UInt64, UInt64, UInt32) { (isIPv6 ? 1 : 0, high, low, scopeID) }
}

// Sort order of the lists.
extension KernelTables.Address {
    func precedes(_ other: KernelTables.Address) -> Bool {
        if address != other.address { return address.order < other.address.order }
        return (link, prefixLength) < (other.link, other.prefixLength)
    }
}

extension KernelTables.Route {
    func precedes(_ other: KernelTables.Route) -> Bool {
        if destination != other.destination { return destination.order < other.destination.order }
        let numbers = (prefixLength, table, metric, link)
        let others = (other.prefixLength, other.table, other.metric, other.link)
        if numbers != others { return numbers < others }
        guard let gateway, let second = other.gateway else { return gateway == nil && other.gateway != nil }
        return gateway.order < second.order
    }
}

extension KernelTables.Neighbour {
    func precedes(_ other: KernelTables.Neighbour) -> Bool {
        if address != other.address { return address.order < other.address.order }
        return link < other.link
    }
}
