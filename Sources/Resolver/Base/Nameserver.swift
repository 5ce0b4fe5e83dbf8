// Address and port of a nameserver, and how it is authenticated.

package import DNSWire

package struct Nameserver: Hashable, Sendable {
    package let address: Address
    package let port: UInt16
    /// The interface of a link-local address, by name or number; nil for all others.
    package let zone: String?
    /// DNS over TLS only (RFC 7858); nil: UDP and TCP.
    package let tls: TLS?
    /// The only interface that queries leave through; nil: the kernel chooses by the routes.
    package let interface: String?

    package struct TLS: Hashable, Sendable {
        /// The host name or IP address that the certificate must be valid for.
        package let certificateName: String
        /// A file with certificate authorities; nil: the system's.
        package let caFile: String?

        package init(certificateName: String, caFile: String?) {
            self.certificateName = certificateName
            self.caFile = caFile
        }
    }

    package static let standardPort: UInt16 = 53

    package init(
        _ address: Address, port: UInt16 = Nameserver.standardPort, zone: String? = nil, tls: TLS? = nil,
        interface: String? = nil
    ) {
        self.address = address
        self.port = port
        self.zone = zone
        self.tls = tls
        self.interface = interface
    }
}

/// The address with the port, ready for a socket: "192.0.2.1:53", "[fe80::1%eth0]:53".
extension Nameserver: CustomStringConvertible {
    package var description: String {
        switch address {
        case .v4: "\(address):\(port)"
        case .v6: "[\(address)\(zone.map { "%" + $0 } ?? "")]:\(port)"
        }
    }
}
