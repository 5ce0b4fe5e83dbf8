// Prometheus metrics of clients, the cache and the process. A test checks that every number of `stats` is in one of the
// metric tables.

// Omitted: entries by network, which would walk the cache per scrape; responses by code and source together, where two
// families have fewer series than their product.

extension MetricFamily {
    static let ofServing: [MetricFamily] = [
        .counter("queries", "Client queries.") {
            [MetricSample($0.queries.udp, ("proto", "udp")), MetricSample($0.queries.tcp, ("proto", "tcp"))]
        },
        .counter("responses", "Responses, by source of the answer.") { report in
            report.responses.bySource.map { MetricSample($0.count, ("source", $0.source)) }
        },
        .counter("blocked_responses", "Responses to names that a rule or list blocks.") { report in
            [MetricSample](report.blocked.rules, by: "rule") + .init(report.blocked.lists, by: "list")
                + [MetricSample(report.blocked.others, ("rule", "(others)"))]
        },
        .counter("response_codes", "Responses, by response code.") { .init($0.rcodes, by: "rcode") },
        .counter("dropped", "Queries dropped without a response, by reason.") { .init($0.dropped, by: "reason") },
        .gauge("inflight", "Queries waiting for an answer.") { [MetricSample($0.inflight)] },
        .counter("unsent_responses", "UDP responses that could not be sent because the socket was full.") {
            [MetricSample($0.unsent)]
        },
        .counter("udp_rcvbuf_errors", "Datagrams to the listen addresses that the kernel dropped.") {
            [MetricSample($0.udpReceiveErrors)]
        },
        .gauge("tcp_connections", "Open client connections.") { [MetricSample($0.connections.open)] },
        .counter("tcp_connections_refused", "Client connections closed on arrival.") {
            [MetricSample($0.connections.refused)]
        },
        .counter("tcp_connections_evicted", "Client connections closed to make room for new ones.") {
            [MetricSample($0.connections.evicted)]
        },
        .histogram("query_duration_seconds", "Time from query to response, by source.") {
            $0.durations.sorted { $0.key < $1.key }.flatMap { source, durations in
                durations.samples(("source", source))
            }
        },
        .counter("stale_served", "Expired answers served, by cause.") { .init($0.stale, by: "cause") },
    ]

    static let ofCache: [MetricFamily] = [
        .gauge("cache_entries", "Answers in the cache.") { [MetricSample($0.cache.entries)] },
        .gauge("cache_bytes", "Size of the cache.") { [MetricSample($0.cache.bytes)] },
        .gauge("cache_limit_bytes", "Maximum size of the cache.") { [MetricSample($0.cache.limitBytes)] },
        .counter("cache_hits", "Queries answered from the cache.") { [MetricSample($0.cache.hits)] },
        .counter("cache_misses", "Queries not answered from the cache.") { [MetricSample($0.cache.misses)] },
        .counter("cache_insertions", "Answers inserted into the cache.") { [MetricSample($0.cache.insertions)] },
        .counter("cache_evictions", "Answers evicted from the full cache.") { [MetricSample($0.cache.evictions)] },
        .counter("lookups_displaced", "Lookups ended because there were too many.") {
            [MetricSample($0.shares.lookupsDisplaced)]
        },
        .counter(
            "requests_without_place", "Requests that gave up their place at a provider or got none in time, by state."
        ) {
            [
                MetricSample($0.shares.requestsDisplaced, ("was", "running")),
                MetricSample($0.shares.requestsExpired, ("was", "waiting")),
            ]
        },
        .counter("prefetch_started", "Refreshes started before the answer expired.") {
            [MetricSample($0.prefetch.started)]
        },
        .counter("prefetch", "Refreshes ended, by result.") {
            [
                MetricSample($0.prefetch.succeeded, ("result", "succeeded")),
                MetricSample($0.prefetch.failed, ("result", "failed")),
            ]
        },
        .counter("prefetch_hits", "Refreshed answers that were served to a client.") {
            [MetricSample($0.prefetch.used)]
        },
        .gauge("store_loaded_entries", "Answers loaded from the store at startup.") {
            [MetricSample($0.store.loaded)]
        },
        .counter("store_written_entries", "Answers written to the store.") {
            [MetricSample($0.store.written)]
        },
        .counter("store_batches", "Batches written to the store.") { [MetricSample($0.store.batches)] },
        .counter("store_failures", "Batches not written to the store because of an error.") {
            [MetricSample($0.store.failures)]
        },
        .counter("store_dropped_entries", "Answers that were not written to the store.") {
            [MetricSample($0.store.dropped)]
        },
        .counter("store_refused_notes", "Notes refused because the store was full.") {
            [MetricSample($0.store.refusedNotes)]
        },
    ]

