// The history of the counters: steps, gaps, bounds, and counters that misbehave.

import Control
import DNSWire
import TestSupport
import Testing

@Suite("History of the statistics")
struct StatisticsHistoryTests {
    /// A whole minute since boot.
    private let start = Instant(nanoseconds: 600_000 * 1_000_000_000)

    private func stats(cache: Int = 0, milliseconds: Int = 0, provider: String = "alidns") -> StatsReport {
        var stats = StatsReport()
        (stats["responses.cache"], stats["cache.hits"]) = (cache, cache)
        var durations = StatsReport.Histogram()
        // Bucket 10 ends at 1,024 us.
        durations.counts[10] = cache
        stats.durations = ["cache": durations]
        (stats["process.rss_bytes"], stats["cache.bytes"]) = (8 << 20, 3 << 10)
        var named = StatsReport.Provider(name: provider, dialect: "json", state: "up")
        named.latencyMilliseconds.p50 = milliseconds
        stats.providers = [named]
        return stats
    }

    private func column(_ group: [String: HistoryReport.Column], _ name: String) -> String? { group[name]?.text }

    @Test("each step has what was counted in it, and the oldest comes first")
    func steps() throws {
        var history = StatisticsHistory()
        #expect(column(history.report(of: .hour, now: start).counts, "cache") == "")
        for (step, count) in [5, 15, 15, 45].enumerated() {
            history.record(stats(cache: count, milliseconds: 7 * step), now: start + .seconds(10 * step))
        }
        let report = history.report(of: .hour, now: start + .seconds(34))
        #expect(report.stepSeconds == 10 && report.ageSeconds == 4)
        #expect(column(report.counts, "cache") == "10 0 30" && column(report.counts, "hits") == "10 0 30")
        #expect(column(report.counts, "failed") == "0 0 0")
        // The percentile of the bucket from 513 to 1,024 us.
        #expect(column(report.latencies, "cache") == "1019 - 1019" && column(report.latencies, "stale") == "- - -")
        #expect(column(report.memory, "resident") == "8192 8192 8192" && column(report.memory, "cache") == "3 3 3")
        #expect(column(report.providers, "alidns") == "7 14 21")
    }

    @Test("a minute of the day has what its six records counted")
    func day() {
        var history = StatisticsHistory()
        for step in 0...12 { history.record(stats(cache: step * step), now: start + .seconds(10 * step)) }
        let report = history.report(of: .day, now: start + .seconds(121))
        #expect(report.stepSeconds == 60 && column(report.counts, "cache") == "36 108")
    }

    @Test("a counter that goes backwards counts as nothing")
    func backwards() {
        var history = StatisticsHistory()
        for (step, count) in [50, 3, 4].enumerated() {
            history.record(stats(cache: count), now: start + .seconds(10 * step))
        }
        let report = history.report(of: .hour, now: start + .seconds(20))
        #expect(column(report.counts, "cache") == "0 1" && column(report.latencies, "cache") == "- 1019")
    }

    @Test("a sleep is a gap, and what was counted before its end does not fall into one step")
    func sleep() {
        var history = StatisticsHistory()
        for (seconds, count) in [(0, 0), (10, 10), (103, 500), (110, 507), (120, 517)] {
            history.record(stats(cache: count, milliseconds: 9), now: start + .seconds(seconds))
        }
        let report = history.report(of: .hour, now: start + .seconds(125))
        // A count of 7 in 7 s is 10 in a step.
        let gap = " - - - - - - - - - "
        #expect(column(report.counts, "cache") == "10" + gap + "10 10")
        #expect(column(report.providers, "alidns") == "9" + gap + "9 9")
    }

    @Test("records within one step count once, and none is divided by nothing")
    func crowded() {
        var history = StatisticsHistory()
        for (milliseconds, count) in [(0, 0), (0, 1), (9_999, 2), (10_000, 10), (10_001, 99)] {
            history.record(stats(cache: count), now: start + .milliseconds(milliseconds))
        }
        #expect(column(history.report(of: .hour, now: start + .seconds(11)).counts, "cache") == "10")
    }

    @Test("the first part of a step counts with the next one if it is short")
    func beginning() {
        var history = StatisticsHistory()
        for (milliseconds, count) in [(9_000, 0), (10_000, 50), (20_000, 110)] {
            history.record(stats(cache: count), now: start + .milliseconds(milliseconds))
        }
        #expect(column(history.report(of: .hour, now: start + .seconds(20)).counts, "cache") == "100")
    }

    @Test("an hour and a day are kept, and no more")
    func bounds() {
        var history = StatisticsHistory()
        let steps = 9_000
        for step in 0...steps { history.record(stats(cache: step), now: start + .seconds(10 * step)) }
        let end = start + .seconds(10 * steps)
        let hour = column(history.report(of: .hour, now: end).counts, "cache")?.split(separator: " ")
        let day = column(history.report(of: .day, now: end).counts, "cache")?.split(separator: " ")
        #expect(hour?.count == 360 && hour?.allSatisfy { $0 == "1" } == true)
        #expect(day?.count == 1_440 && day?.allSatisfy { $0 == "6" } == true)
        // Without records the whole range becomes a gap, and later it is empty.
        let later = history.report(of: .hour, now: end + .seconds(3_000))
        #expect(column(later.counts, "cache")?.split(separator: " ").count { $0 == "1" } == 60)
        #expect(column(history.report(of: .hour, now: end + .seconds(3_600)).counts, "cache") == "")
        history.record(stats(cache: steps + 1), now: end + .seconds(86_400))
        history.record(stats(cache: steps + 2), now: end + .seconds(86_410))
        #expect(column(history.report(of: .hour, now: end + .seconds(86_410)).counts, "cache") == "1")
        #expect(column(history.report(of: .day, now: end + .seconds(86_410)).counts, "cache") == "")
    }

    @Test("a provider that is not configured any more is forgotten, and a new one begins")
    func providers() {
        var history = StatisticsHistory()
        for step in 0...2 { history.record(stats(milliseconds: 7), now: start + .seconds(10 * step)) }
        history.record(stats(milliseconds: 8, provider: "google"), now: start + .seconds(30))
        let report = history.report(of: .hour, now: start + .seconds(30))
        #expect(report.providers.keys.sorted() == ["google"] && column(report.providers, "google") == "- - 8")
    }

    @Test("a span has a name")
    func spans() throws {
        #expect(try [nil, "1h", "24h"].map { try HistorySpan($0) } == [.hour, .hour, .day])
        #expect(throws: Refusal("unknown span \"2 h\"; allowed: 1h, 24h")) { try HistorySpan("2 h") }
    }

    @Test("as JSON it is one line with a string per column")
    func json() {
        var history = StatisticsHistory()
        for step in 0...1 { history.record(stats(milliseconds: 7), now: start + .seconds(10 * step)) }
        let text = history.report(of: .hour, now: start + .seconds(10)).jsonLine
        #expect(text.hasPrefix("{\"age_s\":0,\"counts\":{\"blocked\":\"0\",\"cache\":\"0\","))
        #expect(text.hasSuffix("\"step_s\":10}\n"))
        #expect(text.contains("\"providers\":{\"alidns\":\"7\"}"))
    }
}
