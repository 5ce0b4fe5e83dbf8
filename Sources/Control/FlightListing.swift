// Events of the flight recorder as one answer that is made piece by piece: a line for each, the oldest first.

package import Telemetry

package struct FlightListing: Sendable {
    private var list: PiecewiseList
    private let showsClients: Bool
    private let bootMicroseconds: Int64

    /// - Parameter bootMicroseconds: when the machine came up, since 1970.
    package init(wantsJSON: Bool, showsClients: Bool, bootMicroseconds: Int64) {
        list = PiecewiseList("events", wantsJSON: wantsJSON)
        self.showsClients = showsClients
        self.bootMicroseconds = bootMicroseconds
    }

    /// The next piece; empty for no events.
    package mutating func piece(of events: [FlightEvent], word: (FlightWord) -> String) -> String {
        let reports = events.map { event in
            FlightEventReport(event, bootMicroseconds: bootMicroseconds, showsClients: showsClients, word: word)
        }
        return list.piece(of: reports, text: \.line)
    }

    /// The last piece.
    package func end() -> String { list.end(text: "; \(counted(list.count, "event", "events"))\n") }
}

extension FlightFile {
    /// All of it, as `recorder dump` would have shown it, with a line before that says what it is.
    package func text(asJSON: Bool, showsClients: Bool) -> String {
        var listing = FlightListing(
            wantsJSON: asJSON, showsClients: showsClients, bootMicroseconds: bootMicroseconds)
        let end = signal.map { "when signal \($0) ended it" } ?? "while it ran"
        let head = asJSON ? "" : "; written by httpdnsd \(programVersion) \(end)\n"
        return head + listing.piece(of: events) { self[$0] } + listing.end()
    }
}
