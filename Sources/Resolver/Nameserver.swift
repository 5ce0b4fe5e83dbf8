// Address and port of a nameserver of the system.

package import DNSWire

package struct Nameserver: Hashable, Sendable {
    package let address: Address
    package let port: UInt16
    /// The interface of a link-local address, by name or number; nil for all others.
    package let zone: String?

    package static let standardPort: UInt16 = 53

    package init(_ address: Address, port: UInt16 = Nameserver.standardPort, zone: String? = nil) {
        self.address = address
        self.port = port
        self.zone = zone
    }
}

/// With port, ready for a socket: "192.0.2.1:53", "[fe80::1%eth0]:53".
extension Nameserver: CustomStringConvertible {
    package var description: String {
        switch address {
        case .v4: "\(address):\(port)"
        case .v6: "[\(address)\(zone.map { "%" + $0 } ?? "")]:\(port)"
        }
    }
}
