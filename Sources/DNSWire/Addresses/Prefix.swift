// A block of addresses in CIDR form, such as 192.0.2.0/24 or 2001:db8::/32.

package struct Prefix: Hashable, Sendable {
    package let address: Address
    /// The length in bits: 0 to 32, or 0 to 128.
    package let length: Int

    /// The block of every IPv4 address. As a client subnet it tells nothing, and forbids servers to tell more (RFC 7871
    /// section 7.1.2).
    package static let nowhere = Prefix()

    private init() {
        (address, length) = (.v4(0), 0)
    }

    /// Returns nil if the length does not fit the family or host bits are set. Such a typing error would silently
    /// widen or move the block.
    package init?(_ address: Address, length: Int) {
        self.address = address
        self.length = length
        guard length >= 0, length <= address.bitCount, address.masked(to: length) == address else { return nil }
    }

    /// The block of this length that contains the address; nil if the length does not fit the family.
    package init?(around address: Address, length: Int) {
        guard length >= 0, length <= address.bitCount else { return nil }
        self.init(address.masked(to: length), length: length)
    }

    /// Parses "ADDRESS/LENGTH", or an address alone as a block of one.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard let first = parts.first, let address = Address(String(first)), parts.count <= 2 else { return nil }
        guard parts.count == 2 else {
            self.init(address, length: address.bitCount)
            return
        }
        // Accepts only the canonical form: no sign, no leading zero.
        guard let length = Int(parts[1]), String(length) == parts[1] else { return nil }
        self.init(address, length: length)
    }

    /// Parses text and clears the host bits instead of rejecting them.
    package init?(cutting text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let address = Address(String(parts[0])), parts[1].utf8.allSatisfy(\.isDigit) else {
            return nil
        }
        guard let length = Int(parts[1]), length <= address.bitCount else { return nil }
        self.init(address.masked(to: length), length: length)
    }

    /// The block is a single address.
    package var isOneAddress: Bool { length == address.bitCount }

    package func contains(_ other: Address) -> Bool {
        switch (address, other) {
        // A shift by the full width yields 0.
        case (.v4(let network), .v4(let client)): (network ^ client) >> (32 - length) == 0
        case (.v6, .v6): other.masked(to: length) == address
        default: false
        }
    }
}

extension Prefix: CustomStringConvertible {
    package var description: String { "\(address)/\(length)" }
}

extension Address {
    var bitCount: Int {
        switch self {
        case .v4: 32
        case .v6: 128
        }
    }

    /// Keeps the first `length` bits and clears the rest. A shift by the full width yields 0.
    func masked(to length: Int) -> Address {
        switch self {
        case .v4(let value): .v4(value & UInt32.max << (32 - length))
        case .v6(let high, let low):
            .v6(high: high & UInt64.max << max(0, 64 - length), low: low & UInt64.max << min(64, 128 - length))
        }
    }
}
