// The short name of a network: what its identity hashes to. Says nothing about it to those who do not know the salt.

package struct NetworkID: Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// - Parameter digest: four bytes or more.
    package init(digest: [UInt8]) {
        rawValue = digest.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// As it is written by `description`.
    package init?(_ text: String) {
        guard let value = UInt32(text, radix: 16) else { return nil }
        rawValue = value
        // No sign, no other length, no capitals.
        guard description == text else { return nil }
    }
}

/// Eight hexadecimal digits.
extension NetworkID: CustomStringConvertible {
    package var description: String {
        let digits = String(rawValue, radix: 16)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }
}
