// Flight recorder events as one answer, rendered page by page: one line per event, the oldest first.

package import Telemetry

package struct FlightListing: Listing {
    private var list: PagedListing

    package init(wantsJSON: Bool) {
        list = PagedListing("events", wantsJSON: wantsJSON)
    }

    package mutating func page(of events: [FlightEventReport]) -> String { list.page(of: events, text: \.line) }

    package func end() -> String { list.end(text: "; \(counted(list.count, "event", "events"))\n") }
}

extension FlightFile {
    /// Renders the whole file as `recorder dump` does, after a line that describes the file.
    package func text(asJSON: Bool, showsClients: Bool) -> String {
        var listing = FlightListing(wantsJSON: asJSON)
        let end = signal.map { "at its end by signal \($0)" } ?? "while running"
        let head = asJSON ? "" : "; written by httpdnsd \(programVersion) \(end)\n"
        let reports = events.map { event in
            FlightEventReport(event, bootMicroseconds: bootMicroseconds, showsClients: showsClients) { self[$0] }
        }
        return head + listing.page(of: reports) + listing.end()
    }
}
