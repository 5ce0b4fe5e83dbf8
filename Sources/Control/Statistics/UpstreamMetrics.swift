// Prometheus metrics of the sections of `stats`: upstreams and receivers; and histograms in figures. Sources are
// labelled with their names in the settings; "system" cannot be a provider's name.

// Omitted: the budget that remains, because its bucket refills continuously (`over-budget` is a state); connection
// resets (`provider_retries` counts their cost).

extension StatsReport {
    package static let durationMetric: MetricFamily<Self> = .histogram(
        "query_duration_seconds", "Time from query to response, by source.", by: "source"
    ) { $0.durations }

    package static let providerMetrics: [MetricFamily<Self>] =
        (Provider.metrics + Provider.connectionMetrics(of: "provider") + Provider.shadowMetrics
        + Provider.auditMetrics)
        .map { $0.each("provider") { $0.providers } }

    package static let nameserverMetrics: [MetricFamily<Self>] =
        (Provider.nameserverMetrics + Provider.connectionMetrics(of: "nameserver"))
        .map { $0.each("nameserver") { $0.nameservers } }

    package static let receiverMetrics: [MetricFamily<Self>] =
        Receiver.metrics.map { $0.each("receiver") { $0.notify } }

    package static let fleetMetrics: [MetricFamily<Self>] = Fleet.metrics.map { $0.of { $0.fleet } }

    package static let probeDurationMetric: MetricFamily<Self> = .histogram(
        "probe_duration_seconds", "Time from the first packet of a probe to its verdict."
    ) { $0.figures["probe.durations"].map(Histogram.init) }

    package static let recoveryMetric: MetricFamily<Self> = .histogram(
        "network_recovery_seconds", "Time from a usable route to the first fresh answer, by cause.", by: "cause"
    ) { $0.figures["network.recovery_ms"]?.members.mapValues(Recovery.init) }
}

extension StatsReport.Provider {
    fileprivate static let metrics: [MetricFamily<Self>] = [
        .gauge("provider_info", "Settings of a provider, as labels; always 1.") {
            [MetricSample(1, ("dialect", $0.dialect), ("proxy", $0.usesProxy ? "yes" : "no"))]
        },
        .gauge("provider_up", "0 if the provider is down or blocked, otherwise 1.") {
            ["down", "blocked", "unresolved"].contains($0.state) ? 0 : 1
        },
        .gauge("provider_state", "1 for the current state of a provider, 0 for other states.") { provider in
            StatsReport.Provider.states.map { MetricSample(provider.state == $0 ? 1 : 0, ("state", $0)) }
        },
        .gauge("provider_retry_seconds", "Time until a paused provider is used again.") { $0.retrySeconds },
        .gauge("provider_share_ratio", "Share of lookups that ask this provider first.") { $0.share },
        .gauge("provider_success_ratio", "Share of the last 64 requests to a provider that succeeded.") { $0.success },
        .counter("provider_requests_begun", "Requests started to a provider.") { $0.requests },
        .counter(
            "provider_requests", "Requests to a provider that ended, by result: success or kind of failure.",
            by: "result"
        ) { $0.results },
        .counter("provider_names", "Names in the requests to a provider.") { $0.names },
        .counter(
            "provider_failures", "Failures of a provider, for all or some of the names in a request, by kind.",
            by: "kind"
        ) { $0.failures },
        .counter("provider_blocks", "Answers of a provider that blocked their name.") { $0.blocks },
        .histogram("provider_duration_seconds", "Time from a request to a provider to its usable reply.") {
            $0.measuredDurations
        },
        .gauge("provider_billed_questions", "Billed questions of the current day and month (UTC), by cause.") {
            $0.billed?.samples
        },
        .gauge("provider_quota_used_ratio", "Used share of a provider's quota.") { $0.billed?.quotaShare },
        .gauge("provider_clock_offset_seconds", "Offset of a provider's clock from the local clock.") {
            Double($0.clockOffsetMilliseconds) / 1000
        },
    ]

    fileprivate static let shadowMetrics: [MetricFamily<Self>] = [
        .counter("provider_shadow_requests", "Requests to a shadow provider.") { $0.shadow?.asked },
        .counter("provider_shadow_answers", "Answers of a shadow provider, by result of the comparison.", by: "result")
        { $0.shadow?.results },
    ]

    fileprivate static let auditMetrics: [MetricFamily<Self>] = [
        .gauge("provider_audit_ratio", "Share of bad answers or late or failed replies, by finding and window.") {
            $0.audit?.samples { finding, share in share.share.map { MetricSample($0, ("finding", finding)) } }
        },
        .gauge("provider_audit_compared", "Names or requests that the shares are of, by finding and window.") {
            $0.audit?.samples { finding, share in MetricSample(share.all, ("finding", finding)) }
        },
        .gauge("provider_audit_connect_seconds", "Mean time to connect to addresses of the last day, by their source.")
        { provider in
            let day = provider.audit?.day
            let times = [("own", day?.connectMilliseconds), ("others", day?.othersConnectMilliseconds)]
            return times.compactMap { source, time in time.map { MetricSample($0 / 1000, ("source", source)) } }
        },
        .counter("provider_audit_comparisons", "Comparison questions of the audit.") { $0.audit?.comparisons },
        .gauge("provider_price", "Price of 1,000 questions, as in the settings.") { $0.audit?.price },
    ]

