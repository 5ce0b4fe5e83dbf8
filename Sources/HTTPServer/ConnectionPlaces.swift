// Who may be connected: so many, so many from one address, and for so long. A scrape takes milliseconds, so whoever has
// been there longest makes room. Without clock and sockets.

package typealias Instant = ContinuousClock.Instant

struct ConnectionPlaces {
    /// Scrapers and browsers of one operator.
    static let maxConnections = 32
    static let maxPerAddress = 16
    /// For request and reply together, however slowly both go.
    static let lifetime: Duration = .seconds(10)

    private struct Place {
        let descriptor: Int32
        let address: [UInt8]
        let deadline: Instant
    }

    /// The oldest first.
    private var taken: [Place] = []

    var nextDeadline: Instant? { taken.first?.deadline }

    /// - Returns: the connection that has to go for this one; it has no place any more.
    mutating func take(_ descriptor: Int32, from address: [UInt8], now: Instant) -> Int32? {
        let isCrowded = taken.count { $0.address == address } >= ConnectionPlaces.maxPerAddress
        let crowd = taken.firstIndex { isCrowded ? $0.address == address : true }
        let victim =
            isCrowded || taken.count >= ConnectionPlaces.maxConnections
            ? crowd.map { taken.remove(at: $0).descriptor } : nil
        taken.append(Place(descriptor: descriptor, address: address, deadline: now + ConnectionPlaces.lifetime))
        return victim
    }

    mutating func closed(_ descriptor: Int32) { taken.removeAll { $0.descriptor == descriptor } }

    /// Those that have to go; they have no places any more.
    mutating func overdue(now: Instant) -> [Int32] {
        let late = taken.prefix { $0.deadline <= now }.map(\.descriptor)
        taken.removeFirst(late.count)
        return late
    }
}
