// The Prometheus text: it has every number of `stats`, its form passes Prometheus's own checker (end to end), and the
// dashboard uses no other metric.

import Control
import FoundationEssentials
import TestSupport
import Testing

@testable import Daemon
@testable import Upstreams

@Suite("Prometheus text")
struct PrometheusTests {
    /// Numbers of `stats` that the Prometheus text expresses differently, with the reason.
    private let leftOut: [String: String] = [
        "schema": "of the JSON form",
        "queries.total": "the sum over proto",
        "network.changes": "the sum over cause",
        "probe.done": "the sum over verdict",
        "latency_us.cache.p50": "the histogram has it", "latency_us.cache.p95": "the histogram has it",
        "latency_us.cache.p99": "the histogram has it", "latency_us.stale.p50": "the histogram has it",
        "latency_us.stale.p95": "the histogram has it", "latency_us.stale.p99": "the histogram has it",
        "latency_us.provider.p50": "the histogram has it", "latency_us.provider.p95": "the histogram has it",
        "latency_us.provider.p99": "the histogram has it", "latency_us.system.p50": "the histogram has it",
        "latency_us.system.p95": "the histogram has it", "latency_us.system.p99": "the histogram has it",
        "providers.#.latency_ms.p50": "the histogram has it", "providers.#.latency_ms.p95": "the histogram has it",
        "providers.#.billed.fleet": "the ratio says it",
        "nameservers.#.latency_ms.p50": "the histogram has it", "nameservers.#.latency_ms.p95": "the histogram has it",
        "nameservers.#.failures.timeout": "the results have it", "nameservers.#.failures.tls": "the results have it",
        "fleet.made": "the providers' requests have it", "nameservers.#.names": "each request has one",
        "nameservers.#.clock_offset_ms": "always 0",
        "network.recovery_ms.route.p50": "the histogram has it",
        "network.recovery_ms.route.p95": "the histogram has it",
    ]

    @Test("every number of stats changes the text, but for a few that are said in another way")
    func everyNumber() throws {
        let whole = try JSONDecoder().decode(StatsTree.self, from: Data(golden("stats.json").utf8))
        let text = try wholeText
        let changes = whole.changes
        var unsaid: Set<String> = []
        // One bucket of each histogram is enough.
        for (path, changed) in changes where path.suffix(2).first != "counts" || path.last == "0" {
            let report = try JSONDecoder().decode(StatsReport.self, from: JSONEncoder().encode(changed))
            guard Metric.all.prometheus(report) == text else { continue }
            unsaid.insert(path.map { Int($0) == nil ? $0 : "#" }.joined(separator: "."))
        }
        #expect(changes.count > 100)
        #expect(unsaid == Set(leftOut.keys))
    }

    @Test("each family has its help and type once, before its values, and no line is written twice")
    func families() throws {
        let lines = try wholeText.split(separator: "\n")
        #expect(Set(lines).count == lines.count)
        var family: Substring = ""
        var seen: Set<Substring> = []
        for line in lines {
            let words = line.split(separator: " ", maxSplits: 3)
            if line.hasPrefix("# HELP ") {
                family = words[2]
                #expect(seen.insert(family).inserted, "\(family)")
                #expect(words.count == 4 && (words.last ?? "").hasSuffix("."), "\(line)")
            } else if line.hasPrefix("# TYPE ") {
                #expect(words[2] == family)
                #expect((words[3] == "counter") == family.hasSuffix("_total"), "\(line)")
            } else {
                let name = line.prefix { $0 != "{" && $0 != " " }
                let ends = ["", "_bucket", "_sum", "_count"]
                #expect(ends.contains { name == family + $0 }, "\(line) stands under \(family)")
            }
        }
    }

