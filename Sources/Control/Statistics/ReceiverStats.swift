// The counters of `stats` for receivers of `[[notify]]`, and their metrics.

extension StatsReport {
    package struct Receiver: Codable, Equatable, Sendable {
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

extension MetricFamily {
    static let ofReceivers: [MetricFamily] = [
        .gauge("notify_up", "0 if the last notification to a receiver failed, otherwise 1.") {
            $0.notify.map { MetricSample($0.state == "up" ? 1 : 0, ("receiver", $0.name)) }
        },
        .counter("notify_posts", "Requests to a receiver of notifications.") {
            $0.notify.map { MetricSample($0.posts, ("receiver", $0.name)) }
        },
        .counter("notify_failures", "Requests to a receiver that failed, by kind.") {
            $0.notify.flatMap { [MetricSample]($0.failures, by: "kind", and: ("receiver", $0.name)) }
        },
        .counter("notify_events", "Events for a receiver, by result: accepted or dropped.") {
            $0.notify.flatMap { receiver in
                [("accepted", receiver.accepted), ("dropped", receiver.dropped)].map {
                    MetricSample($0.1, ("receiver", receiver.name), ("result", $0.0))
                }
            }
        },
        .gauge("notify_waiting", "Events that wait for a receiver to accept them.") {
            $0.notify.map { MetricSample($0.waiting, ("receiver", $0.name)) }
        },
    ]
}
