// A row of the table of metrics. `stats` as JSON and text has its numbers by path, Prometheus text as a family.

import Control
import DNSWire
import LinuxIO
import Resolver
import Serving
import Telemetry

struct Metric: Sendable {
    /// Returns nil for a part of the daemon that the settings leave out.
    typealias Read = @Sendable (StatisticsReading) -> (any Figure)?

    /// The family in Prometheus text; nil: Prometheus computes the number, or has no use for it.
    let family: MetricFamily<StatsReport>?
    /// The paths in JSON, such as "cache.hits", with what is read there. None for a section of the report.
    let parts: [Part]

    struct Part: Sendable {
        let path: String
        let read: Read

        static func at(_ path: String, _ read: @escaping Read) -> Part { Part(path: path, read: read) }
    }

    /// A number or text that only JSON and text have.
    static func only(_ path: String, _ read: @escaping Read) -> Metric {
        Metric(family: nil, parts: [.at(path, read)])
    }

    /// - Parameters:
    ///   - name: the name in Prometheus without the prefix and "_total"; nil: the path with underscores.
    ///   - label: the label that tells the numbers of a group apart.
    static func counter(
        _ path: String, as name: String? = nil, _ help: String, by label: String = "", _ read: @escaping Read
    ) -> Metric {
        Metric(
            family: .counter(name ?? path.underscored, help, by: label) { $0.figures[path] }, parts: [.at(path, read)])
    }

    static func gauge(
        _ path: String, as name: String? = nil, _ help: String, by label: String = "", _ read: @escaping Read
    ) -> Metric {
        Metric(
            family: .gauge(name ?? path.underscored, help, by: label) { $0.figures[path] }, parts: [.at(path, read)])
    }

    /// Several numbers in one family, in this order, by the value of the label.
    static func counter(
        _ name: String, _ help: String, by label: String, _ parts: KeyValuePairs<String, Part>
    ) -> Metric {
        let paths = parts.map { ($0.key, $0.value.path) }
        return Metric(
            family: .counter(name, help) { report in
                paths.compactMap { value, path in
                    report.figures[path]?.number.map { MetricSample($0, (label, value)) }
                }
            },
            parts: parts.map(\.value))
    }

    /// The counts of `Count` in a group, each at `path` by the value of its label, in this order.
    static func counter(
        _ path: String, as name: String? = nil, _ help: String, by label: String,
        _ counts: KeyValuePairs<String, Count>
    ) -> Metric {
        let parts = counts.map { value, count in (value, Part.at("\(path).\(value)") { $0.sum[count] }) }
        return Metric(
            family: .counter(name ?? path, help) { report in
                parts.map { MetricSample(report[$1.path], (label, $0)) }
            }, parts: parts.map(\.1))
    }
}

extension [Metric] {
    /// The metrics of a section of the report.
    init(_ families: [MetricFamily<StatsReport>]) { self = families.map { Metric(family: $0, parts: []) } }

    func figures(_ reading: StatisticsReading) -> StatsTree {
        var tree = StatsTree.members([:])
        for part in flatMap(\.parts) {
            if let figure = part.read(reading) { tree[part.path] = figure.tree }
        }
        return tree
    }

    func prometheus(_ report: StatsReport) -> String { compactMap { $0.family?.text(of: report) }.joined() }
}

/// The source of the metrics. The counts of other threads are read once, so that all numbers are of one moment.
@dynamicMemberLookup
struct StatisticsReading {
    private let statistics: Statistics
    /// Sum over all threads.
    let sum: Tally
    let cached: AnswerCache.Counts
    let stored: StoreThread.Counts
    var probes: ProbeCounts
    let process = ProcessStatus.current()

    /// - Parameter sum: the counts of all threads.
    init(_ statistics: Statistics, _ sum: Tally) {
        (self.statistics, self.sum) = (statistics, sum)
        cached = statistics.cache.counts()
        stored = statistics.resolving.store?.counts ?? StoreThread.Counts()
        probes = statistics.resolving.resolver.probeCounts
    }

    /// Queries of clients, without the daemon's own checks that came back to it.
    func clientQueries(over transport: Transport) -> UInt64 {
        sum.queries(over: transport) - statistics.resolving.counted.returnedChecks[transport, default: 0]
    }

    /// The sets of nftables; nil without rules that name sets.
    var sets: AddressSets? { statistics.resolving.addressSets.isOn ? statistics.resolving.addressSets : nil }

    /// Number of the daemon's own checks that came back to it.
    var returnedChecks: UInt64 { statistics.resolving.counted.returnedChecks.values.reduce(0, +) }

    subscript<Value>(dynamicMember path: KeyPath<Statistics, Value>) -> Value { statistics[keyPath: path] }
}

/// A value that `stats` can show.
protocol Figure {
    var tree: StatsTree { get }
}

extension Figure where Self: BinaryInteger {
    var tree: StatsTree { .number(Int(self)) }
}

extension Int: Figure {}
extension Int64: Figure {}
extension UInt64: Figure {}

extension Double: Figure {
    var tree: StatsTree { .share(self) }
}

extension String: Figure {
    var tree: StatsTree { .text(self) }

    fileprivate var underscored: String { String(map { $0 == "." ? "_" : $0 }) }
}

extension StatsReport.Histogram: Figure {
    var tree: StatsTree { .members(["counts": counts.tree, "sum_us": sumMicroseconds.tree]) }
}

extension Array: Figure where Element: Figure {
    var tree: StatsTree { .list(map(\.tree)) }
}

extension Dictionary: Figure where Key == String, Value: Figure {
    var tree: StatsTree { .members(mapValues(\.tree)) }
}
