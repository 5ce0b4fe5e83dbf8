// Limits connections of the HTTP listener: in total, per client address, and in time. A scrape takes milliseconds, so
// the oldest connection is closed for a new one. Uses no clock and no sockets.

import DNSWire

struct ConnectionPlaces {
    /// Enough for the scrapers and browsers of one operator.
    static let maxConnections = 32
    static let maxPerAddress = 16
    /// Covers request and reply together, however slow the client is.
    static let lifetime: Duration = .seconds(10)

    private struct Place {
        let descriptor: Int32
        let address: Address
        let deadline: Instant
    }

    /// The oldest first.
    private var taken: [Place] = []

    var nextDeadline: Instant? { taken.first?.deadline }

    /// - Returns: the connection that must be closed for this one; its place is already free.
    mutating func take(_ descriptor: Int32, from address: Address, now: Instant) -> Int32? {
        let isCrowded = taken.count { $0.address == address } >= ConnectionPlaces.maxPerAddress
        let crowd = taken.firstIndex { isCrowded ? $0.address == address : true }
        let victim =
            isCrowded || taken.count >= ConnectionPlaces.maxConnections
            ? crowd.map { taken.remove(at: $0).descriptor } : nil
        taken.append(Place(descriptor: descriptor, address: address, deadline: now + ConnectionPlaces.lifetime))
        return victim
    }

    mutating func closed(_ descriptor: Int32) { taken.removeAll { $0.descriptor == descriptor } }

    /// Returns the connections over their lifetime; their places are already free.
    mutating func overdue(now: Instant) -> [Int32] {
        let late = taken.prefix { $0.deadline <= now }.map(\.descriptor)
        taken.removeFirst(late.count)
        return late
    }
}
