// The body of a POST to a receiver of `[[notify]]`. Receivers rely on every key: keys may be added, never changed.

package struct NotificationReport: Codable, Equatable, Sendable {
    package var schema = 1
    package var version = programVersion
    /// The name of the machine.
    package var host: String
    /// The ID of the POST: the same in every repetition of the POST, and different in every other POST.
    package var batch: String
    /// When this POST was signed, in seconds since 1970.
    package var sentSeconds: Int64
    /// Events for this receiver that were dropped since the start: the queue was full, or every try failed.
    package var dropped: Int
    /// The events in the order in which they happened; at least one.
    package var events: [Event]

    package init(host: String, batch: String, sentSeconds: Int64, dropped: Int, events: [Event]) {
        self.host = host
        self.batch = batch
        self.sentSeconds = sentSeconds
        self.dropped = dropped
        self.events = events
    }

    package enum CodingKeys: String, CodingKey {
        case schema, version, host, batch, dropped, events
        case sentSeconds = "sent_at"
    }

    package struct Event: Codable, Equatable, Sendable {
        package enum Kind: String, Codable, CaseIterable, Sendable {
            case evidence, outage, recovery
        }

        package let event: Kind
        /// The time in seconds since 1970.
        package let seconds: Int64
        /// The evidence as in `httpdnsctl evidence --json`; nil for other events.
        package private(set) var evidence: EvidenceReport?
        /// For an outage: the number of providers by their last failure.
        package private(set) var failures: [String: Int]?
        /// For an outage: whether nameservers of the system may answer instead.
        package private(set) var hasSystemResolver: Bool?
        /// For a recovery: the duration of the outage.
        package private(set) var outageSeconds: Int?

        package enum CodingKeys: String, CodingKey {
            case event, evidence, failures
            case seconds = "at"
            case hasSystemResolver = "system_resolver"
            case outageSeconds = "outage_s"
        }

        private init(_ event: Kind, seconds: Int64) {
            self.event = event
            self.seconds = seconds
        }

        package static func evidence(_ report: EvidenceReport) -> Event {
            var event = Event(.evidence, seconds: report.seconds)
            event.evidence = report
            return event
        }

        package static func outage(_ failures: [String: Int], hasSystemResolver: Bool, seconds: Int64) -> Event {
            var event = Event(.outage, seconds: seconds)
            event.failures = failures
            event.hasSystemResolver = hasSystemResolver
            return event
        }

        package static func recovery(outageSeconds: Int, seconds: Int64) -> Event {
            var event = Event(.recovery, seconds: seconds)
            event.outageSeconds = outageSeconds
            return event
        }
    }

    /// The body: one line of JSON with sorted keys, without its line feed.
    package var body: [UInt8] { Array(json(self).utf8.dropLast()) }
}
