// The contents of the flight recorder: one ring per thread, and the word table of their events.

package import DNSWire
import Synchronization

package final class FlightRecords: Sendable {
    /// The rings of all threads; the last one is the main thread's.
    package let rings: [FlightRing]
    package let words = FlightStrings()

    package init(servingThreads: Int) {
        rings = (0...servingThreads).map { _ in FlightRing() }
    }

    package var ofMainThread: FlightRing { rings[rings.count - 1] }

    package var scope: FlightScope { ofMainThread.scope.load(ordering: .relaxed) }

    /// Sets which events are recorded. Each thread obeys from its next event on.
    package func setScope(_ scope: FlightScope) {
        for ring in rings { ring.scope.store(scope, ordering: .relaxed) }
    }

    /// Returns the newest events, oldest first.
    package func latest(_ count: Int) -> [FlightEvent] {
        latest(count, within: FlightRing.capacity) { ring, number in ring.event(number) }
    }

    /// Number of events per ring that are searched for a name, so that the cost of `explain` does not depend on the
    /// load.
    static let maxSearched = 4096

    /// Returns the newest events about a name, oldest first, if they are among the last `maxSearched` of their ring.
    package func latest(_ count: Int, about name: Name) -> [FlightEvent] {
        let sketch = FlightRing.NameSketch(name)
        return latest(count, within: FlightRecords.maxSearched) { ring, number in
            guard ring.mayBe(number, about: sketch), let event = ring.event(number), event.name == name else {
                return nil
            }
            return event
        }
    }

    private func latest(
        _ count: Int, within limit: Int, _ event: (FlightRing, UInt64) -> FlightEvent?
    ) -> [FlightEvent] {
        let found = rings.flatMap { ring in
            var events: [FlightEvent] = []
            let end = ring.count
            var number = end
            while number > 0, end - number < UInt64(limit), events.count < count {
                number -= 1
                if let event = event(ring, number) { events.append(event) }
            }
            return events.reversed()
        }
        // Events with equal times keep their order, because the standard library's sort is stable.
        return found.sorted { $0.nanoseconds < $1.nanoseconds }.suffix(count)
    }
}

/// Iterates over the events of all rings by time. Counts the events that were replaced before they were read.
package struct FlightWalk: Sendable {
    private let records: FlightRecords
    private let ofQueries: Bool
    private var places: [Place]
    private(set) var missed: UInt64 = 0
    private var missedBefore: UInt64 = 0

    private struct Place {
        var next: UInt64
        /// The limit of the iteration, so that it terminates.
        var end: UInt64
        var event: FlightEvent?
    }

    /// - Parameters:
    ///   - fromOldest: starts at the oldest event; if false, at events that are recorded later, after `extend`.
    ///   - ofQueries: only events that end a query are returned and counted.
    package init(_ records: FlightRecords, fromOldest: Bool, ofQueries: Bool = false) {
        self.records = records
        self.ofQueries = ofQueries
        places = records.rings.map { ring in
            let count = ring.count
            let oldest = count - min(count, UInt64(FlightRing.capacity))
            return Place(next: fromOldest ? oldest : count, end: count)
        }
    }

    /// Moves the end of the iteration to the newest events.
    package mutating func extend() {
        for index in places.indices { places[index].end = records.rings[index].count }
    }

    /// Skips all remaining events.
    ///
    /// - Returns: how many events were not returned since the last call, including missed ones. Replaced events count,
    ///   because their kind is unknown.
    package mutating func skip() -> UInt64 {
        var skipped = missed - missedBefore
        missedBefore = missed
        for index in places.indices {
            skipped += left(index) + (places[index].event == nil ? 0 : 1)
            places[index].next = places[index].end
            places[index].event = nil
        }
        return skipped
    }

    /// Returns the oldest remaining event; nil if there is none at present.
    package mutating func next() -> FlightEvent? {
        var first: Int?
        for index in places.indices {
            if places[index].event == nil { advance(index) }
            guard let event = places[index].event else { continue }
            if let known = first, let other = places[known].event, other.nanoseconds <= event.nanoseconds { continue }
            first = index
        }
        guard let first else { return nil }
        defer { places[first].event = nil }
        return places[first].event
    }

    private func left(_ index: Int) -> UInt64 {
        let (ring, next, end) = (records.rings[index], places[index].next, places[index].end)
        guard ofQueries else { return end - next }
        let oldest = min(max(next, end - min(end, UInt64(FlightRing.capacity))), end)
        return (oldest..<end).reduce(oldest - next) { $0 + (ring.endsQuery($1) ? 1 : 0) }
    }

    private mutating func advance(_ index: Int) {
        let ring = records.rings[index]
        while places[index].next < places[index].end {
            let count = ring.count
            let oldest = count - min(count, UInt64(FlightRing.capacity))
            if places[index].next < oldest {
                let reached = min(oldest, places[index].end)
                missed += reached - places[index].next
                places[index].next = reached
                continue
            }
            places[index].next += 1
            guard !ofQueries || ring.endsQuery(places[index].next - 1) else { continue }
            places[index].event = ring.event(places[index].next - 1)
            if places[index].event != nil { return }
            missed += 1
        }
    }
}
