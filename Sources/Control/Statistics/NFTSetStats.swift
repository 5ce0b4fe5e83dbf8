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

extension MetricFamily {
    static let ofNFTSets: [MetricFamily] = [
        .gauge("nftset_ready", "1 if a set of nftables gets addresses, otherwise 0.") {
            $0.nftset.map { [MetricSample]($0.ready, by: "set") } ?? []
        },
        .counter("nftset_elements", "Elements for sets of nftables, by result: added, failed or dropped.") { report in
            guard let sets = report.nftset else { return [] }
            return [("added", sets.added), ("failed", sets.failed), ("dropped", sets.dropped)].map {
                MetricSample($0.1, ("result", $0.0))
            }
        },
        .gauge("nftset_waiting", "Elements that wait to be sent to httpdnsd-nftset.") {
            $0.nftset.map { [MetricSample($0.waiting)] } ?? []
        },
        .counter("nftset_requests", "Requests to httpdnsd-nftset.") {
            $0.nftset.map { [MetricSample($0.requests)] } ?? []
        },
        .counter("nftset_refills", "Walks through the cache to send what sets may lack.") {
            $0.nftset.map { [MetricSample($0.refills)] } ?? []
        },
    ]
}