    static let ofProcess: [MetricFamily] = [
        .gauge("build_info", "Version of the daemon; always 1.") { [MetricSample(1, ("version", $0.version))] },
        .gauge("uptime_seconds", "Time since startup.") { [MetricSample($0.uptimeSeconds)] },
        .counter("page_requests", "Requests answered by the HTTP listener.") {
            [MetricSample($0.pages.requests)]
        },
        .counter(
            "page_connections_cut", "HTTP listener connections closed because of the connection limit or a timeout."
        ) {
            [MetricSample($0.pages.cut)]
        },
        .gauge("files_faulty", "Files with names that are not in force as they are now.") {
            [MetricSample($0.files.faulty)]
        },
        .counter("log_lines_dropped", "Log lines dropped because standard error was not read in time.") {
            [MetricSample($0.log.dropped)]
        },
        .gauge("config_last_reload_success_timestamp_seconds", "Time of the last successful load, since 1970.") {
            [MetricSample($0.process.settingsSeconds)]
        },
        .ofAnyProgram("process_start_time_seconds", "Start time of the process since unix epoch in seconds.") {
            [MetricSample($0.process.startSeconds)]
        },
        .ofAnyProgram("process_resident_memory_bytes", "Resident memory size in bytes.") {
            [MetricSample($0.process.residentBytes)]
        },
        .gauge("anonymous_memory_bytes", "Private memory of the process without mapped files.") {
            [MetricSample($0.process.anonymousBytes)]
        },
        .ofAnyProgram("process_open_fds", "Number of open file descriptors.") {
            [MetricSample($0.process.openDescriptors)]
        },
        .ofAnyProgram("process_max_fds", "Maximum number of open file descriptors.") {
            [MetricSample($0.process.descriptorLimit)]
        },
        .ofAnyProgram("process_threads", "Number of OS threads in the process.") { [MetricSample($0.process.threads)] },
    ]

    /// Standard process metrics, with the names and help that all exporters use.
    private static func ofAnyProgram(
        _ name: String, _ help: String, _ samples: @escaping @Sendable (StatsReport) -> [MetricSample]
    ) -> MetricFamily {
        MetricFamily(name: name, kind: .gauge, help: help, samples: samples)
    }
}

extension StatsReport.Responses {
    fileprivate var bySource: [(source: String, count: Int)] {
        [
            ("cache", cache), ("stale", stale), ("provider", provider), ("system", system), ("local", local),
            ("blocked", blocked), ("fallback", fallback), ("refused", refused), ("failure", failure),
            ("limited", limited),
        ]
    }
}

extension StatsReport.Histogram {
    func samples(_ labels: (name: String, value: String)...) -> [MetricSample] {
        var (atMost, total) = ([(bound: Double, count: Int)](), 0)
        for (microseconds, count) in zip(StatsReport.Histogram.boundsMicroseconds, counts) {
            total += count
            atMost.append((Double(microseconds) / 1e6, total))
        }
        let longer = counts.dropFirst(atMost.count).reduce(0, +)
        return .init(
            histogram: atMost, total: total + longer, sumSeconds: Double(sumMicroseconds) / 1e6, labels)
    }
}
