// Iterates over the flight recorder as a paged answer: each page is produced after the previous one has been sent.
// Events overwritten meanwhile are left out.

import Control
import LinuxIO
import Telemetry

struct FlightPieces: IteratorProtocol {
    /// An event takes some microseconds: one page must not delay other answers by more than 1 ms.
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
