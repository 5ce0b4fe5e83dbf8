// Decides which connection of the control socket is closed for a new one when all places are taken. Unprivileged users
// never displace root or the daemon's user, and among themselves only the user with the most connections loses one.

/// A client's place. Places are shared by user, since one user opens any number of connections from any number of
/// processes.
struct ControlPlace: Equatable {
    /// Numbers clients in the order of their connections.
    let number: UInt64
    let userID: UInt32
    /// True if the user may run every command.
    let isTrusted: Bool
}

enum ControlPlaces {
    enum Admission: Equatable {
        case free
        /// The place with this number is closed first.
        case closing(UInt64)
        /// All places are held by users that the newcomer may not displace.
        case refused
    }

    /// Bound of simultaneous connections: operators and scrapers of one machine.
    static let max = 32

    /// Closes the oldest place of the user with the most. Idle clients must not lock out an operator, and streams may
    /// have no deadline, so that eviction by deadline would always hit the newest request instead of them.
    static func admission(of new: ControlPlace, to taken: [ControlPlace]) -> Admission {
        guard taken.count >= max else { return .free }
        let unprivileged = taken.filter { !$0.isTrusted }
        let candidates = unprivileged.isEmpty && new.isTrusted ? taken : unprivileged
        let counts = candidates.reduce(into: [new.userID: 1]) { $0[$1.userID, default: 0] += 1 }
        // The newcomer counts for its user, so that a user with fewer connections than the others displaces theirs.
        let victim = candidates.min { one, other in
            let (ones, others) = (counts[one.userID, default: 0], counts[other.userID, default: 0])
            return ones == others ? one.number < other.number : ones > others
        }
        return victim.map { .closing($0.number) } ?? .refused
    }
}
