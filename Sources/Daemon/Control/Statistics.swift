// Reports of the daemon's state: a read-only view of the tables and counters in use.

import Control
import DNSWire
import HTTPClient
import LinuxIO
import Resolver
import Serving
import Telemetry

struct Statistics {
    let resolving: ResolvingLoop
    let threads: ServingThreads
    let cache: AnswerCache
    let pendingProbes: PendingProbes
    let evidence: EvidenceLog
    let billing: Billing
    let notifier: Notifier
    let network: NetworkMonitor?
    /// NAT64 prefix through which IPv4 is reached.
    let translationPrefix: NAT64Prefix?
    /// The file that names the nameservers; nil if the settings do.
    let nameserverSource: String?
    let startedAt: Instant
    /// Wall clock, seconds since 1970.
    let startSeconds: Int64
    let settingsSeconds: Int64
    let now: Instant
    let listen: [SocketAddress]
    let operatorSwitches: [SwitchReport]
    /// The environment variable because of which providers are not asked; nil: they are asked.
    let avoidingFor: String?
    /// The listener of metrics and status page; nil if not configured.
    let pages: MetricsListener?
    /// User of the process and its remaining privileges.
    let rights: String?
    let settingsFile: String
    let lists: NameLists
    let droppedLogLines: UInt64

    var status: StatusReport {
        let stats = stats
        var report = StatusReport(
            uptimeSeconds: stats.uptimeSeconds, processID: Int(Machine.processID), listeners: listen.map(\.description),
            threads: threads.count)
        let missing = Interfaces.missing(of: listen)
        report.missingListeners = missing.isEmpty ? nil : missing.map(\.description)
        report.providers = resolving.upstreams.providers.providers.map { provider in
            StatusReport.Provider(
                name: provider.name, state: resolving.state(of: provider, now: now).rawValue,
                latencyMilliseconds: provider.latency.percentile(50).map { $0 / 1000 })
        }
        let named = resolving.upstreams.nameservers.all.map { server in
            StatusReport.Provider(
                name: server.name, state: resolving.state(of: server, now: now).rawValue,
                latencyMilliseconds: server.latency.percentile(50).map { $0 / 1000 })
        }
        report.nameservers = named.isEmpty ? nil : named
        report.systemServers = stats.system.servers
        report.loopingServers = stats.system.looping
        report.cache = stats.cache
        report.switches = switches
        let quotas = billing.warnings
        report.quotas = quotas.isEmpty ? nil : quotas
        report.lists = lists.reports
        report.localNames = lists.localReports
        report.unusedAccounts = lists.names.accountFaults.isEmpty ? nil : lists.names.accountFaults
        report.nftsets = resolving.addressSets.reports
        report.fleet = resolving.fleet.status
        report.network = currentNetwork
        report.portal = portal
        report.rights = rights
        report.settingsFile = settingsFile
        report.explanationKey = resolving.explanationKey.text
        report.openDescriptors = stats.process.openDescriptors
        report.descriptorLimit = stats.process.descriptorLimit
        return report
    }

    /// The suspected portal in words; nil while no portal is suspected.
    var portal: String? {
        resolving.portal.map { portal in
            let (age, left) = (portal.since.duration(to: now), now.duration(to: portal.until))
            let page = portal.hosts.isEmpty ? "" : ", at \(portal.hosts.map(\.description).joined(separator: " or "))"
            return "suspected for \(age.wholeSeconds) s, for at most \(left.wholeSeconds) s more: "
                + "sign in to the network\(page)"
        }
    }

    var stats: StatsReport {
        // The serving threads' counts are read once, so that all numbers below are of one moment.
        let sum = resolving.counts(with: threads.tally)
        var report = StatsReport()
        report.uptimeSeconds = Int(startedAt.duration(to: now).wholeSeconds)
        report.queries.udp = Int(sum[.udpQueries] - resolving.returnedChecks.udp)
        report.queries.tcp = Int(sum[.tcpQueries] - resolving.returnedChecks.tcp)
        report.queries.total = report.queries.udp + report.queries.tcp
        report.prefetch.started = Int(resolving.refreshes.started)
        report.prefetch.succeeded = Int(resolving.refreshes.succeeded)
        report.prefetch.failed = Int(resolving.refreshes.failed)
        report.prefetch.used = Int(resolving.refreshes.used)
        report.shares.lookupsDisplaced = Int(resolving.displacedLookups)
        report.shares.requestsDisplaced = Int(resolving.upstreams.providers.queue.displaced)
        report.shares.requestsExpired = Int(resolving.upstreams.providers.queue.expired)
        for cause in StaleCause.allCases { report.stale[cause.rawValue] = Int(resolving.staleCauses[cause] ?? 0) }
        if let store = resolving.store?.counts {
            report.store.loaded = Int(store.restoredEntries)
            report.store.written = Int(store.writtenEntries)
            report.store.batches = Int(store.batches)
            report.store.failures = Int(store.failures)
            report.store.dropped = Int(store.droppedEntries)
            report.store.refusedNotes = Int(store.refusedNotes)
        }
        report.inflight = Int(sum[.handedOver] - resolving.questionsTaken) + resolving.clientsWaiting
        report.unsent = Int(sum[.unsentReplies])
        report.udpReceiveErrors = Int(threads.lostDatagrams)
        report.connections.open = resolving.streams.openConnections
        report.connections.refused = Int(resolving.streams.refusedConnections)
        report.connections.evicted = Int(resolving.streams.evictedConnections)
        report.notify = notifier.statistics
        report.nftset = resolving.addressSets.statistics
        report.fleet = resolving.fleet.statistics
        (report.pages.requests, report.pages.cut) = pages?.counts ?? (0, 0)
        report.log.dropped = Int(droppedLogLines)
        report.files.faulty = lists.faulty
        fill(&report, from: sum)
        fillDurations(&report)
        fillUpstreams(&report)
        fillProbes(&report)
        report.network = networkStats
        fillProcess(&report)
        return report
    }

