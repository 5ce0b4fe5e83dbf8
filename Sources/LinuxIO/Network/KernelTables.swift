// The kernel's interfaces, addresses, routes and neighbours. Facts only, without a judgement of their relevance.

/// Each list is sorted, so that equal tables compare as equal. Addresses have port 0; link-local IPv6 ones have the
/// number of their link as scope.
package struct KernelTables: Equatable, Sendable {
    package var links: [Link] = []
    package var addresses: [Address] = []
    package var routes: [Route] = []
    /// Only those that are the gateway of a route.
    package var neighbours: [Neighbour] = []

    package struct Link: Equatable, Sendable {
        package let index: Int32
        package let name: String
        /// ARPHRD_* of <net/if_arp.h>.
        package let hardwareType: UInt16
        /// As drivers call themselves: "veth", "wireguard", "tun", "bridge"; empty for plain hardware.
        package let kind: String
        package let isWireless: Bool
        /// Administratively up and with a carrier as far as the driver knows (IFF_UP, IFF_LOWER_UP and IFF_RUNNING).
        package let isUp: Bool
    }

    /// One that may be used: neither tentative nor a duplicate.
    package struct Address: Equatable, Sendable {
        package let link: Int32
        package let address: SocketAddress
        package let prefixLength: Int
    }

    /// A unicast route of any table but "local"; none to link-local or multicast IPv6 addresses, which every link has.
    package struct Route: Equatable, Sendable {
        /// All zeros, of the right family, for a default route.
        package let destination: SocketAddress
        package let prefixLength: Int
        /// Nil: the destination is on the link. It may be IPv6 for an IPv4 destination (RTA_VIA).
        package let gateway: SocketAddress?
        /// Of several hops the first one whose link is up, else the first.
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

/// A prefix under which IPv6 addresses are translated to IPv4, as a router announced it (RFC 8781).
package struct AdvertisedPrefix: Equatable, Sendable {
    package let link: Int32
    /// The bits after `length` are zero.
    package let prefix: SocketAddress
    /// 32, 40, 48, 56, 64 or 96.
    package let length: Int
    /// Unless the router says so again.
    package let end: Instant
}

extension SocketAddress {
    /// fe80::/10
    var isLinkLocal: Bool { isIPv6 && high >> 54 == 0x3FA }

    /// With the scope that gives a link-local address its meaning.
    func within(_ link: Int32) -> SocketAddress {
        guard isLinkLocal else { return self }
        return SocketAddress(high: high, low: low, isIPv6: true, port: port, scopeID: UInt32(bitPattern: link))
    }

    /// To sort by: IPv4 first.
    var order: (UInt64, UInt64, UInt64, UInt32) { (isIPv6 ? 1 : 0, high, low, scopeID) }
}

// The order of the lists.
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
