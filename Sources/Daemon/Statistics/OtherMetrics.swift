// The rows of the table of metrics about probes, evidence, networks and sets of nftables.

import Control
import DNSWire
import Network
import Resolver
import SetFeed

extension Metric {
    static let ofProbes: [Metric] = [
        // The sum of the verdicts.
        .only("probe.done") { $0.probes.done },
        .counter("probe.verdicts", as: "probe", "Probes that ended, by verdict.", by: "verdict") { reading in
            byName { (verdict: Verdict) in reading.probes.verdicts[verdict] ?? 0 }
        },
        Metric(
            family: StatsReport.probeDurationMetric,
            parts: [.at("probe.durations") { StatsReport.Histogram($0.resolving.probes.durations) }]),
        .gauge("probe.running", as: "probes_running", "Probes running.") { $0.probes.running },
        .gauge("probe.waiting", as: "probes_waiting", "Due probes waiting to start.") { $0.probes.waiting },
        .gauge("probe.dropped", as: "probes_dropped", "Addresses left out of answers as unreachable.") {
            $0.probes.omittedAsUnreachable
        },
        .counter(
            "probe.skipped", as: "probes_skipped", "Due probes that were not started, by reason.", by: "reason"
        ) { reading in byName { (reason: ProbeRefusal) in reading.probes.skipped[reason] ?? 0 } },
        .counter("probe.lost", as: "probes_lost", "Probes that ended without a result.") { $0.probes.lost },
        .counter("probe.forgotten_names", "Names evicted from the full table of verdicts.") {
            $0.probes.forgottenNames
        },
        .counter(
            "probe_reports", "Reports of failed addresses, by result.", by: "result",
            [
                "accepted": .at("probe.reports.accepted") { $0.pendingProbes.reportsAccepted },
                "refused": .at("probe.reports.refused") { $0.pendingProbes.reportsRefused },
            ]),
        .gauge("probe.quarantined", as: "quarantined_addresses", "Addresses left out of answers as mismatched.") {
            $0.probes.omittedAsMismatched
        },
        .counter(
            "probe.divergences", as: "divergence",
            "Mismatched addresses of a source while another source's address was verified."
        ) { $0.probes.divergences },
    ]

    /// Evidence of forgery that the store keeps, also across restarts.
    static let ofEvidence: [Metric] = [
        .gauge("probe.evidence", as: "evidence_entries", "Divergences stored as evidence.") { $0.evidence.count },
        .gauge(
            "probe.broken_evidence", as: "evidence_broken_notes", "Evidence notes of the store that could not be read."
        ) { $0.evidence.brokenNotes },
    ]

    /// The texts are empty, and the numbers 0, if there is no network or it is not monitored.
    static let ofNetwork: [Metric] = [
        Metric(
            family: .gauge("network_info", "The network in use; always 1.") { report in
                let texts = ["id", "kind"].map { (name: $0, value: report.figures["network.\($0)"]?.text ?? "") }
                return texts[0].value.isEmpty ? nil : [MetricSample(1, texts[0], texts[1])]
            },
            parts: [
                .at("network.id") { $0.networkInUse?.id.description ?? "" },
                .at("network.kind") { $0.networkInUse.map { "\($0.identity.kind)" } ?? "" },
            ]),
        // The sum of the causes.
        .only("network.changes") { $0.network?.history.changeCount ?? 0 },
        .counter("network.causes", as: "network_changes", "Changes of the network, by cause.", by: "cause") {
            reading in
            reading.network.map { network in
                byName { (cause: NetworkCause) in network.history.countByCause[cause] ?? 0 }
            } ?? [:]
        },
        Metric(
            family: .gauge(
                "network_last_recovery_seconds", "Time from a usable route to the first fresh answer, latest."
            ) { report in
                let milliseconds = report["network.last_recovery_ms"]
                return milliseconds > 0 ? Double(milliseconds) / 1000 : nil
            },
            parts: [.at("network.last_recovery_ms") { $0.network?.history.lastRecovery?.wholeMilliseconds ?? 0 }]),
        Metric(
            family: StatsReport.recoveryMetric,
            parts: [
                .at("network.recovery_ms") { reading in
                    let times = NetworkCause.allCases.compactMap { cause in
                        reading.network.map { (cause.rawValue, $0.recovery.times(cause)) }
                    }
                    return Dictionary(uniqueKeysWithValues: times.filter { $1.count > 0 })
                }
            ]),
    ]

    static let ofSets: [Metric] = [
        .gauge("nftset.ready", "1 if a set of nftables gets addresses, otherwise 0.", by: "set") {
            $0.sets.map { sets in
                Dictionary(uniqueKeysWithValues: sets.sets.map { ($0.description, sets.isReady($0) ? 1 : 0) })
            }
        },
        .counter(
            "nftset_elements", "Elements for sets of nftables, by result: added, failed or dropped.", by: "result",
            [
                "added": .at("nftset.added") { $0.sets?.counts.added },
                "failed": .at("nftset.failed") { $0.sets?.counts.failed },
                "dropped": .at("nftset.dropped") { $0.sets?.counts.dropped },
            ]),
        .gauge("nftset.waiting", "Elements that wait to be sent to httpdnsd-nftset.") { $0.sets?.waitingCount },
        .counter("nftset.requests", "Requests to httpdnsd-nftset.") { $0.sets?.counts.requests },
        .counter("nftset.refills", "Walks through the cache to send what sets may lack.") { $0.sets?.refills },
    ]
}

extension StatisticsReading {
    /// The network, if it leads out.
    fileprivate var networkInUse: NetworkMonitor? { self.network.flatMap { $0.hasWayOut ? $0 : nil } }
}
