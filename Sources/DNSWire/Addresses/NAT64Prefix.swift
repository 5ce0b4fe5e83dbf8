// A NAT64 prefix and the IPv4 addresses embedded in it (RFC 6052). Also derives the prefix from the AAAA records of
// ipv4only.arpa (RFC 7050 section 3); it sends no queries.

package struct NAT64Prefix: Hashable, Sendable {
    /// The length is one of `lengths`; bits 64 to 71 are zero.
    package let prefix: Prefix

    /// 64:ff9b::/96 (RFC 6052 section 2.1).
    package static let wellKnown = NAT64Prefix(high: 0x0064_FF9B_0000_0000, low: 0, length: 96)

    /// The allowed lengths of a prefix (RFC 6052 section 2.2).
    package static let lengths = [32, 40, 48, 56, 64, 96]

    /// The addresses that ipv4only.arpa has (RFC 7050 section 8.2): 192.0.0.170 and 192.0.0.171.
    private static let announced: [Address] = [.v4(0xC000_00AA), .v4(0xC000_00AB)]

    /// Returns nil for other lengths, for IPv4, and if bits 64 to 71 are not zero (RFC 6052 section 2.2).
    package init?(_ prefix: Prefix) {
        guard case .v6(_, let low) = prefix.address, low >> 56 == 0, NAT64Prefix.lengths.contains(prefix.length)
        else { return nil }
        self.prefix = prefix
    }

    /// Finds one of the two well-known addresses at exactly one of the possible positions (RFC 7050 section 3).
    /// Ignores the suffix after it (RFC 6052 section 2.2).
    package init?(announcedBy address: Address) {
        let found = NAT64Prefix.lengths.compactMap { length -> NAT64Prefix? in
            guard let cut = Prefix(address.masked(to: length), length: length),
                let prefix = NAT64Prefix(cut), let inner = prefix.extract(address),
                NAT64Prefix.announced.contains(inner)
            else { return nil }
            return prefix
        }
        guard found.count == 1, let only = found.first else { return nil }
        self = only
    }

    private init(high: UInt64, low: UInt64, length: Int) {
        guard let prefix = Prefix(.v6(high: high, low: low), length: length) else {
            preconditionFailure("bits behind the length are set")
        }
        self.prefix = prefix
    }

    /// Returns the prefixes announced by the AAAA records of ipv4only.arpa, without duplicates, in order.
    package static func discovered(from addresses: [Address]) -> [NAT64Prefix] {
        addresses.reduce(into: []) { found, address in
            guard let prefix = NAT64Prefix(announcedBy: address), !found.contains(prefix) else { return }
            found.append(prefix)
        }
    }

    /// Returns the IPv6 address for this IPv4 host. Returns nil for an IPv6 address, and for a non-public address
    /// with the well-known prefix, which must not carry it (RFC 6052 section 3.1).
    package func embed(_ address: Address) -> Address? {
        guard case .v4(let value) = address, case .v6(let high, let low) = prefix.address else { return nil }
        if self == .wellKnown, address.isPrivate, !NAT64Prefix.announced.contains(address) { return nil }
        if prefix.length == 96 { return .v6(high: high, low: low | UInt64(value)) }
        let split = NAT64Prefix.split(value, behind: prefix.length)
        return .v6(high: high | split.high, low: low | split.low)
    }

    /// Returns the embedded IPv4 address. Returns nil outside the prefix and if bits 64 to 71 are set.
    package func extract(_ address: Address) -> Address? {
        guard case .v6(let high, let low) = address, prefix.contains(address) else { return nil }
        if prefix.length == 96 { return .v4(UInt32(truncatingIfNeeded: low)) }
        guard low >> 56 == 0 else { return nil }
        let behind = 64 - prefix.length
        // Removes the eight zero bits: the bits after them move up to the upper half.
        let upper = behind == 0 ? 0 : high & (UInt64.max >> UInt64(prefix.length))
        let joined = behind >= 32 ? upper >> UInt64(behind - 32) : upper << UInt64(32 - behind)
        return .v4(UInt32(truncatingIfNeeded: joined | (low << 8) >> UInt64(32 + behind)))
    }

    /// Splits an IPv4 address around the zero bits 64 to 71 (RFC 6052 section 2.2).
    private static func split(_ value: UInt32, behind length: Int) -> (high: UInt64, low: UInt64) {
        let room = 64 - length
        let high = room >= 32 ? UInt64(value) << UInt64(room - 32) : UInt64(value) >> UInt64(32 - room)
        let rest = UInt64(value) << UInt64(32 + room)
        return (high, room >= 32 ? 0 : rest >> 8)
    }
}

extension NAT64Prefix: CustomStringConvertible {
    package var description: String { prefix.description }
}
