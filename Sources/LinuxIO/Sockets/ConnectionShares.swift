// Decides which connection of operators is closed for a new one when all places are taken. Unprivileged holders never
// displace root or the daemon's user, and among themselves only the holder with the most connections loses one.

package import DNSWire

/// Holders share the places for connections: one user opens any number of connections from any number of processes.
package enum ConnectionHolder: Hashable, Sendable {
    case user(UInt32)
    /// An address of another machine; of an IPv6 address its /64.
    case address(Address)

    /// - Parameter userID: the user of the connection's process on this machine; nil: not known.
    package init(_ address: Address, userID: UInt32?) {
        let address = address.mapped ?? address
        switch (userID, address) {
        case (let userID?, _): self = .user(userID)
        case (nil, .v6(let high, _)) where !address.isLoopback: self = .address(.v6(high: high, low: 0))
        case (nil, _): self = .address(address)
        }
    }
}

package struct HeldConnection: Equatable, Sendable {
    /// The number of the connection, in the order of acceptance.
    package let number: UInt64
    package let holder: ConnectionHolder
    /// True if the holder may run every command.
    package let isTrusted: Bool

    package init(number: UInt64, holder: ConnectionHolder, isTrusted: Bool) {
        self.number = number
        self.holder = holder
        self.isTrusted = isTrusted
    }
}

package enum ConnectionShares {
    package enum Admission: Equatable {
        case free
        /// The connection with this number is closed first.
        case closing(UInt64)
        /// All places are held by holders that the newcomer may not displace.
        case refused
    }

    /// Bound of simultaneous connections: operators and scrapers of one machine.
    package static let max = 32

    /// Closes the oldest connection of the holder with the most connections. Idle clients must not lock out an
    /// operator, and streams may have no deadline, so that eviction by deadline would always hit the newest request.
    package static func admission(of new: HeldConnection, to taken: [HeldConnection]) -> Admission {
        guard taken.count >= max else { return .free }
        let unprivileged = taken.filter { !$0.isTrusted }
        let candidates = unprivileged.isEmpty && new.isTrusted ? taken : unprivileged
        let counts = candidates.reduce(into: [new.holder: 1]) { $0[$1.holder, default: 0] += 1 }
        // The newcomer counts for its holder, so that a holder with fewer connections than others displaces one of
        // theirs.
        let victim = candidates.min { one, other in
            let (ones, others) = (counts[one.holder, default: 0], counts[other.holder, default: 0])
            return ones == others ? one.number < other.number : ones > others
        }
        return victim.map { .closing($0.number) } ?? .refused
    }
}
