// The exact output of `stats` in its three forms, because scripts rely on each name and number.

import Control
import DNSWire
import LinuxIO
import Resolver
import Serving
import Telemetry
import TestSupport
import Testing

@testable import Daemon
@testable import Upstreams

struct StatisticsTests {
    @Test("a report with each number and each text that there may be")
    func whole() throws {
        let line = try golden("stats.json")
        let report = try #require(StatsReport(answer: Array(line.utf8)))
        #expect(report.rendered(asJSON: true) == line)
        #expect(try report.rendered(asJSON: false) == golden("stats.txt"))
        #expect(try Metric.all.prometheus(report) == golden("stats.prom"))
    }

    @Test("a daemon that has done nothing yet reports each number that needs no upstream")
    func fresh() throws {
        let stand = try ResolvingStand()
        let text = try statistics(of: stand).stats.rendered(asJSON: false)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            let isSteady = ["network.id", "network.kind", "process", "version"].allSatisfy { !line.hasPrefix($0) }
            return isSteady ? String(line) : line.prefix { $0 != " " } + " *"
        }
        #expect(try lines.joined(separator: "\n") == golden("fresh.txt"), "\(lines.joined(separator: "\n"))")
    }

    @Test("each count of serving threads is reported")
    func counts() throws {
        let statistics = try statistics(of: try ResolvingStand())
        func figures(_ tally: Tally) -> StatsTree {
            var figures = Metric.all.figures(StatisticsReading(statistics, tally))
            // Memory and descriptors change between two readings.
            figures["process"] = .members([:])
            return figures
        }
        for count in Count.allCases {
            var tally = Tally()
            tally.add(count)
            #expect(figures(tally) != figures(Tally()), "\(count)")
        }
        for transport in Transport.allCases {
            var tally = Tally()
            tally.addQueries(over: transport)
            for path in ["total", transport.word] { #expect(figures(tally)["queries.\(path)"]?.number == 1) }
        }
    }

    @Test("statistics have a number for every verdict and every refusal, counted or not")
    func probes() throws {
        var reading = StatisticsReading(try statistics(of: try ResolvingStand()), Tally())
        reading.probes.verdicts = [.verified: 2, .notTLS: 1]
        reading.probes.skipped = [.overload: 5]
        (reading.probes.omittedAsMismatched, reading.probes.omittedAsUnreachable, reading.probes.divergences) = (
            6, 7, 8
        )
        let figures = Metric.all.figures(reading)
        let verdicts = try #require(figures["probe.verdicts"]).members
        #expect(Set(verdicts.keys) == Set(Verdict.allCases.map(\.rawValue)))
        #expect(verdicts.filter { $0.value != .number(0) } == ["verified": .number(2), "not-tls": .number(1)])
        #expect(figures["probe.skipped"]?.members.count == ProbeRefusal.allCases.count)
        #expect(figures["probe.skipped.overload"] == .number(5))
        #expect(["quarantined", "dropped", "divergences"].map { figures["probe.\($0)"]?.number } == [6, 7, 8])
    }

    @Test("each source of responses is in a chart of the status page")
    func charts() throws {
        let stats = try statistics(of: try ResolvingStand()).stats
        let charted = HistoryReport.countPaths.flatMap(\.value)
        #expect(charted.filter { stats.figures[$0] == nil }.isEmpty)
        #expect(stats[group: "responses"].keys.filter { !charted.contains("responses.\($0)") }.isEmpty)
    }

    private func statistics(of stand: ResolvingStand) throws -> Statistics {
        let resolving = stand.resolving
        return Statistics(
            resolving: resolving,
            threads: ServingThreads(
                [], records: FlightRecords(servingThreads: 0), mailbox: try Mailbox(capacity: 1),
                makeFastPath: { preconditionFailure("no thread is started") }),
            cache: stand.cache, pendingProbes: PendingProbes(resolving), evidence: stand.evidence(),
            notifier: Notifier(resolving.loop, resolving.upstreams, stand.outbox), network: nil, nat64Prefix: nil,
            nameserverSource: nil,
            start: DaemonStart(
                options: try Options([]), rights: "", at: Instant(nanoseconds: 0), atWall: 1_000),
            settingsSeconds: 2,
            now: Instant(nanoseconds: 61_000_000_000), ports: try PortBinding([], threads: 0),
            operatorSwitches: [], avoidingFor: nil, pages: nil,
            lists: try NameLists(loop: resolving.loop, outbox: stand.outbox),
            droppedLogLines: 3)
    }
}

/// A file of the folder Expected beside this one.
func golden(_ file: String) throws -> String {
    let path = "\(TestFile.folder(of: #filePath))/Expected/\(file)"
    return String(decoding: try TestFile.bytes(at: path), as: UTF8.self)
}