    @Test("durations become buckets that each count all that was shorter")
    func histogram() {
        var report = StatsReport()
        var durations = StatsReport.Histogram()
        (durations.counts[0], durations.counts[3], durations.counts[24]) = (5, 2, 1)
        durations.sumMicroseconds = 9_000_020
        report.durations = ["cache": durations]
        let lines = Metric.all.prometheus(report).split(separator: "\n").filter {
            $0.hasPrefix("httpdnsd_query_duration_seconds")
        }
        #expect(lines.count == 27)
        #expect(lines.first == #"httpdnsd_query_duration_seconds_bucket{source="cache",le="1e-06"} 5"#)
        #expect(lines.contains(#"httpdnsd_query_duration_seconds_bucket{source="cache",le="4e-06"} 5"#))
        #expect(lines.contains(#"httpdnsd_query_duration_seconds_bucket{source="cache",le="8e-06"} 7"#))
        #expect(lines.contains(#"httpdnsd_query_duration_seconds_bucket{source="cache",le="8.388608"} 7"#))
        #expect(
            lines.suffix(3) == [
                #"httpdnsd_query_duration_seconds_bucket{source="cache",le="+Inf"} 8"#,
                #"httpdnsd_query_duration_seconds_sum{source="cache"} 9.00002"#,
                #"httpdnsd_query_duration_seconds_count{source="cache"} 8"#,
            ])
    }

    @Test("a provider's durations are kept to the microsecond, from the first one on")
    func providers() {
        var report = StatsReport()
        var provider = StatsReport.Provider(name: "near", dialect: "json", state: "up")
        (provider.durations.counts[9], provider.durations.sumMicroseconds) = (2, 700)
        report.providers = [provider]
        let lines = Metric.all.prometheus(report).split(separator: "\n").filter {
            $0.hasPrefix("httpdnsd_provider_duration_seconds")
        }
        #expect(lines.contains(#"httpdnsd_provider_duration_seconds_bucket{provider="near",le="0.000256"} 0"#))
        #expect(lines.contains(#"httpdnsd_provider_duration_seconds_bucket{provider="near",le="0.000512"} 2"#))
        #expect(
            lines.suffix(2) == [
                #"httpdnsd_provider_duration_seconds_sum{provider="near"} 0.0007"#,
                #"httpdnsd_provider_duration_seconds_count{provider="near"} 2"#,
            ])
    }

    @Test("a label holds whatever a name may hold")
    func escapes() {
        var report = StatsReport()
        report.providers = [.init(name: "a\"b\\c\nd}", dialect: "json", state: "down")]
        let lines = Metric.all.prometheus(report).split(separator: "\n")
        #expect(lines.contains(#"httpdnsd_provider_up{provider="a\"b\\c\nd}"} 0"#))
    }

    @Test("what is not known is left out, and not said to be 0")
    func unknown() {
        var report = StatsReport()
        report.providers = [.init(name: "new", dialect: "json", state: "unmeasured")]
        let values = Metric.all.prometheus(report).split(separator: "\n").filter { !$0.hasPrefix("#") }
        for name in ["share_ratio", "success_ratio", "retry_seconds", "shadow_requests_total", "duration_seconds"] {
            #expect(!values.contains { $0.hasPrefix("httpdnsd_provider_\(name)") }, "\(name)")
        }
        #expect(!values.contains { $0.hasPrefix("httpdnsd_network_info") })
        #expect(!values.contains { $0.hasPrefix("httpdnsd_network_last_recovery_seconds") })
        #expect(values.contains(#"httpdnsd_provider_up{provider="new"} 1"#))
        #expect(values.contains(#"httpdnsd_provider_state{provider="new",state="unmeasured"} 1"#))
    }

    @Test("the dashboard asks only for metrics that there are")
    func dashboard() throws {
        let top = (0..<4).reduce(#filePath) { path, _ in TestFile.folder(of: path) }
        let bytes = try TestFile.bytes(at: top + "/etc/grafana-dashboard.json")
        let tree = try JSONDecoder().decode(StatsTree.self, from: Data(bytes))
        let queries = tree.strings(named: "expr")
        #expect(queries.count > 15)
        let values = try wholeText.split(separator: "\n").filter { !$0.hasPrefix("#") }
        let known = Set(values.map { String($0.prefix { $0 != "{" && $0 != " " }) })
        for query in queries {
            let words = query.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init)
            let metrics = words.filter { $0.hasPrefix("httpdnsd_") || $0.hasPrefix("process_") }
            #expect(!metrics.isEmpty, "\(query)")
            for metric in metrics { #expect(known.contains(metric), "\(metric) in \(query)") }
        }
    }

    /// The metrics of a report that has a value wherever there can be one.
    private var wholeText: String {
        get throws { Metric.all.prometheus(try #require(StatsReport(answer: Array(golden("stats.json").utf8)))) }
    }
}

extension StatsTree {
    /// Copies that differ in one number each, with the path to that number.
    fileprivate var changes: [(path: [String], tree: StatsTree)] {
        switch self {
        case .number(let number): [([], .number(number + 7))]
        case .share(let share): [([], .share(0.125 + share * 2))]
        case .flag, .text: []
        case .list(let list):
            list.indices.flatMap { index in
                list[index].changes.map { path, changed in
                    var copy = list
                    copy[index] = changed
                    return (["\(index)"] + path, .list(copy))
                }
            }
        case .members(let members):
            members.flatMap { key, part in
                part.changes.map { path, changed in
                    ([key] + path, .members(members.merging([key: changed]) { $1 }))
                }
            }
        }
    }

    /// The texts of all members with this name, at any depth.
    fileprivate func strings(named name: String) -> [String] {
        let own = members[name]?.text.map { [$0] } ?? []
        return own + (list + members.values).flatMap { $0.strings(named: name) }
    }
}
