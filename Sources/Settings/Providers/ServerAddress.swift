// The addresses that a server can have.

package import DNSWire

extension Address {
    /// False for unspecified, multicast and broadcast addresses, and for IPv4 addresses in IPv6 form. Loopback and
    /// private addresses may be those of a server on this machine or in its network.
    package var canBeOfServer: Bool {
        switch self {
        case .v4(let bits): bits != 0 && bits >> 28 != 0xE && bits != .max
        case .v6(let high, let low):
            mapped == nil && (high != 0 || low != 0) && high >> 56 != 0xFF
        }
    }
}
