// The exact screen of `top`, for terminals of several sizes.

import Control
import Testing

@Suite("Screen of top")
struct TopScreenTests {
    /// The report of a busy daemon, `second` seconds after the first one.
    private static func report(second: Int) -> TopReport {
        var stats = StatsReport()
        stats.figures["version"] = .text("1.2.3")
        stats["uptime_s"] = 3_720 + second
        stats["queries.total"] = 10_000 + 1_234 * second
        stats["responses.cache"] = 9_000 + 1_190 * second
        stats["responses.provider"] = 900 + 40 * second
        stats["responses.failure"] = 100 + 4 * second
        stats[group: "dropped"] = ["short": 2 * second]
        stats[group: "rcodes"] = ["NOERROR": 9_900 + 1_230 * second, "SERVFAIL": 100 + 4 * second, "NOTIMP": 0]
        stats["inflight"] = 3
        stats["cache.hits"] = 9_000 + 1_190 * second
        stats["cache.misses"] = 1_000 + 44 * second
        stats["cache.entries"] = 4_812
        stats["cache.bytes"] = 3_250_586
        stats["prefetch.started"] = 50 + second
        stats.latencyMicroseconds["cache"] = percentiles(12, 40, 99)
        stats.latencyMicroseconds["provider"] = percentiles(18_000, 41_500, 1_250_000)
        stats[group: "probe.verdicts"] = ["verified": 1_204, "name-mismatch": 2, "refused": 0]
        stats["probe.quarantined"] = 2
        var alidns = StatsReport.Provider(name: "alidns", dialect: "json", state: "up")
        alidns.share = 0.9
        alidns.success = 1
        alidns.requests = 800 + 31 * second
        alidns.latencyMilliseconds.p50 = 18
        alidns.latencyMilliseconds.p95 = 41
        stats.providers = [alidns, StatsReport.Provider(name: "dnspod", dialect: "dnspod", state: "down")]
        stats["system.requests"] = 7
        stats.figures["system.servers"] = .list([.text("192.0.2.53:53")])
        var report = TopReport(
            milliseconds: 1_795_287_296_000 + Int64(second) * 1000, bootMilliseconds: Int64(second) * 1000, stats: stats
        )
        report.hottest = (0..<20).map { place in
            TopReport.HotName(
                name: "host\(place).example.com", type: place.isMultiple(of: 2) ? "A" : "AAAA",
                perSecond: 100 / Double(place * place + 1))
        }
        report.network = NetworkReport.Current(
            id: "6f2c1a09", words: "wifi, gateway 192.168.1.1", state: .stable, seconds: 8_040, changes: 3,
            lastRecoveryMilliseconds: 340)
        return report
    }

    private let screen = TopScreen(report(second: 1), since: report(second: 0))

