// The table of metrics: every number of `stats` outside of the sections, once, with its names and where it is read. All
// forms of `stats` are made of it, in the order of the Prometheus text. `OtherMetrics` has the rows of probes,
// evidence, networks and sets.

// Omitted in Prometheus: entries by network, which would walk the cache per scrape; responses by code and source
// together, where two families have fewer series than their product.

import Control
import DNSWire
import LinuxIO
import Resolver
import Serving
import Telemetry
import Upstreams

extension Metric {
    static let all: [Metric] =
        ofQueries + ofCache + .init(StatsReport.providerMetrics) + ofSystem + .init(StatsReport.nameserverMetrics)
        + ofProbes + .init(StatsReport.sourceMetrics) + ofEvidence + ofNetwork + .init(StatsReport.receiverMetrics)
        + ofSets + .init(StatsReport.fleetMetrics) + ofProcess

    private static let ofQueries: [Metric] = [
        .only("queries.total") { reading in Transport.allCases.reduce(0) { $0 + reading.clientQueries(over: $1) } },
        Metric(
            family: .counter("queries", "Client queries.") { report in
                Transport.allCases.map { MetricSample(report["queries.\($0.word)"], ("proto", $0.word)) }
            },
            parts: Transport.allCases.map { transport in
                .at("queries.\(transport.word)") { $0.clientQueries(over: transport) }
            }),
        .counter(
            "responses", "Responses, by source of the answer.", by: "source",
            [
                "cache": .cacheResponses, "stale": .staleResponses, "provider": .providerResponses,
                "system": .systemResponses, "local": .localResponses, "blocked": .blockedResponses,
                "fallback": .fallbackResponses, "refused": .refusedResponses, "failure": .failureResponses,
                "limited": .limitedResponses,
            ]),
        Metric(
            family: .counter("blocked_responses", "Responses to names that a rule or list blocks.") {
                $0[group: "blocked.rules"].samples(by: "rule") + $0[group: "blocked.lists"].samples(by: "list")
                    + [MetricSample($0["blocked.others"], ("rule", "(others)"))]
            },
            parts: [
                .at("blocked.rules") { $0.resolving.counted.blocked.rules },
                .at("blocked.lists") { $0.resolving.counted.blocked.lists },
                .at("blocked.others") { $0.resolving.counted.blocked.others },
            ]),
        .counter(
            "rcodes", as: "response_codes", "Responses, by response code.", by: "rcode",
            [
                "BADCOOKIE": .badCookie, "BADVERS": .badVersion, "FORMERR": .formatError, "NOERROR": .noError,
                "NOTIMP": .notImplemented, "NXDOMAIN": .noSuchName, "REFUSED": .refused, "SERVFAIL": .serverFailure,
                "other": .otherCode,
            ]),
        .counter(
            "dropped", "Queries dropped without a response, by reason.", by: "reason",
            [
                "gone": .droppedGone, "overload": .droppedOverload, "rate-limited": .droppedRateLimited,
                "reply": .droppedReply, "short": .droppedShort,
            ]),
        .gauge("inflight", "Queries waiting for an answer.") {
            Int($0.sum[.handedOver] - $0.resolving.counted.questionsTaken) + $0.resolving.clientsWaiting
        },
        .counter("unsent", as: "unsent_responses", "UDP responses that could not be sent because the socket was full.")
        { $0.sum[.unsentReplies] },
        .counter("udp_rcvbuf_errors", "Datagrams to the listen addresses that the kernel dropped.") {
            $0.threads.lostDatagrams
        },
        .gauge("tcp.open", as: "tcp_connections", "Open client connections.") { $0.resolving.streams.openConnections },
        .counter("tcp.refused", as: "tcp_connections_refused", "Client connections closed on arrival.") {
            $0.resolving.streams.refusedConnections
        },
        .counter("tcp.evicted", as: "tcp_connections_evicted", "Client connections closed to make room for new ones.") {
            $0.resolving.streams.evictedConnections
        },
        Metric(family: StatsReport.durationMetric, parts: []),
        .counter("stale", as: "stale_served", "Expired answers served, by cause.", by: "cause") { reading in
            byName { (cause: StaleCause) in reading.resolving.counted.staleCauses[cause] ?? 0 }
        },
        .counter(
            "last_known_good", "Doubts about denials of last known good answers, by step.", by: "step",
            [
                "begun": .at("last_known_good.begun") { $0.resolving.resolver.doubtCounts.begun },
                "believed": .at("last_known_good.believed") { $0.resolving.resolver.doubtCounts.believed },
                "given": .at("last_known_good.given") { $0.resolving.resolver.doubtCounts.given },
            ]),
    ]

