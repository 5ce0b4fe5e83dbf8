// Reports of the daemon's state: a read-only view of the tables and counters in use.

import Control
import DNSWire
import HTTPClient
import LinuxIO
import Resolver
import Serving
import Telemetry
import Upstreams

/// The facts about the daemon that are known at its start.
struct DaemonStart {
    let options: Options
    /// User, group and filter of system calls, as `status` shows them.
    let rights: String
    var at = Clock.now()
    /// The wall clock in milliseconds since 1970.
    var atWall = Clock.wallMilliseconds()
}

struct Statistics {
    let resolving: ResolvingLoop
    let threads: ServingThreads
    let cache: AnswerCache
    let pendingProbes: PendingProbes
    let evidence: EvidenceLog
    let notifier: Notifier
    let network: NetworkMonitor?
    /// NAT64 prefix through which IPv4 is reached.
    let nat64Prefix: NAT64Prefix?
    /// The file that names the nameservers; nil if the settings do.
    let nameserverSource: String?
    let start: DaemonStart
    /// The time of the settings in force, by the wall clock in seconds since 1970.
    let settingsSeconds: Int64
    let now: Instant
    let ports: PortBinding
    let operatorSwitches: [SwitchReport]
    /// The environment variable because of which providers are not asked; nil: they are asked.
    let avoidingFor: String?
    /// The listener of metrics and status page; nil if not configured.
    let pages: MetricsListener?
    let lists: NameLists
    let droppedLogLines: UInt64

    var status: StatusReport {
        let stats = stats
        var report = StatusReport(
            uptimeSeconds: stats["uptime_s"], processID: Int(Machine.processID), listeners: ports.places,
            threads: threads.count)
        let missing = Interfaces.missing(of: ports.addresses)
        report.missingListeners = missing.isEmpty ? nil : missing.map(\.description)
        report.providers = stats.providers.map(StatusReport.Provider.init)
        report.nameservers = stats.nameservers.isEmpty ? nil : stats.nameservers.map(StatusReport.Provider.init)
        report.systemServers = resolving.upstreams.system.servers.map(\.description)
        report.loopingServers = resolving.upstreams.system.loopingServers.map(\.description)
        report.cache = stats.figures["cache"] ?? report.cache
        report.switches = switches
        let quotas = resolving.upstreams.billing.warnings
        report.quotas = quotas.isEmpty ? nil : quotas
        report.lists = lists.reports
        report.localNames = lists.localReports
        report.unusedAccounts = lists.names.accountFaults.isEmpty ? nil : lists.names.accountFaults
        report.nftsets = resolving.addressSets.reports
        report.fleet = resolving.upstreams.fleet.status
        report.network = currentNetwork
        report.portal = portal
        report.rights = start.rights
        report.settingsFile = SettingsFile.absolutePath(start.options)
        report.explanationKey = resolving.explanations.key.text
        report.openDescriptors = stats["process.open_fds"]
        report.descriptorLimit = stats["process.max_fds"]
        return report
    }

    /// The suspected portal in words; nil while no portal is suspected.
    var portal: String? {
        resolving.resolver.portal.map { portal in
            let (age, left) = (portal.since.duration(to: now), now.duration(to: portal.until))
            let page = portal.hosts.isEmpty ? "" : ", at \(portal.hosts.map(\.description).joined(separator: " or "))"
            return "suspected for \(age.wholeSeconds) s, for at most \(left.wholeSeconds) s more: "
                + "sign in to the network\(page)"
        }
    }

    var stats: StatsReport {
        var report = StatsReport()
        report.figures = Metric.all.figures(StatisticsReading(self, resolving.counts(with: threads.tally)))
        report.providers = providers
        report.nameservers = nameservers
        report.notify = notifier.statistics
        report.fleet = resolving.upstreams.fleet.statistics
        report.durations = durations.mapValues { StatsReport.Histogram($0) }
        report.latencyMicroseconds = durations.mapValues(\.percentiles)
        return report
    }

    /// The metrics as Prometheus text.
    var prometheus: String { Metric.all.prometheus(stats) }

    private var durations: [String: LatencyHistogram] {
        let latencies = resolving.counted.latencies
        var hits = threads.hitDurations
        hits += resolving.streams.hitDurations
        hits += latencies.cache
        return ["cache": hits, "stale": latencies.stale, "provider": latencies.provider, "system": latencies.system]
    }
}

extension Statistics {
    /// The names of the status page.
    var names: NamesReport {
        let failed = resolving.latestFailures.map { failed, causes in
            NamesReport.FailedName(
                name: failed.question.name.description, type: failed.question.typeText,
                reason: failed.reason.text,
                sources: causes.map { "\(resolving.upstreams.name(of: $0.source)): \($0.cause.words)" },
                ageSeconds: max(0, Int(failed.failedAt.duration(to: now).wholeSeconds)), times: failed.times,
                isOver: failed.isOver)
        }
        return NamesReport(
            asked: resolving.hottestNames(atMost: NamesReport.maxShown, now: now), failed: failed,
            evidence: Array(evidence.reports.suffix(NamesReport.maxEvidence)))
    }
}

extension ResolvingLoop {
    func hottestNames(atMost count: Int, now: Instant) -> [TopReport.HotName] {
        hottest(atMost: count, now: now).map { asked in
            TopReport.HotName(
                name: asked.question.name.description, type: asked.question.typeText,
                perSecond: asked.perSecond)
        }
    }
}

extension LatencyHistogram {
    /// The percentiles; all 0 without samples.
    fileprivate var percentiles: StatsReport.Percentiles {
        var percentiles = StatsReport.Percentiles()
        percentiles.p50 = percentile(50) ?? 0
        percentiles.p95 = percentile(95) ?? 0
        percentiles.p99 = percentile(99) ?? 0
        return percentiles
    }
}
