// Messages about neighbours (RTM_NEWNEIGH, RTM_DELNEIGH) and router advertisements (RTM_NEWNDUSEROPT). Parsing
// allocates nothing, because a busy link causes many irrelevant messages.

import CLinux
import DNSWire
import Glibc
import LinuxIO

struct NeighbourReport {
    let place: Place
    /// Range of the hardware address; empty if the kernel does not use one now.
    let hardwareAddress: Range<Int>

    struct Place: Hashable {
        let link: Int
        let address: Address
    }

    /// Parses a message. Nil for families other than IPv4 and IPv6 (bridges report learned addresses in the same way),
    /// and for proxy entries.
    init?(_ bytes: Span<UInt8>, in payload: Range<Int>) {
        guard let header = bytes.load(ndmsg.self, in: payload), Int32(header.ndm_flags) & NTF_PROXY == 0 else {
            return nil
        }
        var address: Address?
        var hardwareAddress = payload.prefix(0)
        var attributes = NetlinkAttributes(payload, skipping: MemoryLayout<ndmsg>.size)
        while let attribute = attributes.next(in: bytes) {
            switch attribute.type {
            case NDA_DST: address = bytes.address(in: attribute.value, family: Int32(header.ndm_family))
            case NDA_LLADDR: hardwareAddress = attribute.value
            default: continue
            }
        }
        guard let address else { return nil }
        place = Place(link: Int(header.ndm_ifindex), address: address)
        let isUsable = Int32(header.ndm_state) & NeighbourReport.usableStates != 0
        self.hardwareAddress = isUsable ? hardwareAddress.prefix(NeighbourReport.maxHardwareBytes) : payload.prefix(0)
    }

    private static let usableStates = NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT | NUD_NOARP
    /// MAX_ADDR_LEN of the kernel.
    private static let maxHardwareBytes = 32
}

/// The PREF64 option of a router advertisement (RFC 8781 section 4).
struct NAT64PrefixReport: Equatable {
    let link: Int
    let prefix: NAT64Prefix
    /// Zero if the router withdraws the prefix.
    let lifetimeSeconds: Int64

    /// Parses a message. Nil for any other option, and for a prefix that RFC 6052 section 2.2 does not allow.
    init?(_ bytes: Span<UInt8>, in payload: Range<Int>) {
        let size = MemoryLayout<nduseroptmsg>.size
        guard let header = bytes.load(nduseroptmsg.self, in: payload), Int32(header.nduseropt_family) == AF_INET6
        else { return nil }
        let option = payload.dropFirst(size).prefix(Int(header.nduseropt_opts_len))
        guard option.count >= NAT64PrefixReport.optionBytes,
            bytes[option.lowerBound] == clinux_option_pref64,
            Int(bytes[option.lowerBound + 1]) * 8 == NAT64PrefixReport.optionBytes,
            let scaled = bytes.load(UInt16.self, in: option.dropFirst(2)).map(UInt16.init(bigEndian:)),
            let high = bytes.load(UInt64.self, in: option.dropFirst(4)).map(UInt64.init(bigEndian:)),
            let low = bytes.load(UInt32.self, in: option.dropFirst(12)).map(UInt32.init(bigEndian:)),
            Int(scaled & 7) < NAT64PrefixReport.lengths.count,
            let cut = Prefix(
                around: .v6(high: high, low: UInt64(low) << 32), length: NAT64PrefixReport.lengths[Int(scaled & 7)]),
            let prefix = NAT64Prefix(cut)
        else { return nil }
        link = Int(header.nduseropt_ifindex)
        self.prefix = prefix
        lifetimeSeconds = Int64(scaled >> 3) * 8
    }

    private static let optionBytes = 16
    /// Prefix lengths by their code.
    private static let lengths = [96, 64, 56, 48, 40, 32]
}