    private func fill(_ report: inout StatsReport, from sum: Tally) {
        report.responses.cache = Int(sum[.cacheResponses])
        report.responses.stale = Int(sum[.staleResponses])
        report.responses.provider = Int(sum[.providerResponses])
        report.responses.system = Int(sum[.systemResponses])
        report.responses.local = Int(sum[.localResponses])
        report.responses.blocked = Int(sum[.blockedResponses])
        report.blocked = resolving.blocked.report
        report.responses.fallback = Int(sum[.fallbackResponses])
        report.responses.refused = Int(sum[.refusedResponses])
        report.responses.failure = Int(sum[.failureResponses])
        report.responses.limited = Int(sum[.limitedResponses])
        let codes: [(String, Count)] = [
            ("NOERROR", .noError), ("FORMERR", .formatError), ("SERVFAIL", .serverFailure), ("NXDOMAIN", .noSuchName),
            ("NOTIMP", .notImplemented), ("REFUSED", .refused), ("BADVERS", .badVersion),
            ("BADCOOKIE", .badCookie), ("other", .otherCode),
        ]
        let reasons: [(String, Count)] = [
            ("short", .droppedShort), ("reply", .droppedReply), ("overload", .droppedOverload),
            ("gone", .droppedGone), ("rate-limited", .droppedRateLimited),
        ]
        for (code, count) in codes { report.rcodes[code] = Int(sum[count]) }
        for (reason, count) in reasons { report.dropped[reason] = Int(sum[count]) }
        let counts = cache.counts()
        report.cache.entries = counts.entries
        report.cache.bytes = counts.bytes
        report.cache.limitBytes = cache.limitBytes
        report.cache.hits = Int(sum[.cacheHits])
        report.cache.misses = Int(sum[.cacheMisses] - resolving.returnedChecks.total)
        report.cache.insertions = Int(counts.insertions)
        report.cache.evictions = Int(counts.evictions)
    }

    private func fillDurations(_ report: inout StatsReport) {
        var hits = threads.hitDurations
        hits += resolving.streams.hitDurations
        hits += resolving.latencies.cache
        let histograms = [
            "cache": hits, "stale": resolving.latencies.stale, "provider": resolving.latencies.provider,
            "system": resolving.latencies.system,
        ]
        report.durations = histograms.mapValues { StatsReport.Histogram($0) }
        report.latencyMicroseconds.cache = hits.percentiles
        report.latencyMicroseconds.stale = resolving.latencies.stale.percentiles
        report.latencyMicroseconds.provider = resolving.latencies.provider.percentiles
        report.latencyMicroseconds.system = resolving.latencies.system.percentiles
    }

    private func fillProcess(_ report: inout StatsReport) {
        let status = ProcessStatus.current()
        report.process.residentBytes = status.residentBytes
        report.process.anonymousBytes = status.anonymousBytes
        report.process.openDescriptors = status.openDescriptors
        report.process.descriptorLimit = status.descriptorLimit
        report.process.threads = status.threads
        report.process.startSeconds = Int(startSeconds)
        report.process.settingsSeconds = Int(settingsSeconds)
    }

    private func fillUpstreams(_ report: inout StatsReport) {
        report.providers = providers
        report.nameservers = nameservers
        report.system.requests = Int(resolving.upstreams.system.requests)
        report.system.failures = Int(resolving.upstreams.system.failures)
        for reason in StandInReason.allCases {
            report.system.stoodIn[reason.rawValue] = Int(resolving.standIns(for: reason))
        }
        report.system.divergences = evidence.divergences(of: .system)
        report.system.contradictions = Int(resolving.contradictions(of: .system))
        report.system.trust = resolving.systemTrust(now: now)
        report.system.foreignReplies = Int(resolving.upstreams.system.foreignReplies)
        report.system.refusedExchanges = Int(resolving.upstreams.system.refusedExchanges)
        report.system.servers = resolving.upstreams.system.servers.map(\.description)
        report.system.returnedChecks = Int(resolving.returnedChecks.total)
        report.system.looping = resolving.upstreams.system.loopingServers.map(\.description)
    }
}

extension Statistics {
    private func fillProbes(_ report: inout StatsReport) {
        report.probe = StatsReport.Probe(resolving.probeCounts)
        report.probe.durations = StatsReport.Histogram(resolving.probes.durations)
        report.probe.evidence = evidence.count
        report.probe.brokenEvidence = evidence.brokenNotes
        report.probe.reports.accepted = Int(pendingProbes.reportsAccepted)
        report.probe.reports.refused = Int(pendingProbes.reportsRefused)
    }
}

extension Statistics {
    /// The names of the status page.
    var names: NamesReport {
        let failed = resolving.latestFailures.map { failed, causes in
            NamesReport.FailedName(
                name: failed.question.name.description, type: failed.question.typeText,
                reason: failed.reason.text,
                sources: causes.map { "\(resolving.name(of: $0.source)): \($0.cause.words)" },
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

extension StatsReport.Histogram {
    init(_ histogram: LatencyHistogram) {
        self.init()
        counts = histogram.countsByOctave.map { Int($0) }
        sumMicroseconds = Int(truncatingIfNeeded: histogram.sumMicroseconds)
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
