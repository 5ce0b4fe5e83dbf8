// An entry of `server.listen`: where clients reach the daemon. Each kind of listener has a case with its form.

package import DNSWire

package enum ListenPlace: Hashable, Sendable {
    /// UDP and TCP. Port 0 is any free port.
    case address(SocketAddress)

    /// Whether equal entries are different places.
    var isAnyFreePort: Bool {
        switch self {
        case .address(let address): address.port == 0
        }
    }
}

extension ListenPlace: CustomStringConvertible {
    package var description: String {
        switch self {
        case .address(let address): "\(address)"
        }
    }
}

extension [ListenPlace] {
    /// The places with an IP address.
    package var addresses: [SocketAddress] {
        map { place in
            switch place {
            case .address(let address): address
            }
        }
    }
}

extension Format<[ListenPlace]> {
    /// Maximum number of places. An address takes a TCP socket, and a UDP socket on every thread.
    private static let maxPlaces = 64

    static let listenPlaces = Format<ListenPlace>(
        allowed: Format<SocketAddress>.listenEndpoint.allowed,
        schema: Format<SocketAddress>.listenEndpoint.schema(),
        read: { node throws(Misfit) in .address(try Format<SocketAddress>.listenEndpoint.read(node)) },
        write: { tomlString("\($0)") }
    ).list(of: "strings \"ADDR:PORT\"", 1...maxPlaces)
}
