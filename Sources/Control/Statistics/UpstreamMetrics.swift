// Prometheus metrics of providers, the system resolver, probes and networks. Sources are labelled with their names in
// the settings; "system" cannot be a provider's name.

// Omitted: the budget that remains, because its bucket refills continuously (`over-budget` is a state); connection
// resets, which libcurl does not tell from other ends (`provider_retries` counts their cost).

extension MetricFamily {
    private static let states = [
        "up", "down", "throttled", "blocked", "over-budget", "over-quota", "unmeasured", "unresolved",
    ]

    static let ofProviders: [MetricFamily] = [
        .gauge("provider_info", "Settings of a provider, as labels; always 1.") {
            $0.providers.map {
                MetricSample(
                    1, ("provider", $0.name), ("dialect", $0.dialect), ("proxy", $0.usesProxy ? "yes" : "no"))
            }
        },
        .gauge("provider_up", "0 if the provider is down or blocked, otherwise 1.") {
            $0.providers.map {
                MetricSample(["down", "blocked", "unresolved"].contains($0.state) ? 0 : 1, ("provider", $0.name))
            }
        },
        .gauge("provider_state", "1 for the current state of a provider, 0 for other states.") {
            $0.providers.flatMap { provider in
                states.map { MetricSample(provider.state == $0 ? 1 : 0, ("provider", provider.name), ("state", $0)) }
            }
        },
        .gauge("provider_retry_seconds", "Time until a paused provider is used again.") {
            $0.providers.compactMap { provider in
                provider.retrySeconds.map { MetricSample($0, ("provider", provider.name)) }
            }
        },
        .gauge("provider_share_ratio", "Share of lookups that ask this provider first.") {
            $0.providers.compactMap { provider in provider.share.map { MetricSample($0, ("provider", provider.name)) } }
        },
        .gauge("provider_success_ratio", "Share of the last 64 requests to a provider that succeeded.") {
            $0.providers.compactMap { provider in
                provider.success.map { MetricSample($0, ("provider", provider.name)) }
            }
        },
        .counter("provider_requests_begun", "Requests started to a provider.") {
            $0.providers.map { MetricSample($0.requests, ("provider", $0.name)) }
        },
        .counter("provider_requests", "Requests to a provider that ended, by result: success or kind of failure.") {
            $0.providers.flatMap { [MetricSample]($0.results, by: "result", and: ("provider", $0.name)) }
        },
        .counter("provider_names", "Names in the requests to a provider.") {
            $0.providers.map { MetricSample($0.names, ("provider", $0.name)) }
        },
        .counter("provider_failures", "Failures of a provider, for all or some of the names in a request, by kind.") {
            $0.providers.flatMap { [MetricSample]($0.failures, by: "kind", and: ("provider", $0.name)) }
        },
        .histogram("provider_duration_seconds", "Time from a request to a provider to its usable reply.") {
            // A provider without measurements has no histogram, so that it does not appear to be the fastest.
            $0.providers.filter(\.durations.hasSome).flatMap { $0.durations.samples(("provider", $0.name)) }
        },
        .gauge("provider_billed_questions", "Billed questions of the current day and month (UTC), by cause.") {
            $0.providers.flatMap { $0.billed?.samples($0.name) ?? [] }
        },
        .gauge("provider_quota_used_ratio", "Used share of a provider's quota.") {
            $0.providers.compactMap { provider in
                provider.billed?.quotaShare.map { MetricSample($0, ("provider", provider.name)) }
            }
        },
        .gauge("provider_clock_offset_seconds", "Offset of a provider's clock from the local clock.") {
            $0.providers.map { MetricSample(Double($0.clockOffsetMilliseconds) / 1000, ("provider", $0.name)) }
        },
    ]

    static let ofProviderConnections = connections(to: "provider") { $0.providers.map { ($0.name, $0.connections) } }

    /// - Parameter kind: the kind of the upstreams; also the label of their names.
    static func connections(
        to kind: String,
        _ upstreams: @escaping @Sendable (StatsReport) -> [(name: String, StatsReport.Provider.Connections)]
    ) -> [MetricFamily] {
        [
            .gauge("\(kind)_connections", "Open connections to a \(kind).") {
                upstreams($0).map { MetricSample($1.open, (kind, $0), ("state", "open")) }
            },
            .counter("\(kind)_connections_opened", "Connections opened to a \(kind).") {
                upstreams($0).map { MetricSample($1.opened, (kind, $0)) }
            },
            .counter("\(kind)_connections_reused", "Requests to a \(kind) that reused a connection.") {
                upstreams($0).map { MetricSample($1.reused, (kind, $0)) }
            },
            .counter("\(kind)_retries", "Requests to a \(kind) that failed on a reused connection and were repeated.") {
                upstreams($0).map { MetricSample($1.retried, (kind, $0)) }
            },
        ]
    }

