// The counters of `stats` for receivers of `[[notify]]`, and their metrics.

extension StatsReport {
    package struct Receiver: NamedEntry, Codable, Equatable, Sendable {
        /// The name: "https://alerts.example", without path and query.
        package var name: String
        /// The state: "up" or "failing".
        package var state = "up"
        package var posts = 0
        /// POSTs that failed, by kind.
        package var failures: [String: Int] = [:]
        /// Events that wait, or are in a POST that is not accepted yet.
        package var waiting = 0
        /// Events that the receiver accepted.
        package var accepted = 0
        /// Events lost: the queue was full, or every try failed.
        package var dropped = 0

        package init(name: String) {
            self.name = name
        }
    }
}

extension StatsReport.Receiver {
    static let metrics: [MetricFamily<Self>] = [
        .gauge("notify_up", "0 if the last notification to a receiver failed, otherwise 1.") {
            $0.state == "up" ? 1 : 0
        },
        .counter("notify_posts", "Requests to a receiver of notifications.") { $0.posts },
        .counter("notify_failures", "Requests to a receiver that failed, by kind.", by: "kind") { $0.failures },
        .counter("notify_events", "Events for a receiver, by result: accepted or dropped.", by: "result") {
            ["accepted": $0.accepted, "dropped": $0.dropped]
        },
        .gauge("notify_waiting", "Events that wait for a receiver to accept them.") { $0.waiting },
    ]
}
