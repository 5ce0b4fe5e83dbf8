// Rates of the counters between two polls, or since the start if there is only one poll.

struct TopRates {
    struct Share {
        let name: String
        let share: String
        let style: StyledLine.Style
    }

    private let later: StatsReport
    /// The earlier counters; nil: rates are since the start.
    private let earlier: StatsReport?
    private let seconds: Double

    init(_ report: TopReport, since earlier: TopReport?) {
        later = report.stats
        let milliseconds = earlier.map { report.bootMilliseconds - $0.bootMilliseconds } ?? 0
        // The daemon, or the machine, may have been restarted between the polls.
        let isComparable = earlier.map { $0.stats.isEarlier(than: report.stats) } ?? false
        self.earlier = isComparable && milliseconds > 0 ? earlier?.stats : nil
        seconds = self.earlier == nil ? Double(max(1, report.stats["uptime_s"])) : Double(milliseconds) / 1000
    }

    var isOfInterval: Bool { earlier != nil }

    /// Returns the growth of a counter per second.
    func perSecond(_ count: (StatsReport) -> Int) -> Double {
        Double(max(0, growth(count))) / seconds
    }

    func requests(of provider: StatsReport.Provider) -> Double {
        perSecond { $0.providers.first { $0.name == provider.name }?.requests ?? 0 }
    }

    /// The share of hits; nil if there was no cache lookup.
    var hitShare: String? {
        let (hits, misses) = (growth { $0["cache.hits"] }, growth { $0["cache.misses"] })
        return LineFormat.percent(hits, of: hits + misses)
    }

    private func growth(_ count: (StatsReport) -> Int) -> Int { count(later) - (earlier.map(count) ?? 0) }

    /// The sources of responses in the order of the line; others come last.
    private static let sources: KeyValuePairs<String, StyledLine.Style> = [
        "cache": .good, "provider": .plain, "system": .plain, "local": .plain, "blocked": .plain, "stale": .doubtful,
        "fallback": .doubtful, "refused": .doubtful, "limited": .doubtful, "failure": .bad,
    ]

    /// Shares of responses by source. Sources without a response are left out, except for the cache.
    var shares: [Share] {
        let whole = growth { $0.sum(["responses"]) }
        guard whole > 0 else { return [Share(name: "none", share: "", style: .quiet)] }
        let known = TopRates.sources.map(\.key)
        let others = later[group: "responses"].keys.filter { !known.contains($0) }.sorted()
        return (Array(TopRates.sources) + others.map { ($0, .plain) }).compactMap { name, style in
            let count = growth { $0["responses.\(name)"] }
            guard count > 0 || name == "cache", let share = LineFormat.percent(count, of: whole) else { return nil }
            return Share(name: name, share: share, style: style)
        }
    }

    /// The latencies of the sources that have any.
    var latencies: [(name: String, text: String)] {
        StatsReport.sources.compactMap { name in
            guard let percentiles = recent(name) ?? later.latencyMicroseconds[name],
                percentiles != StatsReport.Percentiles()
            else { return nil }
            let parts = [percentiles.p50, percentiles.p95, percentiles.p99].map(TopRates.duration)
            return (name, parts.joined(separator: "/"))
        }
    }

    /// Percentiles of the interval; nil if no duration was recorded in it.
    private func recent(_ source: String) -> StatsReport.Percentiles? {
        guard let earlier, let before = earlier.durations[source] else { return nil }
        return later.durations[source]?.since(before).percentiles
    }

    /// Returns a rate as text: "0", "0.3", "12.5" or "1,204".
    static func text(_ rate: Double) -> String {
        // The value is limited so that the conversion to Int cannot overflow.
        let tenths = Int((min(max(rate, 0), 1e12) * 10).rounded())
        return tenths == 0 || tenths >= 1000
            ? LineFormat.grouped((tenths + 5) / 10) : "\(tenths / 10).\(tenths % 10)"
    }

    /// Returns a duration as text: "12us", "1.2ms", "18ms" or "1.5s".
    static func duration(_ microseconds: Int) -> String {
        switch microseconds {
        case ..<1000: "\(microseconds)us"
        case ..<10_000: "\(microseconds / 1000).\(microseconds % 1000 / 100)ms"
        case ..<1_000_000: "\(microseconds / 1000)ms"
        default: "\(microseconds / 1_000_000).\(microseconds % 1_000_000 / 100_000)s"
        }
    }
}

extension StatsReport {
    /// Whether `later` may be a later poll of the same process: no counter has decreased.
    fileprivate func isEarlier(than later: StatsReport) -> Bool {
        [["uptime_s"], ["queries.total"], ["responses"]].allSatisfy { sum($0) <= later.sum($0) }
    }
}
