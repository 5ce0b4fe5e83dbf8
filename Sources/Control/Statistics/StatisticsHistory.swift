// The last hour and the last day of the counters, for the charts of the status page. A value without clock and I/O: the
// daemon records its counters every few seconds.

package import DNSWire

/// The history. Its memory is bounded: 360 + 1,440 samples of 68 bytes, and 2 bytes more for each of at most 32
/// providers: 240 kB.
package struct StatisticsHistory: Sendable {
    /// The interval at which the counters are recorded.
    package static let interval: Duration = .seconds(10)

    private var hour = SampleRing(stepSeconds: 10, capacity: 360)
    private var day = SampleRing(stepSeconds: 60, capacity: 1_440)

    package init() {}

    package mutating func record(_ stats: StatsReport, now: Instant) {
        hour.record(stats, now: now)
        day.record(stats, now: now)
    }

    package func report(of span: HistorySpan, now: Instant) -> HistoryReport {
        switch span {
        case .hour: hour.report(now: now)
        case .day: day.report(now: now)
        }
    }
}

package enum HistorySpan: String, CaseIterable, Sendable {
    case hour = "1h"
    case day = "24h"

    /// - Parameter text: the name of the span; nil: an hour.
    package init(_ text: String?) throws(Refusal) {
        guard let span = HistorySpan(rawValue: text ?? HistorySpan.hour.rawValue) else {
            let allowed = HistorySpan.allCases.map(\.rawValue).joined(separator: ", ")
            throw Refusal("unknown span \(quoted(text ?? "")); allowed: \(allowed)")
        }
        self = span
    }
}

/// The changes within one step.
private struct Sample: Sendable {
    /// Counts per step, in the order of `HistoryReport.countPaths`.
    var counts: InlineArray<10, UInt32>
    /// 99th percentiles in microseconds, in the order of `StatsReport.sources`; `unknown` without responses.
    var latencies: InlineArray<4, UInt32>
    var residentKibibytes: UInt32
    var anonymousKibibytes: UInt32
    var cacheKibibytes: UInt32

    static let unknown = UInt32.max

    /// - Parameters:
    ///   - earlier: the counters before the step. A counter that decreased counts as 0.
    ///   - share: the part of a step that has passed since then, within `SampleRing.shares`.
    init(_ stats: StatsReport, since earlier: StatsReport, share: Double) {
        let growths = HistoryReport.countPaths.map { max(0, stats.sum($0.value) - earlier.sum($0.value)) }
        counts = InlineArray { UInt32(clamping: Int(min(Double(growths[$0]) / share, 1e10).rounded())) }
        latencies = InlineArray { index in
            let source = StatsReport.sources[index]
            guard let durations = stats.durations[source] else { return Sample.unknown }
            let recent = durations.since(earlier.durations[source])
            return recent.percentile(99).map { UInt32(clamping: $0) } ?? Sample.unknown
        }
        residentKibibytes = UInt32(clamping: stats["process.rss_bytes"] / 1024)
        anonymousKibibytes = UInt32(clamping: stats["process.anon_bytes"] / 1024)
        cacheKibibytes = UInt32(clamping: stats["cache.bytes"] / 1024)
    }
}

/// Invariant: the sample that is recorded when step n (of `stepSeconds` since boot) begins is at place n % capacity.
/// Places of steps without a sample are nil: the machine slept, or the daemon was blocked.
private struct SampleRing: Sendable {
    private let stepSeconds: Int64
    private let capacity: Int
    private var samples: [Sample?] = []
    /// Latency of each configured provider in milliseconds, at the same places; 0: not measured.
    private var providers: [String: [UInt16]] = [:]
    private var newestStep: Int64 = -1
    private var earlier: (stats: StatsReport, at: Instant)?

    /// The bounds of the passed part of a step. A part that is too short for a rate is counted with the next step.
    /// After a longer pause, a sample would spread the counts over it.
    static let shares = 0.5...2.0

    init(stepSeconds: Int64, capacity: Int) {
        self.stepSeconds = stepSeconds
        self.capacity = capacity
    }

    mutating func record(_ stats: StatsReport, now: Instant) {
        guard let earlier else { return self.earlier = (stats, now) }
        let step = number(of: now)
        guard step > number(of: earlier.at) else { return }
        let share = earlier.at.duration(to: now).seconds / Double(stepSeconds)
        guard share >= SampleRing.shares.lowerBound else { return }
        self.earlier = (stats, now)
        guard share <= SampleRing.shares.upperBound else { return }
        store(Sample(stats, since: earlier.stats, share: share), of: stats.providers, at: step)
    }

    private func number(of instant: Instant) -> Int64 {
        instant.nanoseconds / 1_000_000_000 / stepSeconds
    }

    private mutating func store(_ sample: Sample, of named: [StatsReport.Provider], at step: Int64) {
        if samples.isEmpty { samples = .init(repeating: nil, count: capacity) }
        let names = Set(named.map(\.name))
        for name in providers.keys where !names.contains(name) { providers[name] = nil }
        // Steps that passed without a sample are skipped, at most all places.
        let first = max(newestStep + 1, step - Int64(capacity) + 1)
        let skipped = (first..<max(first, step)).map(place)
        for place in skipped { samples[place] = nil }
        let place = place(of: step)
        samples[place] = sample
        for provider in named {
            var latencies = providers.removeValue(forKey: provider.name) ?? .init(repeating: 0, count: capacity)
            for place in skipped { latencies[place] = 0 }
            latencies[place] = UInt16(clamping: provider.latencyMilliseconds.p50)
            providers[provider.name] = latencies
        }
        newestStep = step
    }

    private func place(of step: Int64) -> Int { Int(step % Int64(capacity)) }

    func report(now: Instant) -> HistoryReport {
        let current = number(of: now)
        // A step before the first sample, or older than the ring, has no value. In this case the report begins later.
        let oldest = max(0, current - Int64(capacity) + 1)
        let steps = samples.isEmpty ? [] : Array(oldest...max(oldest, current))
        let places = steps.map { $0 <= newestStep && $0 > newestStep - Int64(capacity) ? place(of: $0) : nil }
        let first = places.firstIndex { place in place.flatMap { samples[$0] } != nil } ?? places.count
        let shown = places[first...]
        func column(_ value: (Sample) -> UInt32) -> HistoryReport.Column {
            HistoryReport.Column(
                shown.map { place in
                    place.flatMap { samples[$0] }.map(value).flatMap { $0 == Sample.unknown ? nil : Int($0) }
                })
        }
        var report = HistoryReport(stepSeconds: Int(stepSeconds))
        report.ageSeconds = Double(now.nanoseconds) / 1e9 - Double(current * stepSeconds)
        for (index, count) in HistoryReport.countPaths.enumerated() {
            report.counts[count.key] = column { $0.counts[index] }
        }
        for (index, name) in StatsReport.sources.enumerated() {
            report.latencies[name] = column { $0.latencies[index] }
        }
        report.memory = [
            "resident": column(\.residentKibibytes), "anonymous": column(\.anonymousKibibytes),
            "cache": column(\.cacheKibibytes),
        ]
        report.providers = providers.mapValues { latencies in
            HistoryReport.Column(shown.map { $0.flatMap { latencies[$0] == 0 ? nil : Int(latencies[$0]) } })
        }
        return report
    }
}
