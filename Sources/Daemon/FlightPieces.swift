// What the flight recorder holds as an answer in pieces: each is made when the one before has been sent, and what is
// replaced meanwhile is left out.

import Control
import LinuxIO
import Telemetry

struct FlightPieces: IteratorProtocol {
    /// Some microseconds each: a piece must delay nobody's answer by more than a millisecond.
    private static let maxEvents = 100

    private let records: FlightRecords
    private var walk: FlightWalk
    private var listing: FlightListing
    private var hasEnded = false

    init(of records: FlightRecords, _ listing: FlightListing) {
        self.records = records
        self.listing = listing
        walk = FlightWalk(records, fromOldest: true)
    }

    mutating func next() -> String? {
        guard !hasEnded else { return nil }
        var events: [FlightEvent] = []
        while events.count < FlightPieces.maxEvents, let event = walk.next() { events.append(event) }
        let piece = listing.piece(of: events) { records.words[$0] }
        hasEnded = events.isEmpty
        return hasEnded ? piece + listing.end() : piece
    }
}
