// Messages about interfaces and their addresses: RTM_NEWLINK, RTM_NEWADDR and their RTM_DEL counterparts.

import CLinux
import DNSWire
import Glibc
import LinuxIO

struct LinkReport: Equatable {
    let index: Int
    let hardwareType: Int
    let name: String
    let kind: String
    /// The interface is administratively up. If it is down, no route uses the interface.
    let isSwitchedOn: Bool
    let isUp: Bool

    /// Parses a message. Nil for messages that do not concern the interface itself: bridges report their ports, and
    /// wireless drivers their events, with the same message type.
    init?(_ bytes: Span<UInt8>, in payload: Range<Int>) {
        guard let header = bytes.load(ifinfomsg.self, in: payload), Int32(header.ifi_family) == AF_UNSPEC else {
            return nil
        }
        var name = ""
        var kind = ""
        var attributes = NetlinkAttributes(payload, skipping: MemoryLayout<ifinfomsg>.size)
        while let attribute = attributes.next(in: bytes) {
            switch attribute.type {
            case IFLA_IFNAME: name = bytes.text(in: attribute.value)
            case IFLA_LINKINFO: kind = LinkReport.kind(bytes, in: attribute.value)
            case IFLA_WIRELESS: return nil
            default: continue
            }
        }
        index = Int(header.ifi_index)
        hardwareType = Int(header.ifi_type)
        self.name = name
        self.kind = kind
        let flags = header.ifi_flags
        let required = UInt32(IFF_UP) | UInt32(IFF_RUNNING) | UInt32(clinux_link_lower_up)
        isSwitchedOn = flags & UInt32(IFF_UP) != 0
        isUp = flags & required == required
    }

    private static func kind(_ bytes: Span<UInt8>, in range: Range<Int>) -> String {
        var attributes = NetlinkAttributes(range)
        while let attribute = attributes.next(in: bytes) {
            if attribute.type == IFLA_INFO_KIND { return bytes.text(in: attribute.value) }
        }
        return ""
    }
}

struct AddressReport {
    let place: NetworkTables.InterfaceAddress
    /// The address is neither tentative nor a duplicate. An optimistic address may be used before its test has ended
    /// (RFC 4429).
    let isUsable: Bool

    /// Parses a message; nil for families other than IPv4 and IPv6.
    init?(_ bytes: Span<UInt8>, in payload: Range<Int>) {
        guard let header = bytes.load(ifaddrmsg.self, in: payload) else { return nil }
        let link = Int(header.ifa_index)
        var flags = Int32(header.ifa_flags)
        var address: Address?
        var isLocal = false
        var attributes = NetlinkAttributes(payload, skipping: MemoryLayout<ifaddrmsg>.size)
        while let attribute = attributes.next(in: bytes) {
            switch attribute.type {
            case IFA_ADDRESS where !isLocal, IFA_LOCAL:
                // On a tunnel IFA_ADDRESS is the peer's address, and IFA_LOCAL is this machine's.
                isLocal = attribute.type == IFA_LOCAL
                address = bytes.address(in: attribute.value, family: Int32(header.ifa_family))
            case IFA_FLAGS:
                flags = bytes.load(Int32.self, in: attribute.value) ?? flags
            default: continue
            }
        }
        guard let address else { return nil }
        place = NetworkTables.InterfaceAddress(
            link: link, address: address, prefixLength: Int(header.ifa_prefixlen))
        let isTested = flags & IFA_F_TENTATIVE == 0 || flags & IFA_F_OPTIMISTIC != 0
        isUsable = isTested && flags & IFA_F_DADFAILED == 0
    }
}
