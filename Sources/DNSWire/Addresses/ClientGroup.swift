// The clients that an answer is for: all, those of a view, those of a subnet, or those that hide theirs. A subnet is
// precise enough for CDNs, too coarse to identify a person.

package struct ClientGroup: Hashable, Sendable {
    /// The family of the subnet above its 56 bits; 0: any subnet; `hidden`: requests have none.
    package let subnetCode: UInt64
    /// The number of the view, from 1; 0: none. A number is never used again for a view with other clients or
    /// providers.
    package let view: UInt32

    /// The group for answers that are the same for all clients.
    package static let all = ClientGroup(view: 0)

    /// Lengths of subnets. RFC 7871 section 11.1 recommends at most these lengths.
    private static let lengths = (v4: 24, v6: 56)
    private static let marks = (v4: UInt64(1) << 56, v6: UInt64(2) << 56)
    private static let hidden = UInt64(4) << 56

    /// - Parameters:
    ///   - client: its subnet is a part of the group. A private address has no location on the Internet, and no subnet.
    ///   - view: 0: none.
    package init(of client: Address, view: UInt32 = 0) {
        (subnetCode, self.view) = (ClientGroup.subnetCode(of: client), view)
    }

    /// The clients of a view, wherever they are.
    ///
    /// - Parameter hidesSubnet: the clients want no provider to learn where they are.
    package init(view: UInt32, hidesSubnet: Bool = false) {
        (subnetCode, self.view) = (hidesSubnet ? ClientGroup.hidden : 0, view)
    }

    /// Requests for these clients have no subnet, not even a configured one.
    package var hidesSubnet: Bool { subnetCode == ClientGroup.hidden }

    private static func subnetCode(of client: Address) -> UInt64 {
        let client = client.mapped ?? client
        guard !client.isPrivate else { return 0 }
        return switch client {
        case .v4(let value): marks.v4 | UInt64(value >> UInt32(32 - lengths.v4))
        case .v6(let high, _): marks.v6 | high >> UInt64(64 - lengths.v6)
        }
    }

    /// The subnet as a prefix; nil for none.
    package var subnet: Prefix? {
        switch subnetCode & (ClientGroup.marks.v4 | ClientGroup.marks.v6) {
        case ClientGroup.marks.v4:
            Prefix(
                .v4(UInt32(truncatingIfNeeded: subnetCode) << UInt32(32 - ClientGroup.lengths.v4)),
                length: ClientGroup.lengths.v4)
        case ClientGroup.marks.v6:
            Prefix(.v6(high: subnetCode << UInt64(64 - ClientGroup.lengths.v6), low: 0), length: ClientGroup.lengths.v6)
        default: nil
        }
    }
}
