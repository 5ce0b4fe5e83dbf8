// Percentiles of a histogram of durations.

import Testing

@testable import Control

struct HistogramPercentilesTests {
    private func histogram(_ counts: [Int: Int]) -> StatsReport.Histogram {
        var histogram = StatsReport.Histogram()
        for (bucket, count) in counts { histogram.counts[bucket] = count }
        return histogram
    }

    @Test("a percentile is interpolated within its bucket, and rounded up")
    func interpolation() {
        // Buckets 4 and 10 hold the durations from 9 to 16 us and from 513 to 1024 us.
        let durations = histogram([4: 98, 10: 2])
        #expect(durations.percentile(50) == 13)
        #expect(durations.percentile(99) == 768)
        #expect(durations.percentile(100) == 1024)
        #expect(histogram([0: 1]).percentile(50) == 1)
        let percentiles = durations.percentiles
        #expect(percentiles?.p50 == 13 && percentiles?.p95 == 16 && percentiles?.p99 == 768)
    }

    @Test("the last bucket has no upper bound, so its percentiles are the lower one")
    func lastBucket() {
        #expect(histogram([24: 5]).percentile(50) == 1 << 23)
        #expect(histogram([23: 1]).percentile(100) == 1 << 23)
    }

    @Test("without counts there is no percentile")
    func empty() {
        #expect(histogram([:]).percentile(99) == nil && histogram([:]).percentiles == nil)
    }

    @Test("what was added since: everything without an earlier histogram, and never less than nothing")
    func since() {
        let later = histogram([4: 7, 10: 2])
        #expect(later.since(nil) == later)
        #expect(later.since(histogram([4: 5, 10: 3])).counts == histogram([4: 2]).counts)
    }
}
