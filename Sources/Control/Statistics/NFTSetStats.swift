// The counters of `stats` for nftables sets, and their metrics.

extension StatsReport {
    package struct NFTSets: Codable, Equatable, Sendable {
        /// Elements that were added or prolonged.
        package var added = 0
        /// Elements that nftables refused.
        package var failed = 0
        /// Elements that were not sent: the set or the helper was not ready, or a table was full.
        package var dropped = 0
        package var waiting = 0
        package var requests = 0
        /// Walks through the cache to send addresses that sets may lack.
        package var refills = 0
        /// Whether each set gets addresses: 1, otherwise 0.
        package var ready: [String: Int] = [:]

        package init() {}
    }
}

extension StatsReport.NFTSets {
    static let metrics: [MetricFamily<Self>] = [
        .gauge("nftset_ready", "1 if a set of nftables gets addresses, otherwise 0.", by: "set") { $0.ready },
        .counter(
            "nftset_elements", "Elements for sets of nftables, by result: added, failed or dropped.", by: "result"
        ) { ["added": $0.added, "failed": $0.failed, "dropped": $0.dropped] as KeyValuePairs },
        .gauge("nftset_waiting", "Elements that wait to be sent to httpdnsd-nftset.") { $0.waiting },
        .counter("nftset_requests", "Requests to httpdnsd-nftset.") { $0.requests },
        .counter("nftset_refills", "Walks through the cache to send what sets may lack.") { $0.refills },
    ]
}
