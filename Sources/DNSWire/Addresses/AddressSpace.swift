// Classifies addresses as public, private or documentation. Sources: the IANA IPv4 and IPv6 Special-Purpose Address
// Registries (RFC 6890, RFC 8190), the multicast registries and the prefixes withdrawn by RFCs.

extension Address {
    /// True for an address that is not globally reachable by the registries, or an IPv6 form of such an IPv4 address.
    /// False for documentation ranges, which are not routed.
    package var isPrivate: Bool { use == .notGlobal }

    /// Returns whether the address is private, or one of the NAT64 prefixes maps it to a private IPv4 address.
    ///
    /// - Parameter prefixes: the prefixes of the current network. They only add private addresses.
    package func isPrivate(behind prefixes: [NAT64Prefix]) -> Bool {
        isPrivate || prefixes.contains { $0.extract(self)?.isPrivate ?? false }
    }

    /// True for the documentation ranges (RFC 5737, RFC 3849, RFC 9637), which no real host uses.
    package var isDocumentation: Bool { use == .documentation || mapped?.isDocumentation ?? false }

    /// The use of the longest matching prefix in the table.
    private var use: AddressUse {
        var (longest, use) = (-1, AddressUse.global)
        for entry in AddressUse.prefixes(near: self) {
            guard entry.prefix.length > longest, entry.prefix.contains(self) else { continue }
            (longest, use) = (entry.prefix.length, entry.use)
        }
        switch use {
        case .sixToFour:
            guard case .v6(let high, _) = self else { return .notGlobal }
            return Address.v4(UInt32(truncatingIfNeeded: high >> 16)).use
        case .nat64:
            guard case .v6(_, let low) = self else { return .notGlobal }
            return Address.v4(UInt32(truncatingIfNeeded: low)).use
        case .global: return isatap?.isPrivate ?? false ? .notGlobal : .global
        case let use: return use
        }
    }

    /// The IPv4 address in an ISATAP interface identifier, 0000:5efe or 0200:5efe (RFC 5214 section 6.1): the site's
    /// router delivers the packet to it.
    private var isatap: Address? {
        guard case .v6(_, let low) = self, low >> 32 & ~0x0200_0000 == 0x5EFE else { return nil }
        return .v4(UInt32(truncatingIfNeeded: low))
    }
}

/// The use of an address block, as far as it decides whether public names may point there.
private enum AddressUse {
    case global
    case notGlobal
    case documentation
    /// The IPv4 address in bits 16 to 47 decides (RFC 3056 section 2).
    case sixToFour
    /// The IPv4 address in the last 32 bits decides (RFC 6052 section 2.1).
    case nat64

    typealias Entry = (prefix: Prefix, use: AddressUse)

    /// The IPv4 entries by the first byte of the address, because most bytes have no entry.
    private static let prefixes4 = {
        let entries = parsed(iPv4)
        return (0...255).map { byte in
            let network = Address.v4(UInt32(byte) << 24)
            return entries.filter { $0.prefix.contains(network) || $0.prefix.address.masked(to: 8) == network }
        }
    }()
    private static let prefixes6 = parsed(iPv6)

    /// Returns the entries that may contain the address.
    static func prefixes(near address: Address) -> [Entry] {
        switch address {
        case .v4(let value): prefixes4[Int(value >> 24)]
        case .v6: prefixes6
        }
    }

    private static func parsed(_ entries: [(String, AddressUse)]) -> [Entry] {
        entries.map { entry in
            guard let prefix = Prefix(entry.0) else { preconditionFailure("\(entry.0) is not a prefix") }
            return (prefix, entry.1)
        }
    }

