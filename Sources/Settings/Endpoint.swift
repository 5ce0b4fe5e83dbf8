// An address with a port, as settings and command lines write it.

package import DNSWire

extension Settings {
    package struct Endpoint: Hashable, Sendable {
        package let address: Address
        package let port: UInt16

        package init(address: Address, port: UInt16) {
            self.address = address
            self.port = port
        }

        /// "ADDR:PORT" or "[ADDR]:PORT"; with a default also "ADDR" and "[ADDR]". IPv6 with a port needs its brackets.
        package init?(_ text: String, defaultPort: UInt16? = nil) {
            if let defaultPort, let address = Address(text) {
                self.init(address: address, port: defaultPort)
                return
            }
            let isBracketed = text.hasPrefix("[")
            guard let end = isBracketed ? text.firstIndex(of: "]") : text.firstIndex(of: ":") ?? text.endIndex else {
                return nil
            }
            let addressText = isBracketed ? text[..<end].dropFirst() : text[..<end]
            let rest = isBracketed ? text[end...].dropFirst() : text[end...]
            guard let address = Address(String(addressText)), (address.recordType == .aaaa) == isBracketed else {
                return nil
            }
            guard let port = rest.isEmpty ? defaultPort : Endpoint.port(rest) else { return nil }
            self.init(address: address, port: port)
        }

        private static func port(_ text: Substring) -> UInt16? {
            guard text.hasPrefix(":"), text.utf8.dropFirst().allSatisfy(\.isDigit) else { return nil }
            return UInt16(text.dropFirst())
        }
    }
}

extension Settings.Endpoint: CustomStringConvertible {
    package var description: String {
        address.recordType == .aaaa ? "[\(address)]:\(port)" : "\(address):\(port)"
    }
}
