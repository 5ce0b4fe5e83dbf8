// Limits connections of the HTTP listener: in total, per holder, and in time. A scrape takes milliseconds, so an old
// connection is closed for a new one. Uses no clock and no sockets.

package import DNSWire
import LinuxIO

/// Where a connection comes from.
package struct PageClient: Sendable {
    let holder: ConnectionHolder
    let isTrusted: Bool
    let isOnThisMachine: Bool

    /// - Parameters:
    ///   - userID: the user of the client's process on this machine; nil: not known.
    ///   - isTrusted: whether the user may run every command of the control socket.
    package init(_ address: Address, userID: UInt32?, isTrusted: Bool) {
        holder = ConnectionHolder(address, userID: userID)
        self.isTrusted = isTrusted
        isOnThisMachine = address.isLoopback
    }
}

struct ConnectionPlaces {
    static let maxPerHolder = 16
    /// Time limit of a connection, which covers request and reply together, however slow the client is.
    static let lifetime: Duration = .seconds(10)

    private struct Place {
        let descriptor: Int32
        let held: HeldConnection
        let deadline: Instant
    }

    enum Admission: Equatable {
        case free
        /// The connection that must be closed for this one; its place is already free.
        case closing(Int32)
        case refused
    }

    /// The taken places, the oldest first.
    private var taken: [Place] = []
    private var admitted: UInt64 = 0

    var nextDeadline: Instant? { taken.first?.deadline }

    mutating func take(_ descriptor: Int32, from client: PageClient, now: Instant) -> Admission {
        let held = HeldConnection(number: admitted, holder: client.holder, isTrusted: client.isTrusted)
        let admission = free(held)
        if admission != .refused {
            admitted += 1
            taken.append(Place(descriptor: descriptor, held: held, deadline: now + ConnectionPlaces.lifetime))
        }
        return admission
    }

    private mutating func free(_ new: HeldConnection) -> Admission {
        let own = taken.filter { $0.held.holder == new.holder }
        if own.count >= ConnectionPlaces.maxPerHolder { return close(own[0].held.number) }
        return switch ConnectionShares.admission(of: new, to: taken.map(\.held)) {
        case .free: .free
        case .closing(let number): close(number)
        case .refused: .refused
        }
    }

    private mutating func close(_ number: UInt64) -> Admission {
        taken.firstIndex { $0.held.number == number }.map { .closing(taken.remove(at: $0).descriptor) } ?? .free
    }

    mutating func closed(_ descriptor: Int32) { taken.removeAll { $0.descriptor == descriptor } }

    /// Returns the connections over their lifetime; their places are already free.
    mutating func overdue(now: Instant) -> [Int32] {
        let late = taken.prefix { $0.deadline <= now }.map(\.descriptor)
        taken.removeFirst(late.count)
        return late
    }
}
