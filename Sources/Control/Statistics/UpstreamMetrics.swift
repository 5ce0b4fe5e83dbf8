// Prometheus metrics of providers, the system resolver, probes and networks. Sources are labelled with their names in
// the settings; "system" cannot be a provider's name.

// Omitted: the budget that remains, because its bucket refills continuously (`over-budget` is a state); connection
// resets, which libcurl does not tell from other ends (`provider_retries` counts their cost).

extension MetricFamily {
    private static let states = ["up", "down", "throttled", "blocked", "over-budget", "unmeasured"]

    static let ofProviders: [MetricFamily] = [
        .gauge("provider_info", "What the settings say of a provider; always 1.") {
            $0.providers.map {
                MetricSample(
                    1, ("provider", $0.name), ("dialect", $0.dialect), ("proxy", $0.usesProxy ? "yes" : "no"))
            }
        },
        .gauge("provider_up", "0 for a provider that fails or does not serve us, otherwise 1.") {
            $0.providers.map { MetricSample(["down", "blocked"].contains($0.state) ? 0 : 1, ("provider", $0.name)) }
        },
        .gauge("provider_state", "1 for the state that a provider is in, 0 for the others.") {
            $0.providers.flatMap { provider in
                states.map { MetricSample(provider.state == $0 ? 1 : 0, ("provider", provider.name), ("state", $0)) }
            }
        },
        .gauge("provider_retry_seconds", "Until a provider that has a pause is asked again.") {
            $0.providers.compactMap { provider in
                provider.retrySeconds.map { MetricSample($0, ("provider", provider.name)) }
            }
        },
        .gauge("provider_share_ratio", "Of first choices, how many a provider was.") {
            $0.providers.compactMap { provider in provider.share.map { MetricSample($0, ("provider", provider.name)) } }
        },
        .gauge("provider_success_ratio", "Of the latest requests to a provider, how many it answered.") {
            $0.providers.compactMap { provider in
                provider.success.map { MetricSample($0, ("provider", provider.name)) }
            }
        },
        .counter("provider_requests_begun", "Requests to a provider.") {
            $0.providers.map { MetricSample($0.requests, ("provider", $0.name)) }
        },
        .counter("provider_requests", "Requests to a provider that ended, by result: success, or the kind of failure.")
        {
            $0.providers.flatMap { [MetricSample]($0.results, by: "result", and: ("provider", $0.name)) }
        },
        .counter("provider_names", "Names in the requests to a provider.") {
            $0.providers.map { MetricSample($0.names, ("provider", $0.name)) }
        },
        .counter("provider_failures", "Failures of a provider, for all or some of the names in a request, by kind.") {
            $0.providers.flatMap { [MetricSample]($0.failures, by: "kind", and: ("provider", $0.name)) }
        },
        .histogram("provider_duration_seconds", "From a request to a provider to a reply that was of use.") {
            // A provider without measurements has no histogram, so that it does not appear to be the fastest.
            $0.providers.filter(\.durations.hasSome).flatMap { $0.durations.samples(("provider", $0.name)) }
        },
        .gauge("provider_clock_offset_seconds", "A provider's clock less ours.") {
            $0.providers.map { MetricSample(Double($0.clockOffsetMilliseconds) / 1000, ("provider", $0.name)) }
        },
    ]

