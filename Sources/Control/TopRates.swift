// What two looks at the counters say of the time between them; of one look alone, what there was since the start.

struct TopRates {
    struct Share {
        let name: String
        let share: String
        let style: StyledLine.Style
    }

    private let later: StatsReport
    /// Nil: the start.
    private let earlier: StatsReport?
    private let seconds: Double

    init(_ report: TopReport, since earlier: TopReport?) {
        later = report.stats
        let milliseconds = earlier.map { report.bootMilliseconds - $0.bootMilliseconds } ?? 0
        // Another daemon has begun to count, perhaps after another boot.
        let isComparable = earlier.map { $0.stats.isEarlier(than: report.stats) } ?? false
        self.earlier = isComparable && milliseconds > 0 ? earlier?.stats : nil
        seconds = self.earlier == nil ? Double(max(1, report.stats.uptimeSeconds)) : Double(milliseconds) / 1000
    }

    var isOfInterval: Bool { earlier != nil }

    /// How fast a counter grows.
    func perSecond(_ count: (StatsReport) -> Int) -> Double {
        Double(max(0, count(later) - (earlier.map(count) ?? 0))) / seconds
    }

    func requests(of provider: StatsReport.Provider) -> Double {
        perSecond { $0.providers.first { $0.name == provider.name }?.requests ?? 0 }
    }

    /// Nil when nothing was looked for.
    var hitShare: String? {
        let hits = later.cache.hits - (earlier?.cache.hits ?? 0)
        let misses = later.cache.misses - (earlier?.cache.misses ?? 0)
        return LineFormat.percent(hits, of: hits + misses)
    }

    /// Where answers came from; what nothing came from is left out where it says nothing.
    var shares: [Share] {
        let whole = later.responses.sum - (earlier?.responses.sum ?? 0)
        let sources: [(String, KeyPath<StatsReport.Responses, Int>, StyledLine.Style)] = [
            ("cache", \.cache, .good), ("provider", \.provider, .plain), ("system", \.system, .plain),
            ("local", \.local, .plain), ("stale", \.stale, .doubtful), ("fallback", \.fallback, .doubtful),
            ("refused", \.refused, .doubtful), ("limited", \.limited, .doubtful), ("failure", \.failure, .bad),
        ]
        return sources.compactMap { name, source, style in
            let count = later.responses[keyPath: source] - (earlier?.responses[keyPath: source] ?? 0)
            guard let share = LineFormat.percent(count, of: whole) else {
                return name == "cache" ? Share(name: "none", share: "", style: .quiet) : nil
            }
            return count > 0 || name == "cache" ? Share(name: name, share: share, style: style) : nil
        }
    }

    /// By source, where there are any.
    var latencies: [(name: String, text: String)] {
        let sources = [
            ("cache", later.latencyMicroseconds.cache), ("stale", later.latencyMicroseconds.stale),
            ("provider", later.latencyMicroseconds.provider), ("system", later.latencyMicroseconds.system),
        ]
        return sources.compactMap { name, sinceStart in
            let percentiles = recent(name) ?? sinceStart
            guard percentiles != StatsReport.Percentiles() else { return nil }
            let parts = [percentiles.p50, percentiles.p95, percentiles.p99].map(TopRates.duration)
            return (name, parts.joined(separator: "/"))
        }
    }

    /// Of the interval; nil without durations in it.
    private func recent(_ source: String) -> StatsReport.Percentiles? {
        guard let earlier, let now = later.durations[source]?.counts, let before = earlier.durations[source]?.counts,
            now.count == before.count
        else { return nil }
        let counts = zip(now, before).map { max(0, $0 - $1) }
        let whole = counts.reduce(0, +)
        guard whole > 0 else { return nil }
        var percentiles = StatsReport.Percentiles()
        percentiles.p50 = percentile(50, of: counts, whole)
        percentiles.p95 = percentile(95, of: counts, whole)
        percentiles.p99 = percentile(99, of: counts, whole)
        return percentiles
    }

    /// Microseconds, as if what is in a bucket were spread over it evenly.
    private func percentile(_ part: Int, of counts: [Int], _ whole: Int) -> Int {
        let bounds = StatsReport.Histogram.boundsMicroseconds
        var below = 0
        for (bucket, count) in counts.enumerated() {
            // Beyond the last bound it is not known how far.
            guard bucket < bounds.count else { break }
            if count > 0, (below + count) * 100 >= whole * part {
                let lower = bucket > 0 ? bounds[bucket - 1] : 0
                let share = (Double(whole * part) / 100 - Double(below)) / Double(count)
                return lower + Int(Double(bounds[bucket] - lower) * min(max(share, 0), 1))
            }
            below += count
        }
        return bounds.last ?? 0
    }

    /// "0", "0.3", "12.5" or "1,204".
    static func text(_ rate: Double) -> String {
        // Nothing counts to more in a second.
        let tenths = Int((min(max(rate, 0), 1e12) * 10).rounded())
        return tenths == 0 || tenths >= 1000
            ? LineFormat.grouped((tenths + 5) / 10) : "\(tenths / 10).\(tenths % 10)"
    }

    /// "12us", "1.2ms", "18ms" or "1.5s".
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
    /// Nothing has begun anew between them.
    fileprivate func isEarlier(than later: StatsReport) -> Bool {
        uptimeSeconds <= later.uptimeSeconds && queries.total <= later.queries.total
            && responses.sum <= later.responses.sum
    }
}