    /// The IPv4 registry in its order, then prefixes that it lacks.
    private static let iPv4: [(String, AddressUse)] = [
        ("0.0.0.0/8", .notGlobal),  // RFC 791 section 3.2
        ("0.0.0.0/32", .notGlobal),  // RFC 1122 section 3.2.1.3
        ("10.0.0.0/8", .notGlobal),  // RFC 1918
        ("100.64.0.0/10", .notGlobal),  // RFC 6598
        ("127.0.0.0/8", .notGlobal),  // RFC 1122 section 3.2.1.3
        ("169.254.0.0/16", .notGlobal),  // RFC 3927
        ("172.16.0.0/12", .notGlobal),  // RFC 1918
        ("192.0.0.0/24", .notGlobal),  // RFC 6890 section 2.1
        ("192.0.0.0/29", .notGlobal),  // RFC 7335
        ("192.0.0.8/32", .notGlobal),  // RFC 7600
        ("192.0.0.9/32", .global),  // RFC 7723
        ("192.0.0.10/32", .global),  // RFC 8155
        ("192.0.0.170/32", .notGlobal),  // RFC 8880, RFC 7050 section 2.2
        ("192.0.0.171/32", .notGlobal),  // RFC 8880, RFC 7050 section 2.2
        ("192.0.2.0/24", .documentation),  // RFC 5737
        ("192.31.196.0/24", .global),  // RFC 7535
        ("192.52.193.0/24", .global),  // RFC 7450
        // Deprecated; the registry says "N/A". Public routers may still announce it.
        ("192.88.99.0/24", .global),  // RFC 7526
        ("192.88.99.2/32", .notGlobal),  // RFC 6751
        ("192.168.0.0/16", .notGlobal),  // RFC 1918
        ("192.175.48.0/24", .global),  // RFC 7534
        ("198.18.0.0/15", .notGlobal),  // RFC 2544
        ("198.51.100.0/24", .documentation),  // RFC 5737
        ("203.0.113.0/24", .documentation),  // RFC 5737
        ("240.0.0.0/4", .notGlobal),  // RFC 1112 section 4
        ("255.255.255.255/32", .notGlobal),  // RFC 8190, RFC 919 section 7
        ("224.0.0.0/4", .notGlobal),  // multicast, RFC 5771
    ]

    /// The IPv6 registry in its order, then prefixes that it lacks.
    private static let iPv6: [(String, AddressUse)] = [
        ("::1/128", .notGlobal),  // RFC 4291
        ("::/128", .notGlobal),  // RFC 4291
        ("::ffff:0:0/96", .notGlobal),  // IPv4-mapped, RFC 4291: no packet carries it
        ("64:ff9b::/96", .nat64),  // RFC 6052
        ("64:ff9b:1::/48", .notGlobal),  // RFC 8215
        ("100::/64", .notGlobal),  // RFC 6666
        ("100:0:0:1::/64", .notGlobal),  // RFC 9780
        ("2001::/23", .notGlobal),  // RFC 2928
        ("2001::/32", .notGlobal),  // Teredo, RFC 4380: "N/A"; its IPv4 addresses are behind a NAT
        ("2001:1::1/128", .global),  // RFC 7723
        ("2001:1::2/128", .global),  // RFC 8155
        ("2001:1::3/128", .global),  // RFC 9665
        ("2001:2::/48", .notGlobal),  // RFC 5180
        ("2001:3::/32", .global),  // RFC 7450
        ("2001:4:112::/48", .global),  // RFC 7535
        ("2001:10::/28", .notGlobal),  // RFC 4843, terminated
        ("2001:20::/28", .global),  // RFC 7343
        ("2001:30::/28", .global),  // RFC 9374
        ("2001:db8::/32", .documentation),  // RFC 3849
        ("2002::/16", .sixToFour),  // RFC 3056
        ("2620:4f:8000::/48", .global),  // RFC 7534
        ("3fff::/20", .documentation),  // RFC 9637
        ("5f00::/16", .notGlobal),  // RFC 9602
        ("fc00::/7", .notGlobal),  // RFC 4193, RFC 8190
        ("fe80::/10", .notGlobal),  // RFC 4291
        ("::/96", .notGlobal),  // IPv4-compatible, withdrawn by RFC 4291 section 2.5.5.1
        ("::ffff:0:0:0/96", .notGlobal),  // IPv4-translated, RFC 2765 section 2.1: within one site
        ("fec0::/10", .notGlobal),  // site-local, withdrawn by RFC 3879
        ("ff00::/8", .notGlobal),  // multicast, RFC 4291 section 2.7
    ]
}
