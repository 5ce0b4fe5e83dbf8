// The daemon's state as reports: a view of the same tables and counts that serving uses.

import AnswerCache
import Control
import HTTPClient
import LinuxIO
import Resolver

struct Statistics {
    let resolving: ResolvingLoop
    let threads: ServingThreads
    let cache: AnswerCache
    let startedAt: Instant
    let now: Instant
    let listen: [SocketAddress]

    /// Everything that is sent back for one request line.
    func answer(to line: String) -> String {
        let command: Command
        do throws(Command.Refusal) {
            command = try Command(parsing: line)
        } catch {
            return error.reply
        }
        switch (command.verb, command.form) {
        case (.help, _): return Command.help
        case (.stats, .text): return stats.text
        case (.stats, .json): return stats.json
        case (.status, .text): return status.text
        case (.status, .json): return status.json
        }
    }

    private var status: StatusReport {
        StatusReport(processID: Machine.processID, listeners: listen.map(\.description), stats: stats)
    }

    private var stats: StatsReport {
        // The serving threads' counts are read once, so that everything below speaks of one moment.
        let serving = threads.tally
        var sum = serving
        sum += resolving.streams.tally
        sum += resolving.tally
        var report = StatsReport()
        report.uptimeSeconds = Int(startedAt.duration(to: now).components.seconds)
        report.queries.udp = sum[.udpQueries]
        report.queries.tcp = sum[.tcpQueries]
        report.queries.total = sum[.udpQueries] + sum[.tcpQueries]
        report.inflight = sum[.handedOver] - resolving.questionsTaken + UInt64(resolving.clientsWaiting)
        fill(&report, from: sum)
        fillUpstreams(&report)
        let status = ProcessStatus.current()
        report.process.residentBytes = status.residentBytes
        report.process.openDescriptors = status.openDescriptors
        report.process.threads = status.threads
        return report
    }

    private func fill(_ report: inout StatsReport, from sum: Tally) {
        report.responses.cache = sum[.cacheResponses]
        report.responses.stale = sum[.staleResponses]
        report.responses.provider = sum[.providerResponses]
        report.responses.system = sum[.systemResponses]
        report.responses.local = sum[.localResponses]
        report.responses.refused = sum[.refusedResponses]
        report.responses.failure = sum[.failureResponses]
        report.rcodes = [
            "NOERROR": sum[.noError], "FORMERR": sum[.formatError], "SERVFAIL": sum[.serverFailure],
            "NXDOMAIN": sum[.noSuchName], "NOTIMP": sum[.notImplemented], "REFUSED": sum[.refused],
            "BADVERS": sum[.badVersion], "other": sum[.otherCode],
        ]
        report.dropped = [
            "short": sum[.droppedShort], "reply": sum[.droppedReply], "oversized": sum[.droppedOversized],
            "overload": sum[.droppedOverload], "gone": sum[.droppedGone], "loop": sum[.droppedLoop],
        ]
        let counts = cache.counts()
        report.cache.entries = counts.entries
        report.cache.bytes = counts.bytes
        report.cache.hits = sum[.cacheHits]
        report.cache.misses = sum[.cacheMisses]
        report.cache.insertions = counts.insertions
        report.cache.evictions = counts.evictions
    }

    private func fillUpstreams(_ report: inout StatsReport) {
        report.latencyMicroseconds["provider"] = resolving.latencies.provider.percentiles
        report.latencyMicroseconds["system"] = resolving.latencies.system.percentiles
        report.providers = resolving.providers.providers.map { provider in
            var entry = StatsReport.Provider()
            entry.name = provider.name
            entry.dialect = provider.dialectName
            entry.state = provider.isUp ? "up" : "down"
            entry.requests = provider.requests
            entry.names = provider.requests
            for (failure, count) in provider.failures { entry.failures[failure.rawValue] = count }
            entry.latencyMilliseconds.p50 = (provider.latency.percentile(50) ?? 0) / 1000
            entry.latencyMilliseconds.p95 = (provider.latency.percentile(95) ?? 0) / 1000
            let connections = resolving.providers.connections(of: provider)
            entry.connections.open = connections.open
            entry.connections.opened = connections.opened
            entry.connections.reused = connections.reused
            return entry
        }
        report.system.requests = resolving.system.requests
        report.system.failures = resolving.system.failures
        report.system.servers = resolving.system.servers.map(\.description)
    }
}

extension LatencyHistogram {
    /// Nil until there is a sample: nothing was measured, which is not zero.
    fileprivate var percentiles: StatsReport.Percentiles? {
        guard let p50 = percentile(50), let p95 = percentile(95), let p99 = percentile(99) else { return nil }
        return StatsReport.Percentiles(p50: p50, p95: p95, p99: p99)
    }
}
