// An address with a port, and a range of addresses, as settings and command lines write them.

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

    /// A CIDR prefix.
    package struct Prefix: Hashable, Sendable {
        /// All bits after the first `length` are zero.
        package let address: Address
        package let length: Int

        /// "ADDR/LENGTH", or an address alone for just that. Nil if bits after the prefix are set.
        package init?(_ text: String) {
            guard let prefix = Prefix(cutting: text), prefix.address == Prefix.address(in: text) else { return nil }
            self = prefix
        }

        /// As above, with the bits after the prefix cleared.
        init?(cutting text: String) {
            guard let address = Prefix.address(in: text) else { return nil }
            let bits = address.bytes.count * 8
            let lengthText = text.firstIndex(of: "/").map { text[$0...].dropFirst() }
            if let lengthText, !lengthText.utf8.allSatisfy(\.isDigit) { return nil }
            guard let length = lengthText.map({ Int($0) }) ?? bits, length <= bits else { return nil }
            guard let cut = Address(bytes: Prefix.cut(address.bytes, to: length)) else { return nil }
            self.address = cut
            self.length = length
        }

        package func contains(_ other: Address) -> Bool {
            let bytes = other.bytes
            return bytes.count == address.bytes.count && Prefix.cut(bytes, to: length) == address.bytes
        }

        private static func address(in text: String) -> Address? {
            Address(String(text.prefix { $0 != "/" }))
        }

        private static func cut(_ bytes: [UInt8], to length: Int) -> [UInt8] {
            bytes.enumerated().map { index, byte in
                let kept = min(max(length - index * 8, 0), 8)
                return byte & ~UInt8(truncatingIfNeeded: 0xFF >> kept)
            }
        }
    }
}

extension Settings.Endpoint: CustomStringConvertible {
    package var description: String {
        address.recordType == .aaaa ? "[\(address)]:\(port)" : "\(address):\(port)"
    }
}

extension Settings.Prefix: CustomStringConvertible {
    package var description: String { "\(address)/\(length)" }
}