    static let ofTransfers: [MetricFamily] = [
        .counter("provider_shadow_requests", "Requests to a shadow provider.") {
            $0.providers.compactMap { provider in
                provider.shadow.map { MetricSample($0.asked, ("provider", provider.name)) }
            }
        },
        .counter("provider_shadow_answers", "Answers of a shadow provider, by result of the comparison.") {
            $0.providers.flatMap { provider in provider.shadow?.samples(provider.name) ?? [] }
        },
        .counter("system_requests", "Queries to the system resolver.") { [MetricSample($0.system.requests)] },
        .counter("system_failures", "Queries to the system resolver that failed.") {
            [MetricSample($0.system.failures)]
        },
        .counter("system_stood_in", "Lookups that the system resolver answered in place of the providers, by reason.") {
            .init($0.system.stoodIn, by: "reason")
        },
        .counter("system_refused_exchanges", "Queries not sent because too many sockets to nameservers were open.") {
            [MetricSample($0.system.refusedExchanges)]
        },
        .counter("upstream_rejected", "Received messages that match no outstanding query.") {
            [MetricSample($0.system.foreignReplies, ("reason", "foreign"))]
        },
        .counter("system_returned_checks", "Checks for loops that a nameserver forwarded back to the daemon.") {
            [MetricSample($0.system.returnedChecks)]
        },
        .gauge("system_servers", "Nameservers of the system resolver: asked, or excluded as a loop.") {
            [
                MetricSample($0.system.servers.count, ("state", "asked")),
                MetricSample($0.system.looping.count, ("state", "looping")),
            ]
        },
    ]

    static let ofVerification: [MetricFamily] = [
        .counter("probe", "Probes that ended, by verdict.") { .init($0.probe.verdicts, by: "verdict") },
        .histogram("probe_duration_seconds", "Time from the first packet of a probe to its verdict.") {
            $0.probe.durations.samples()
        },
        .gauge("probes_running", "Probes running.") { [MetricSample($0.probe.running)] },
        .gauge("probes_waiting", "Due probes waiting to start.") { [MetricSample($0.probe.waiting)] },
        .gauge("probes_dropped", "Addresses left out of answers as unreachable.") { [MetricSample($0.probe.dropped)] },
        .counter("probes_skipped", "Due probes that were not started, by reason.") {
            .init($0.probe.skipped, by: "reason")
        },
        .counter("probes_lost", "Probes that ended without a result.") { [MetricSample($0.probe.lost)] },
        .counter("probe_forgotten_names", "Names evicted from the full table of verdicts.") {
            [MetricSample($0.probe.forgottenNames)]
        },
        .counter("probe_reports", "Reports of failed addresses, by result.") {
            [
                MetricSample($0.probe.reports.accepted, ("result", "accepted")),
                MetricSample($0.probe.reports.refused, ("result", "refused")),
            ]
        },
        .gauge("quarantined_addresses", "Addresses left out of answers as mismatched.") {
            [MetricSample($0.probe.quarantined)]
        },
        .counter("divergence", "Mismatched addresses of a source while another source's address was verified.") {
            [MetricSample($0.probe.divergences)]
        },
        .counter("source_divergence", "Divergences, by source of the mismatched address.") {
            ($0.providers + $0.nameservers).map { MetricSample($0.divergences, ("source", $0.name)) }
                + [MetricSample($0.system.divergences, ("source", "system"))]
        },
        .counter("source_contradiction", "Answers that contradict a rule's expect, by source.") {
            ($0.providers + $0.nameservers).map { MetricSample($0.contradictions, ("source", $0.name)) }
                + [MetricSample($0.system.contradictions, ("source", "system"))]
        },
        .gauge("source_trust_ratio", "Credibility of a source, from 0 to 1.") {
            ($0.providers + $0.nameservers).map { MetricSample($0.trust, ("source", $0.name)) }
                + [MetricSample($0.system.trust, ("source", "system"))]
        },
        .gauge("evidence_entries", "Divergences stored as evidence.") { [MetricSample($0.probe.evidence)] },
        .gauge("evidence_broken_notes", "Evidence notes of the store that could not be read.") {
            [MetricSample($0.probe.brokenEvidence)]
        },
    ]

    static let ofNetworks: [MetricFamily] = [
        .gauge("network_info", "The network in use; always 1.") {
            $0.network.id.isEmpty ? [] : [MetricSample(1, ("id", $0.network.id), ("kind", $0.network.kind))]
        },
        .counter("network_changes", "Changes of the network, by cause.") { .init($0.network.causes, by: "cause") },
        .gauge("network_last_recovery_seconds", "Time from a usable route to the first fresh answer, latest.") {
            let milliseconds = $0.network.lastRecoveryMilliseconds
            return milliseconds > 0 ? [MetricSample(Double(milliseconds) / 1000)] : []
        },
        .histogram("network_recovery_seconds", "Time from a usable route to the first fresh answer, by cause.") {
            $0.network.recoveryMilliseconds.sorted { $0.key < $1.key }.flatMap { cause, recovery in
                recovery.samples(cause)
            }
        },
    ]
}

extension StatsReport.Provider.Shadow {
    fileprivate func samples(_ provider: String) -> [MetricSample] {
        [("same", same), ("overlapping", overlapping), ("different", different), ("failed", failed)].map {
            MetricSample($0.1, ("provider", provider), ("result", $0.0))
        }
    }
}

extension StatsReport.Network.Recovery {
    fileprivate func samples(_ cause: String) -> [MetricSample] {
        let bounds = atMost.compactMap { key, count in Int(key).map { (bound: Double($0) / 1000, count: count) } }
        return .init(
            histogram: bounds.sorted { $0.bound < $1.bound }, total: count,
            sumSeconds: Double(sumMilliseconds) / 1000, [("cause", cause)])
    }
}

extension StatsReport.Provider.Billed {
    fileprivate func samples(_ provider: String) -> [MetricSample] {
        [("day", day), ("month", month)].flatMap { period, counts in
            counts.sorted { $0.key < $1.key }.map { cause, count in
                MetricSample(count, ("provider", provider), ("period", period), ("cause", cause))
            }
        }
    }
}