    fileprivate static let nameserverMetrics: [MetricFamily<Self>] = [
        .gauge("nameserver_up", "0 if the servers of a nameserver fail, otherwise 1.") { $0.state == "down" ? 0 : 1 },
        .gauge("nameserver_retry_seconds", "Time until a nameserver that fails counts as possibly back.") {
            $0.retrySeconds
        },
        .gauge("nameserver_success_ratio", "Share of the last 64 questions to a nameserver that were answered.") {
            $0.success
        },
        .counter("nameserver_requests_begun", "Questions sent to a nameserver.") { $0.requests },
        .counter(
            "nameserver_requests", "Questions to a nameserver that ended, by result: success or kind of failure.",
            by: "result"
        ) { $0.results },
        .histogram("nameserver_duration_seconds", "Time from a question to a nameserver to its reply.") {
            $0.measuredDurations
        },
    ]

    /// - Parameter kind: the kind of the upstreams.
    fileprivate static func connectionMetrics(of kind: String) -> [MetricFamily<Self>] {
        [
            .gauge("\(kind)_connections", "Open connections to a \(kind).", by: "state") {
                ["open": $0.connections.open]
            },
            .counter("\(kind)_connections_opened", "Connections opened to a \(kind).") { $0.connections.opened },
            .counter("\(kind)_connections_reused", "Requests to a \(kind) that reused a connection.") {
                $0.connections.reused
            },
            .counter("\(kind)_retries", "Requests to a \(kind) that failed on a reused connection and were repeated.") {
                $0.connections.retried
            },
        ]
    }
}

extension StatsReport {
    package static let sourceMetrics: [MetricFamily<Self>] = [
        .counter("source_divergence", "Divergences, by source of the mismatched address.") {
            $0.bySource("system.divergences") { $0.divergences }
        },
        .counter("source_contradiction", "Answers that contradict a rule's expect, by source.") {
            $0.bySource("system.contradictions") { $0.contradictions }
        },
        .gauge("source_trust_ratio", "Credibility of a source, from 0 to 1.") {
            $0.bySource("system.trust") { $0.trust }
        },
    ]

    /// A number of each provider and nameserver, and that of the system resolver.
    private func bySource(_ system: String, _ value: (Provider) -> some MetricValues) -> [MetricSample] {
        let upstreams = (self.providers + self.nameservers).map { ($0.name, value($0).samples(by: "")) }
        let all = upstreams + [("system", figures[system]?.samples(by: "") ?? [])]
        return all.flatMap { name, samples in samples.map { $0.with(("source", name)) } }
    }
}

extension StatsReport.Provider {
    fileprivate static let states = [
        "up", "down", "throttled", "blocked", "over-budget", "over-quota", "unmeasured", "unresolved",
    ]

    /// The durations; nil without measurements, so that the upstream does not appear to be the fastest.
    fileprivate var measuredDurations: StatsReport.Histogram? { durations.hasSome ? durations : nil }
}

extension StatsReport.Provider.Shadow {
    fileprivate var results: KeyValuePairs<String, Int> {
        ["same": same, "overlapping": overlapping, "different": different, "failed": failed]
    }
}

extension AuditedProvider {
    fileprivate func samples(_ sample: (String, AuditReport.Share) -> MetricSample?) -> [MetricSample] {
        [("day", day), ("week", week)].flatMap { window, numbers in
            numbers.shares.compactMap { sample($0.key, $0.value)?.with(("window", window)) }
        }
    }
}

extension StatsReport.Provider.Billed {
    fileprivate var samples: [MetricSample] {
        [("day", day), ("month", month)].flatMap { period, counts in
            counts.samples(by: "cause").map { $0.with(("period", period)) }
        }
    }
}

extension StatsReport.Histogram: MetricValues {
    package func samples(by label: String) -> [MetricSample] {
        var (atMost, total) = ([(bound: Double, count: Int)](), 0)
        for (microseconds, count) in zip(StatsReport.Histogram.boundsMicroseconds, counts) {
            total += count
            atMost.append((Double(microseconds) / 1e6, total))
        }
        let longer = counts.dropFirst(atMost.count).reduce(0, +)
        return .init(histogram: atMost, total: total + longer, sumSeconds: Double(sumMicroseconds) / 1e6)
    }
}

/// The times from a usable route to the first fresh answer, by upper bound in milliseconds.
private struct Recovery: MetricValues {
    let tree: StatsTree

    func samples(by label: String) -> [MetricSample] {
        let bounds = (tree["at_most"]?.members ?? [:]).compactMap { key, count in
            Int(key).map { (bound: Double($0) / 1000, count: count.number ?? 0) }
        }
        return .init(
            histogram: bounds.sorted { $0.bound < $1.bound }, total: tree["count"]?.number ?? 0,
            sumSeconds: Double(tree["sum"]?.number ?? 0) / 1000)
    }
}
