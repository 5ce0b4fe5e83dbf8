// Short name of a network: a salted hash of its identity. It reveals nothing about the identity without the salt.

package struct NetworkID: Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// - Parameter digest: four bytes or more.
    package init(digest: [UInt8]) {
        rawValue = digest.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Parses the form of `description`.
    package init?(_ text: String) {
        guard let value = UInt32(text, radix: 16) else { return nil }
        rawValue = value
        // The comparison rejects a sign, another length, and capitals.
        guard description == text else { return nil }
    }
}

/// The text is eight hexadecimal digits.
extension NetworkID: CustomStringConvertible {
    package var description: String { rawValue.digits(8, radix: 16) }
}
