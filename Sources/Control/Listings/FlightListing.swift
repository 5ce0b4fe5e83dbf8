// Flight recorder events as one answer, rendered page by page: one line per event, the oldest first.

package import Telemetry

package struct FlightListing: Listing {
    private var list: PagedListing

    private let scope: FlightScope

    /// - Parameter scope: the setting of the daemon; the end says if it isn't all.
    package init(wantsJSON: Bool, scope: FlightScope = .all) {
        list = PagedListing("events", wantsJSON: wantsJSON)
        self.scope = scope
    }

    package mutating func page(of events: [FlightEventReport]) -> String { list.page(of: events, text: \.line) }

    package func end() -> String {
        let count = counted(list.count, "event", "events")
        return switch scope {
        case .all: list.end(text: "; \(count)\n")
        case .failures:
            list.end(
                text: "; \(count); only failed queries are recorded ([log] recorder)\n",
                member: #""recorder":"failures""#)
        case .off:
            list.end(text: "; \(count); the flight recorder is off ([log] recorder)\n", member: #""recorder":"off""#)
        }
    }
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
