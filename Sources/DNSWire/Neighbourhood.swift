// A client's aggregate prefix, most likely one operator's; many addresses in it count as one client.

/// A /24 of IPv4 or a /56 of IPv6 (RFC 7871 section 11.1). An IPv4-mapped address counts as IPv4.
package struct Neighbourhood: Hashable, Sendable {
    package let isIPv6: Bool
    /// The prefix bits, right-aligned.
    package let bits: UInt64

    package init(of address: Address) {
        switch address.mapped ?? address {
        case .v4(let value):
            isIPv6 = false
            bits = UInt64(value >> 8)
        case .v6(let high, _):
            isIPv6 = true
            bits = high >> 8
        }
    }
}
