// A part of the Internet that is most likely one operator's, so that who has many addresses in it counts as one.

/// A /24 of IPv4 or a /56 of IPv6, the lengths of RFC 7871 section 11.1; an IPv4 address of an IPv6 socket is IPv4.
package struct Neighbourhood: Hashable, Sendable {
    package let isIPv6: Bool
    /// Those of the prefix, lowest last.
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
