// The text of a file of the flight recorder, as `recorder read` shows it.

package import Telemetry

extension FlightFile {
    /// Renders the whole file as `recorder dump` does, after a line that describes the file.
    package func text(asJSON: Bool, showsClients: Bool) -> String {
        var listing = Listing<FlightEventReport>(wantsJSON: asJSON)
        let end = signal.map { "at its end by signal \($0)" } ?? "while running"
        let head = asJSON ? "" : "; written by httpdnsd \(programVersion) \(end)\n"
        let reports = events.map { event in
            FlightEventReport(event, bootMicroseconds: bootMicroseconds, showsClients: showsClients) { self[$0] }
        }
        return head + listing.page(of: reports) + listing.end()
    }
}
