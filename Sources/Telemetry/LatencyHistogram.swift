// How long things took, in buckets that grow by a fifth: percentiles without keeping every sample.

/// Invariant: bucket 0 counts below a microsecond, bucket n from 1.2^(n-1) up to 1.2^n microseconds, the last one
/// everything longer.
package struct LatencyHistogram: Sendable {
    /// 1.2^100 microseconds are 83 s, longer than anything waits here.
    private static let bucketCount = 101
    private var buckets = [UInt64](repeating: 0, count: bucketCount)
    private static let bounds: [Double] = {
        var bounds = [1.0]
        while bounds.count < bucketCount { bounds.append((bounds.last ?? 1) * 1.2) }
        return bounds
    }()

    package init() {}

    package mutating func record(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        let microseconds = Double(seconds) * 1e6 + Double(attoseconds) / 1e12
        let bucket = LatencyHistogram.bounds.firstIndex { microseconds < $0 } ?? LatencyHistogram.bucketCount - 1
        buckets[bucket] += 1
    }

    /// Microseconds, at most 20 % above the true value; nil without samples.
    package func percentile(_ percent: Double) -> Int? {
        let total = buckets.reduce(0, +)
        guard total > 0 else { return nil }
        var below: UInt64 = 0
        for (bucket, count) in buckets.enumerated() {
            below += count
            if Double(below) >= Double(total) * percent / 100 {
                return Int(LatencyHistogram.bounds[bucket].rounded(.up))
            }
        }
        return nil
    }
}