    @Test("24 rows of 80 columns hold what matters most")
    func small() {
        #expect(
            screen.lines(TopScreen.Size(columns: 80, rows: 24)).joined(separator: "\n") == """
                httpdnsd 1.2.3  up 1h02m  18:54:57Z
                queries   1,234/s  in flight 3  dropped 2.0/s
                answers   cache 96.4 %  provider 3.2 %  failure 0.3 %
                cache     hits 96.4 %  entries 4,812  3.1 MiB  refreshes 1.0/s
                latency   cache 12us/40us/99us  provider 18ms/41ms/1.2s  p50/p95/p99
                addresses verified 1,204  name-mismatch 2  quarantined 2
                network   6f2c1a09 (wifi, gateway 192.168.1.1)  for 2h14m  changes 3, last reco>

                provider  dialect  state  share   p50    p95    success  requests/s
                alidns    json     up     90.0 %  18 ms  41 ms  100.0 %  31.0
                dnspod    dnspod   down   -       -      -      -        0
                system    dns      -      -       -      -      -        0

                queries/s  type  name
                    100    A     host0.example.com
                   50.0    AAAA  host1.example.com
                   20.0    A     host2.example.com
                   10.0    AAAA  host3.example.com
                    5.9    A     host4.example.com
                    3.8    AAAA  host5.example.com
                    2.7    A     host6.example.com
                    2.0    AAAA  host7.example.com
                ... and 12 more
                q quits; rates and shares cover the last second
                """)
    }

    @Test("a wide terminal has names beside providers")
    func wide() {
        let lines = screen.lines(TopScreen.Size(columns: 200, rows: 50))
        #expect(lines.count == 50)
        #expect(lines[29...48].joined().isEmpty)
        #expect(lines[6].hasSuffix("last recovery 340 ms"))
        #expect(lines[8].hasPrefix("provider  dialect"))
        #expect(lines[8].dropFirst(100) == "queries/s  type  name")
        #expect(
            lines[13...16].map { $0.prefix(40) }.map { String($0).trimmed } == [
                "counter       /s    total  label", "code       1,230   11,130  NOERROR",
                "code         4.0      104  SERVFAIL", "dropped      2.0        2  short",
            ])
        #expect(lines[28].dropFirst(100) == "    0.3    AAAA  host19.example.com")
    }

    @Test("no size makes it larger than the terminal, and the last line stays the last")
    func sizes() {
        for (columns, rows) in [(80, 24), (200, 50), (20, 5), (1, 1), (0, 0), (500, 200), (149, 24), (150, 24)] {
            let lines = screen.lines(TopScreen.Size(columns: columns, rows: rows))
            #expect(lines.count <= max(rows, 1), "\(columns)x\(rows)")
            #expect(lines.allSatisfy { $0.count <= columns }, "\(columns)x\(rows)")
            if columns > 60 { #expect(lines.last == "q quits; rates and shares cover the last second") }
        }
    }

    @Test("the painted screen is the plain one with colours")
    func painted() {
        let size = TopScreen.Size(columns: 80, rows: 24)
        let painted = screen.painted(size)
        #expect(painted.contains { $0.contains("\u{1B}[32malidns") })
        #expect(painted.contains { $0.contains("\u{1B}[31mdnspod") })
        let stripped = painted.map { line in
            line.split(separator: "\u{1B}", omittingEmptySubsequences: false).enumerated().map { place, piece in
                place == 0 ? String(piece) : String(piece.drop { $0 != "m" }.dropFirst())
            }.joined()
        }
        #expect(stripped == screen.lines(size))
    }

    @Test("names, providers and networks of strangers move no cursor and keep their columns")
    func hostile() {
        let evil = "\u{1B}[2J\u{202E}\r\nevil\u{9B}é漢"
        var report = TopScreenTests.report(second: 1)
        report.hottest = [TopReport.HotName(name: evil, type: evil, perSecond: 1)]
        report.stats.providers = [StatsReport.Provider(name: evil, dialect: evil, state: evil)]
        report.stats[group: "probe.verdicts"] = [evil: 1]
        report.portal = evil
        report.network = NetworkReport.Current(id: evil, words: evil, state: .changing, seconds: 1)
        report.switches = [SwitchReport(scope: evil)]
        report.stats.figures["version"] = .text(evil)
        let screen = TopScreen(report, since: TopScreenTests.report(second: 0), notice: evil)
        for columns in [40, 80, 200] {
            for line in screen.lines(TopScreen.Size(columns: columns, rows: 24)) {
                #expect(line.unicodeScalars.allSatisfy { (0x20..<0x7F).contains($0.value) }, "\(line)")
                #expect(line.count <= columns)
            }
        }
    }

    @Test("one look alone shows what was since the start, and a daemon that began anew likewise")
    func oneLook() {
        let report = TopScreenTests.report(second: 0)
        let lines = report.text(since: nil).split(separator: "\n")
        #expect(lines[0] == "httpdnsd 1.2.3  up 1h02m  18:54:56Z  since the start")
        #expect(lines[1] == "queries   2.7/s  in flight 3  dropped 0/s")
        #expect(report.text(since: TopScreenTests.report(second: 5)).split(separator: "\n")[0] == lines[0])
    }

    @Test("a daemon that has done nothing yet has a screen too")
    func idle() {
        let report = TopReport(milliseconds: 0, bootMilliseconds: 0, stats: StatsReport())
        let lines = TopScreen(report, since: report).lines(TopScreen.Size(columns: 80, rows: 24))
        #expect(lines[2] == "answers   none ")
        #expect(lines.contains("queries/s  no queries"))
        #expect(lines.contains("network   not watched"))
    }

    @Test("latencies are those of the interval where durations are known")
    func recentLatencies() {
        var (before, after) = (TopScreenTests.report(second: 0), TopScreenTests.report(second: 1))
        var durations = StatsReport.Histogram()
        durations.counts[20] = 1_000_000
        before.stats.durations = ["cache": durations]
        durations.counts[4] = 98
        durations.counts[10] = 2
        after.stats.durations = ["cache": durations]
        let lines = TopScreen(after, since: before).lines(TopScreen.Size(columns: 80))
        #expect(lines[4].hasPrefix("latency   cache 13us/16us/768us"))
    }

    @Test("rates are of the time that has passed, whatever the clock on the wall does")
    func clockSet() {
        let before = TopScreenTests.report(second: 0)
        var after = TopScreenTests.report(second: 1)
        after.milliseconds -= 3_600_000
        #expect(TopScreen(after, since: before).lines(TopScreen.Size(columns: 80))[1].contains(" 1,234/s"))
    }

    @Test("a report comes back from its JSON, and what is none is nothing")
    func codable() {
        let report = TopScreenTests.report(second: 0)
        let bytes = Array(report.rendered(asJSON: true).utf8)
        #expect(TopReport(answer: bytes) == report)
        #expect(bytes.filter { $0 == UInt8(ascii: "\n") }.count == 1)
        for other in ["", "{}", "error: no\n", "[", #"{"error":"no"}"#] {
            #expect(TopReport(answer: Array(other.utf8)) == nil)
        }
    }
}

