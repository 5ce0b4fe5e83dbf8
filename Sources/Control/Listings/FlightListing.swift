// Flight recorder events as one answer, rendered in pieces: one line per event, the oldest first.

package import Telemetry

package struct FlightListing: Sendable {
    private var list: PagedListing
    private let showsClients: Bool
    private let bootMicroseconds: Int64

    /// - Parameter bootMicroseconds: when the machine booted, since 1970.
    package init(wantsJSON: Bool, showsClients: Bool, bootMicroseconds: Int64) {
        list = PagedListing("events", wantsJSON: wantsJSON)
        self.showsClients = showsClients
        self.bootMicroseconds = bootMicroseconds
    }

    /// Returns the next piece; empty if there are no events.
    package mutating func piece(of events: [FlightEvent], word: (FlightWord) -> String) -> String {
        let reports = events.map { event in
            FlightEventReport(event, bootMicroseconds: bootMicroseconds, showsClients: showsClients, word: word)
        }
        return list.piece(of: reports, text: \.line)
    }

    /// Returns the last piece.
    package func end() -> String { list.end(text: "; \(counted(list.count, "event", "events"))\n") }
}

extension FlightFile {
    /// Renders the whole file as `recorder dump` does, after a line that describes the file.
    package func text(asJSON: Bool, showsClients: Bool) -> String {
        var listing = FlightListing(
            wantsJSON: asJSON, showsClients: showsClients, bootMicroseconds: bootMicroseconds)
        let end = signal.map { "at its end by signal \($0)" } ?? "while running"
        let head = asJSON ? "" : "; written by httpdnsd \(programVersion) \(end)\n"
        return head + listing.piece(of: events) { self[$0] } + listing.end()
    }
}