    private static let ofCache: [Metric] = [
        .gauge("cache.entries", "Answers in the cache.") { $0.cached.entries },
        .gauge("cache.bytes", "Size of the cache.") { $0.cached.bytes },
        .gauge("cache.limit_bytes", "Maximum size of the cache.") { $0.cache.limitBytes },
        .counter("cache.hits", "Queries answered from the cache.") { $0.sum[.cacheHits] },
        .counter("cache.misses", "Queries not answered from the cache.") {
            $0.sum[.cacheMisses] - $0.returnedChecks
        },
        .counter("cache.insertions", "Answers inserted into the cache.") { $0.cached.insertions },
        .counter("cache.evictions", "Answers evicted from the full cache.") { $0.cached.evictions },
        .counter("shares.lookups_displaced", as: "lookups_displaced", "Lookups ended because there were too many.") {
            $0.resolving.resolver.displacedLookups
        },
        .counter(
            "requests_without_place", "Requests that gave up their place at a provider or got none in time, by state.",
            by: "was",
            [
                "running": .at("shares.requests_displaced") { $0.resolving.upstreams.providers.queue.displaced },
                "waiting": .at("shares.requests_expired") { $0.resolving.upstreams.providers.queue.expired },
            ]),
        .counter("prefetch.started", "Refreshes started before the answer expired.") {
            $0.resolving.resolver.refreshes.started
        },
        .counter(
            "prefetch", "Refreshes ended, by result.", by: "result",
            [
                "succeeded": .at("prefetch.succeeded") { $0.resolving.resolver.refreshes.succeeded },
                "failed": .at("prefetch.failed") { $0.resolving.resolver.refreshes.failed },
            ]),
        .counter("prefetch.used", as: "prefetch_hits", "Refreshed answers that were served to a client.") {
            $0.resolving.resolver.refreshes.used
        },
        .gauge("store.loaded", as: "store_loaded_entries", "Answers loaded from the store at startup.") {
            $0.stored.restoredEntries
        },
        .counter("store.written", as: "store_written_entries", "Answers written to the store.") {
            $0.stored.writtenEntries
        },
        .counter("store.batches", "Batches written to the store.") { $0.stored.batches },
        .counter("store.failures", "Batches not written to the store because of an error.") { $0.stored.failures },
        .counter("store.dropped", as: "store_dropped_entries", "Answers that were not written to the store.") {
            $0.stored.droppedEntries
        },
        .counter("store.refused_notes", "Notes refused because the store was full.") { $0.stored.refusedNotes },
    ]

    private static let ofSystem: [Metric] = [
        .counter("system.requests", "Queries to the system resolver.") {
            $0.resolving.upstreams.system.counts.requests
        },
        .counter("system.failures", "Queries to the system resolver that failed.") {
            $0.resolving.upstreams.system.counts.failures
        },
        .counter(
            "system.stood_in", "Lookups that the system resolver answered in place of the providers, by reason.",
            by: "reason"
        ) { reading in byName { (reason: SubstituteReason) in reading.resolving.resolver.substituteCount(for: reason) }
        },
        .counter("system.refused_exchanges", "Queries not sent because too many sockets to nameservers were open.") {
            $0.resolving.upstreams.system.counts.refusedExchanges
        },
        .counter(
            "upstream_rejected", "Received messages that match no outstanding query.", by: "reason",
            ["foreign": .at("system.foreign_replies") { $0.resolving.upstreams.system.counts.foreignReplies }]),
        .counter("system.returned_checks", "Checks for loops that a nameserver forwarded back to the daemon.") {
            $0.returnedChecks
        },
        Metric(
            family: .gauge(
                "system_servers", "Nameservers of the system resolver: asked, or excluded as a loop.", by: "state"
            ) { report in
                ["asked": "system.servers", "looping": "system.looping"].mapValues {
                    report.figures[$0]?.list.count ?? 0
                }
            },
            parts: [
                .at("system.servers") { $0.resolving.upstreams.system.servers.map(\.description) },
                .at("system.looping") { $0.resolving.upstreams.system.loopingServers.map(\.description) },
            ]),
        // The families of all sources have these.
        .only("system.divergences") { $0.evidence.divergences(of: .system) },
        .only("system.contradictions") { $0.resolving.resolver.contradictions(of: .system) },
        .only("system.trust") { $0.resolving.resolver.systemCredibility(now: $0.now) },
    ]

    private static let ofProcess: [Metric] = [
        .only("schema") { _ in 1 },
        Metric(
            family: .gauge("build_info", "Version of the daemon; always 1.") {
                [MetricSample(1, ("version", $0.figures["version"]?.text ?? ""))]
            }, parts: [.at("version") { _ in programVersion }]),
        .gauge("uptime_s", as: "uptime_seconds", "Time since startup.") {
            $0.start.at.duration(to: $0.now).wholeSeconds
        },
        .counter("pages.requests", as: "page_requests", "Requests answered by the HTTP listener.") {
            $0.pages?.counts.requests ?? 0
        },
        .counter(
            "pages.cut", as: "page_connections_cut",
            "HTTP listener connections closed because of the connection limit or a timeout."
        ) { $0.pages?.counts.cut ?? 0 },
        .gauge("files.faulty", "Files with names that are not in force as they are now.") { $0.lists.faulty },
        .counter(
            "log.dropped", as: "log_lines_dropped", "Log lines dropped because standard error was not read in time."
        ) { $0.droppedLogLines },
        .gauge(
            "process.settings_time_s", as: "config_last_reload_success_timestamp_seconds",
            "Time of the last successful load, since 1970."
        ) { $0.settingsSeconds },
        .gauge(
            "process.start_time_s", as: "process_start_time_seconds",
            "Start time of the process since unix epoch in seconds."
        ) { $0.start.atWall / 1000 },
        .gauge("process.rss_bytes", as: "process_resident_memory_bytes", "Resident memory size in bytes.") {
            $0.process.residentBytes
        },
        .gauge(
            "process.anon_bytes", as: "anonymous_memory_bytes", "Private memory of the process without mapped files."
        ) { $0.process.anonymousBytes },
        .gauge("process.open_fds", "Number of open file descriptors.") { $0.process.openDescriptors },
        .gauge("process.max_fds", "Maximum number of open file descriptors.") { $0.process.descriptorLimit },
        .gauge("process.threads", "Number of OS threads in the process.") { $0.process.threads },
    ]

    static func byName<Case: CaseIterable & RawRepresentable<String>>(
        _ count: (Case) -> UInt64
    ) -> [String: UInt64] {
        Dictionary(uniqueKeysWithValues: Case.allCases.map { ($0.rawValue, count($0)) })
    }
}
