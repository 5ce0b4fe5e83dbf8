// Messages about routes: RTM_NEWROUTE and RTM_DELROUTE.

import CLinux
import DNSWire
import Glibc
import LinuxIO

struct RouteReport {
    let key: Key
    let path: Path

    /// Key of a route. Several paths may share a key (`ip route append`).
    struct Key: Hashable {
        let table: UInt32
        let destination: Prefix
        let metric: UInt32
        let serviceType: UInt8
        /// Source prefix of the packets that use the route (source-specific routing); nil: all packets.
        let source: Prefix?
    }

    struct Path: Equatable {
        /// The type: RTN_UNICAST, RTN_BLACKHOLE and others.
        let type: UInt8
        /// One hop, or several for multipath, in the kernel's order; mostly empty for routes that are not unicast. IPv6
        /// hops are sorted, because their order differs between messages and dumps.
        var hops: [Hop]
        /// Source address for packets without one (RTA_PREFSRC).
        let preferredSource: Address?

        /// The route leads to another machine.
        var isUnicast: Bool { Int(type) == RTN_UNICAST && !hops.isEmpty }
    }

    struct Hop: Hashable {
        let link: Int
        let gateway: Address?

        fileprivate func precedes(_ other: Hop) -> Bool {
            guard link == other.link, let gateway, let second = other.gateway else {
                return link < other.link || (link == other.link && gateway == nil && other.gateway != nil)
            }
            return gateway.order < second.order
        }
    }

    /// Maximum number of hops, more than operators configure. Further hops are ignored.
    static let maxHops = 64

    /// Parses a message. Nil for irrelevant routes: other families, the table "local", cached copies, and link-local
    /// and multicast IPv6 destinations, which every link has.
    init?(_ bytes: Span<UInt8>, in payload: Range<Int>) {
        guard let header = bytes.load(rtmsg.self, in: payload), header.rtm_flags & UInt32(RTM_F_CLONED) == 0 else {
            return nil
        }
        let family = Int32(header.rtm_family)
        guard family == AF_INET || family == AF_INET6 else { return nil }
        var read = Attributes(
            destination: family == AF_INET6 ? .v6(high: 0, low: 0) : .v4(0), table: UInt32(header.rtm_table))
        var attributes = NetlinkAttributes(payload, skipping: MemoryLayout<rtmsg>.size)
        while let attribute = attributes.next(in: bytes) {
            read.take(attribute.type, bytes, in: attribute.value, family: family)
        }
        guard read.table != RT_TABLE_LOCAL.rawValue,
            let destination = Prefix(read.destination, length: Int(header.rtm_dst_len)),
            !RouteReport.isOnEveryLink(destination)
        else { return nil }
        key = Key(
            table: read.table, destination: destination, metric: read.metric, serviceType: header.rtm_tos,
            source: read.source.flatMap { Prefix(around: $0, length: Int(header.rtm_src_len)) })
        path = Path(type: header.rtm_type, hops: read.allHops, preferredSource: read.preferredSource)
    }

    /// Whether the destination is link-local or multicast: fe80::/10 or ff00::/8.
    private static func isOnEveryLink(_ destination: Prefix) -> Bool {
        guard case .v6(let high, _) = destination.address else { return false }
        return (destination.length >= 10 && high >> 54 == 0x3FA) || (destination.length >= 8 && high >> 56 == 0xFF)
    }
}

/// Attributes of a route.
private struct Attributes {
    var destination: Address
    var table: UInt32
    var metric: UInt32 = 0
    var source: Address?
    var preferredSource: Address?
    private var link: Int?
    private var gateway: Address?
    private var hops: [RouteReport.Hop] = []

    init(destination: Address, table: UInt32) {
        self.destination = destination
        self.table = table
    }

    var allHops: [RouteReport.Hop] {
        guard hops.isEmpty, let link else {
            return destination.isIPv6 ? hops.sorted { $0.precedes($1) } : hops
        }
        return [RouteReport.Hop(link: link, gateway: gateway)]
    }

    mutating func take(_ type: Int, _ bytes: Span<UInt8>, in value: Range<Int>, family: Int32) {
        switch rtattr_type_t(UInt32(type)) {
        case RTA_DST: destination = bytes.address(in: value, family: family) ?? destination
        case RTA_SRC: source = bytes.address(in: value, family: family)
        case RTA_PREFSRC: preferredSource = bytes.address(in: value, family: family)
        case RTA_TABLE: table = bytes.load(UInt32.self, in: value) ?? table
        case RTA_PRIORITY: metric = bytes.load(UInt32.self, in: value) ?? metric
        case RTA_OIF: link = bytes.load(Int32.self, in: value).map(Int.init)
        case RTA_GATEWAY: gateway = bytes.address(in: value, family: family)
        case RTA_VIA: gateway = Attributes.via(bytes, in: value)
        case RTA_MULTIPATH: takeHops(bytes, in: value, family: family)
        default: return
        }
    }

    /// Returns a gateway of another family than the route's: struct rtvia.
    private static func via(_ bytes: Span<UInt8>, in value: Range<Int>) -> Address? {
        guard let family = bytes.load(UInt16.self, in: value) else { return nil }
        return bytes.address(in: value.dropFirst(MemoryLayout<UInt16>.size), family: Int32(family))
    }

    /// Parses the hops: struct rtnexthop, each with its own attributes.
    private mutating func takeHops(_ bytes: Span<UInt8>, in value: Range<Int>, family: Int32) {
        let size = MemoryLayout<rtnexthop>.size
        var rest = value
        while hops.count < RouteReport.maxHops, let hop = bytes.load(rtnexthop.self, in: rest) {
            let length = Int(hop.rtnh_len)
            guard length >= size, length <= rest.count else { return }
            var gateway: Address?
            var attributes = NetlinkAttributes(rest.prefix(length), skipping: size)
            while let attribute = attributes.next(in: bytes) {
                switch rtattr_type_t(UInt32(attribute.type)) {
                case RTA_GATEWAY: gateway = bytes.address(in: attribute.value, family: family)
                case RTA_VIA: gateway = Attributes.via(bytes, in: attribute.value)
                default: continue
                }
            }
            hops.append(RouteReport.Hop(link: Int(hop.rtnh_ifindex), gateway: gateway))
            rest = rest.dropFirst(NetlinkAttributes.aligned(length))
        }
    }
}
