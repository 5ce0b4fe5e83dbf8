// The subnet of a client, for answers that depend on location. Precise enough for CDNs, too coarse to identify a
// person.

package struct ClientSubnet: Hashable, Sendable {
    /// The prefix bits below a marker of the family; 0 for none.
    package let code: UInt64

    /// For answers that are the same for all clients.
    package static let none = ClientSubnet(code: 0)

    /// RFC 7871 section 11.1 recommends at most these lengths.
    private static let lengths = (v4: 24, v6: 56)
    private static let marks = (v4: UInt64(1) << 56, v6: UInt64(2) << 56)

    /// `none` for a private client address, which has no location on the Internet.
    package init(of client: Address) {
        let client = client.mapped ?? client
        guard !client.isPrivate else {
            self = .none
            return
        }
        switch client {
        case .v4(let value): code = ClientSubnet.marks.v4 | UInt64(value >> UInt32(32 - ClientSubnet.lengths.v4))
        case .v6(let high, _): code = ClientSubnet.marks.v6 | high >> UInt64(64 - ClientSubnet.lengths.v6)
        }
    }

    private init(code: UInt64) {
        self.code = code
    }

    /// The subnet as a prefix; nil for `none`.
    package var prefix: Prefix? {
        switch code & ~0x00FF_FFFF_FFFF_FFFF {
        case ClientSubnet.marks.v4:
            Prefix(
                .v4(UInt32(truncatingIfNeeded: code) << UInt32(32 - ClientSubnet.lengths.v4)),
                length: ClientSubnet.lengths.v4)
        case ClientSubnet.marks.v6:
            Prefix(.v6(high: code << UInt64(64 - ClientSubnet.lengths.v6), low: 0), length: ClientSubnet.lengths.v6)
        default: nil
        }
    }
}