@Suite("Changes of stats")
struct StatsChangesTests {
    private func look(_ change: (inout StatsReport) -> Void) -> StatsChanges? {
        var stats = StatsReport()
        stats.providers = [StatsReport.Provider(name: "a\u{1B}", dialect: "json", state: "up")]
        change(&stats)
        return StatsChanges(json: Array(stats.rendered(asJSON: true).utf8))
    }

    @Test("counters that changed are told with their rate, and gauges of the machine are not")
    func changes() throws {
        let before = try #require(look { $0["uptime_s"] = 1 })
        let after = try #require(
            look { stats in
                stats["uptime_s"] = 3
                stats["queries.total"] = 2_500
                stats["inflight"] = -3
                stats.latencyMicroseconds["cache"] = percentiles(9, 0, 0)
                stats["process.rss_bytes"] = 1
                stats.providers[0].requests = 1
                stats.providers[0].latencyMilliseconds.p50 = 7
            })
        let changes = after.since(before, seconds: 2)
        #expect(
            StatsChange.text(changes, at: 0) == """
                00:00:00Z
                  inflight                    -3      -1.5/s    -3
                  providers.a\\u{1B}.requests  +1      +0.5/s    1
                  queries.total               +2,500  +1,250/s  2,500

                """)
        #expect(
            StatsChange.object([changes[0]], at: 5)
                == #"{"changes":[{"change":-3,"name":"inflight","per_second":-1.5,"value":-3}],"time_ms":5}"# + "\n")
        #expect(StatsChange.text(before.since(before, seconds: 1), at: 0) == "00:00:00Z  nothing\n")
    }

    @Test("a daemon that was started anew is told by its uptime, or by its questions")
    func startedAnew() throws {
        let before = try #require(look { ($0["uptime_s"], $0["queries.total"]) = (1, 9) })
        for (uptime, questions, isAnew) in [(1, 9, false), (2, 10, false), (0, 9, true), (1, 8, true)] {
            let after = try #require(look { ($0["uptime_s"], $0["queries.total"]) = (uptime, questions) })
            #expect(after.hasBegunAnew(since: before) == isAnew, "\(uptime) s, \(questions) questions")
        }
    }

    @Test("what is no answer to stats is nothing")
    func noAnswer() {
        for text in ["", "error: no\n", "[1]", "7"] { #expect(StatsChanges(json: Array(text.utf8)) == nil) }
    }
}

extension String {
    /// The text without trailing spaces.
    fileprivate var trimmed: String {
        var text = self
        while text.last == " " { text.removeLast() }
        return text
    }
}

private func percentiles(_ p50: Int, _ p95: Int, _ p99: Int) -> StatsReport.Percentiles {
    var percentiles = StatsReport.Percentiles()
    (percentiles.p50, percentiles.p95, percentiles.p99) = (p50, p95, p99)
    return percentiles
}