    static let ofTransfers: [MetricFamily] = [
        .gauge("provider_connections", "Connections to a provider.") {
            $0.providers.map { MetricSample($0.connections.open, ("provider", $0.name), ("state", "open")) }
        },
        .counter("provider_connections_opened", "Connections to a provider that were made.") {
            $0.providers.map { MetricSample($0.connections.opened, ("provider", $0.name)) }
        },
        .counter("provider_connections_reused", "Requests to a provider over a connection that was there.") {
            $0.providers.map { MetricSample($0.connections.reused, ("provider", $0.name)) }
        },
        .counter("provider_retries", "Requests that an old connection failed and a fresh one answered.") {
            $0.providers.map { MetricSample($0.connections.retried, ("provider", $0.name)) }
        },
        .counter("provider_shadow_requests", "Requests to a provider whose answers are only compared.") {
            $0.providers.compactMap { provider in
                provider.shadow.map { MetricSample($0.asked, ("provider", provider.name)) }
            }
        },
        .counter("provider_shadow_answers", "Answers that were only compared, by result.") {
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
        .counter("upstream_rejected", "Messages to us that were no reply to what we had asked.") {
            [MetricSample($0.system.foreignReplies, ("reason", "foreign"))]
        },
        .gauge("system_servers", "Nameservers of the system resolver that are asked, and that lead back to us.") {
            [
                MetricSample($0.system.servers.count, ("state", "asked")),
                MetricSample($0.system.looping.count, ("state", "looping")),
            ]
        },
    ]

    static let ofVerification: [MetricFamily] = [
        .counter("probe", "Probes that ended, by verdict.") { .init($0.probe.verdicts, by: "verdict") },
        .histogram("probe_duration_seconds", "From the first packet of a probe to its verdict.") {
            $0.probe.durations.samples()
        },
        .gauge("probes_running", "Probes that run.") { [MetricSample($0.probe.running)] },
        .gauge("probes_waiting", "Probes that are due and wait.") { [MetricSample($0.probe.waiting)] },
        .counter("probes_dropped", "Probes that found no room to wait.") { [MetricSample($0.probe.dropped)] },
        .counter("probes_skipped", "Probes that were due and not begun, by reason.") {
            .init($0.probe.skipped, by: "reason")
        },
        .counter("probes_lost", "Probes that never ended.") { [MetricSample($0.probe.lost)] },
        .counter("probe_forgotten_names", "Names that made room for others, with all that was known of them.") {
            [MetricSample($0.probe.forgottenNames)]
        },
        .counter("probe_reports", "Reports of programs that an address failed, by what became of them.") {
            [
                MetricSample($0.probe.reports.accepted, ("result", "accepted")),
                MetricSample($0.probe.reports.refused, ("result", "refused")),
            ]
        },
        .gauge("quarantined_addresses", "Addresses that are kept from clients.") {
            [MetricSample($0.probe.quarantined)]
        },
        .counter("divergence", "Times that a source led to somebody else's address and another one did not.") {
            [MetricSample($0.probe.divergences)]
        },
        .counter("source_divergence", "The same, by the source that led astray.") {
            $0.providers.map { MetricSample($0.divergences, ("source", $0.name)) }
                + [MetricSample($0.system.divergences, ("source", "system"))]
        },
        .gauge("source_trust_ratio", "How far a source's word is believed.") {
            $0.providers.map { MetricSample($0.trust, ("source", $0.name)) }
                + [MetricSample($0.system.trust, ("source", "system"))]
        },
        .gauge("evidence_entries", "Divergences that are kept.") { [MetricSample($0.probe.evidence)] },
        .gauge("evidence_broken_notes", "Notes of the store that should have been evidence and were none.") {
            [MetricSample($0.probe.brokenEvidence)]
        },
    ]

    static let ofNetworks: [MetricFamily] = [
        .gauge("network_info", "The network in use; always 1.") {
            $0.network.id.isEmpty ? [] : [MetricSample(1, ("id", $0.network.id), ("kind", $0.network.kind))]
        },
        .counter("network_changes", "Changes of the network, by cause.") { .init($0.network.causes, by: "cause") },
        .gauge("network_last_recovery_seconds", "From a usable route to the first fresh answer, the last time.") {
            let milliseconds = $0.network.lastRecoveryMilliseconds
            return milliseconds > 0 ? [MetricSample(Double(milliseconds) / 1000)] : []
        },
        .histogram("network_recovery_seconds", "From a usable route to the first fresh answer, by cause of the change.")
        {
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
