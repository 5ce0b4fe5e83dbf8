// Percentiles of a histogram, and the counts that were added to it between two polls.

package import Telemetry

extension StatsReport.Histogram {
    package init(_ histogram: LatencyHistogram) {
        self.init()
        counts = histogram.countsByOctave.map { Int($0) }
        sumMicroseconds = Int(truncatingIfNeeded: histogram.sumMicroseconds)
    }

    /// Returns the counts that were added since the earlier histogram, or all counts if there is none. A count that
    /// decreased counts as 0.
    func since(_ earlier: StatsReport.Histogram?) -> StatsReport.Histogram {
        guard let earlier else { return self }
        var recent = StatsReport.Histogram()
        recent.counts = zip(counts, earlier.counts).map { max(0, $0 - $1) }
        return recent
    }

    /// The percentiles; nil without counts.
    var percentiles: StatsReport.Percentiles? {
        guard let p50 = percentile(50), let p95 = percentile(95), let p99 = percentile(99) else { return nil }
        var percentiles = StatsReport.Percentiles()
        (percentiles.p50, percentiles.p95, percentiles.p99) = (p50, p95, p99)
        return percentiles
    }

    /// Returns the percentile in microseconds, interpolated linearly within its bucket and rounded up; nil without
    /// counts. In the last bucket, which has no upper bound, it is the lower bound.
    func percentile(_ percent: Double) -> Int? {
        let bounds = StatsReport.Histogram.boundsMicroseconds
        let rank = Double(counts.reduce(0, +)) * percent / 100
        var below = 0.0
        for (count, (low, high)) in zip(counts, zip([0] + bounds, bounds + bounds.suffix(1))) where count > 0 {
            if below + Double(count) >= rank {
                return low + Int((Double(high - low) * (rank - below) / Double(count)).rounded(.up))
            }
            below += Double(count)
        }
        return nil
    }
}
