// Which addresses are hosts of the public Internet, and which stand for hosts in examples only, by the registries of
// RFC 6890.

extension Address {
    /// Not a host of the public Internet (RFC 6890 and its registries). Documentation ranges are not among them: they
    /// lead nowhere.
    package var isPrivate: Bool {
        if let inner = mapped ?? translated { return inner.isPrivate || mapped != nil }
        return Address.privateRanges.contains { $0.contains(self) }
    }

    /// Of examples (RFC 5737, RFC 3849, RFC 9637): no host of any network, whoever answers with it.
    package var isDocumentation: Bool {
        if let inner = mapped ?? translated { return inner.isDocumentation }
        return Address.documentationRanges.contains { $0.contains(self) }
    }

    /// The IPv4 address inside 64:ff9b::/96 (RFC 6052 section 2.1).
    private var translated: Address? {
        guard case .v6(0x0064_FF9B_0000_0000, let low) = self, low >> 32 == 0 else { return nil }
        return .v4(UInt32(truncatingIfNeeded: low))
    }

    /// "This network", private, shared, loopback, link-local, IETF, benchmarking, multicast, reserved; unspecified and
    /// loopback, local-use NAT64, discard, unique local, link-local, multicast.
    private static let privateRanges = """
        0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.168.0.0/16
        198.18.0.0/15 224.0.0.0/4 240.0.0.0/4
        ::/127 64:ff9b:1::/48 100::/64 fc00::/7 fe80::/10 ff00::/8
        """.split { $0 == " " || $0 == "\n" }.compactMap { Prefix(String($0)) }

    private static let documentationRanges = """
        192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 2001:db8::/32 3fff::/20
        """.split { $0 == " " || $0 == "\n" }.compactMap { Prefix(String($0)) }
}
