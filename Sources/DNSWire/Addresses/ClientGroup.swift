// The clients that an answer is for: all, those of a view, or those of a subnet. A subnet is precise enough for CDNs,
// too coarse to identify a person.

package struct ClientGroup: Hashable, Sendable {
    /// From the top: 5 bits for the view, 3 for the family of the subnet, 56 for its prefix; 0 for all clients.
    package let code: UInt64

    /// For answers that are the same for all clients.
    package static let all = ClientGroup(code: 0)

    /// The largest number of a view.
    package static let maxView = 31

    /// RFC 7871 section 11.1 recommends at most these lengths.
    private static let lengths = (v4: 24, v6: 56)
    private static let marks = (v4: UInt64(1) << 56, v6: UInt64(2) << 56)
    private static let viewShift: UInt64 = 59

    /// - Parameters:
    ///   - client: its subnet is a part of the group. A private address has no location on the Internet, and no subnet.
    ///   - view: 1 to `maxView`; 0: none.
    package init(of client: Address, view: Int = 0) {
        self.init(code: UInt64(view) << ClientGroup.viewShift | ClientGroup.subnet(of: client))
    }

    /// The clients of a view, wherever they are.
    package init(view: Int) {
        self.init(code: UInt64(view) << ClientGroup.viewShift)
    }

    private init(code: UInt64) {
        self.code = code
    }

    private static func subnet(of client: Address) -> UInt64 {
        let client = client.mapped ?? client
        guard !client.isPrivate else { return 0 }
        return switch client {
        case .v4(let value): marks.v4 | UInt64(value >> UInt32(32 - lengths.v4))
        case .v6(let high, _): marks.v6 | high >> UInt64(64 - lengths.v6)
        }
    }

    /// The number of the view, from 1; 0: none.
    package var view: Int { Int(code >> ClientGroup.viewShift) }

    /// The subnet as a prefix; nil for none.
    package var subnet: Prefix? {
        switch code & (ClientGroup.marks.v4 | ClientGroup.marks.v6) {
        case ClientGroup.marks.v4:
            Prefix(
                .v4(UInt32(truncatingIfNeeded: code) << UInt32(32 - ClientGroup.lengths.v4)),
                length: ClientGroup.lengths.v4)
        case ClientGroup.marks.v6:
            Prefix(.v6(high: code << UInt64(64 - ClientGroup.lengths.v6), low: 0), length: ClientGroup.lengths.v6)
        default: nil
        }
    }
}
