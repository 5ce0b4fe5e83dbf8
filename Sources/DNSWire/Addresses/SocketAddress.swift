// An IP address with a port, as settings, command lines and sockets use it.

package struct SocketAddress: Hashable, Sendable {
    package let address: Address
    package let port: UInt16
    /// The interface index of a link-local IPv6 address (RFC 4007); 0 for all others.
    package let scopeID: UInt32

    package init(_ address: Address, port: UInt16, scopeID: UInt32 = 0) {
        self.address = address
        self.port = port
        self.scopeID = scopeID
    }

    /// Parses "ADDR:PORT" or "[ADDR]:PORT"; with a default port also "ADDR" and "[ADDR]". IPv6 with a port needs its
    /// brackets. Returns nil for anything else, including host names and interface names.
    package init?(_ text: String, defaultPort: UInt16? = nil) {
        if let defaultPort, let address = Address(text) {
            self.init(address, port: defaultPort)
            return
        }
        let isBracketed = text.hasPrefix("[")
        guard let end = isBracketed ? text.firstIndex(of: "]") : text.firstIndex(of: ":") ?? text.endIndex else {
            return nil
        }
        let addressText = isBracketed ? text[..<end].dropFirst() : text[..<end]
        let rest = isBracketed ? text[end...].dropFirst() : text[end...]
        guard let address = Address(String(addressText)), address.isIPv6 == isBracketed else { return nil }
        guard let port = rest.isEmpty ? defaultPort : SocketAddress.port(rest) else { return nil }
        self.init(address, port: port)
    }

    private static func port(_ text: Substring) -> UInt16? {
        let digits = text.utf8.dropFirst()
        guard text.hasPrefix(":"), digits.count <= 5, digits.allSatisfy(\.isDigit) else { return nil }
        return UInt16(text.dropFirst())
    }

    package var isIPv6: Bool { address.isIPv6 }

    /// Whether the address means every local address: `0.0.0.0` or `::`.
    package var isWildcard: Bool { address == .v4(0) || address == .v6(high: 0, low: 0) }
}

extension SocketAddress: CustomStringConvertible {
    package var description: String {
        isIPv6 ? "[\(address)\(scopeID == 0 ? "" : "%\(scopeID)")]:\(port)" : "\(address):\(port)"
    }
}
