// A histogram of durations with four linear buckets per power of two. Gives percentiles without storing samples.

package import DNSWire

/// Invariant: bucket 0 counts durations up to 1 us. Bucket 1 + 4k + q counts those above 2^k us * (1 + q/4), up to 2^k
/// us * (1 + (q + 1)/4). The last bucket counts all longer ones. So cumulative counts up to 2^k us are exact.
package struct LatencyHistogram: Sendable, Equatable {
    /// Number of powers of two: 2^23 us are 8.4 s, longer than any duration here.
    package static let octaves = 23
    static let bucketCount = 2 + 4 * octaves
    package internal(set) var buckets = [UInt64](repeating: 0, count: bucketCount)
    package internal(set) var sumMicroseconds: UInt64 = 0

    package init() {}

    package mutating func record(_ duration: Duration) {
        let microseconds = duration.microsecondsRoundedUp
        buckets[LatencyHistogram.bucket(ofMicroseconds: microseconds)] += 1
        sumMicroseconds &+= microseconds
    }

    package static func += (sum: inout LatencyHistogram, other: LatencyHistogram) {
        for bucket in sum.buckets.indices { sum.buckets[bucket] += other.buckets[bucket] }
        sum.sumMicroseconds &+= other.sumMicroseconds
    }

    /// Returns the percentile in microseconds: at least the true value, and at most a quarter above it. Nil without
    /// samples. Longer durations count as the end of the last octave.
    package func percentile(_ percent: Double) -> Int? {
        let total = buckets.reduce(0, +)
        guard total > 0 else { return nil }
        var below: UInt64 = 0
        for (bucket, count) in buckets.enumerated() {
            below += count
            if Double(below) >= Double(total) * percent / 100 { return LatencyHistogram.bound(of: bucket) }
        }
        return nil
    }

    /// Counts of durations up to 1 us, then per power of two, then beyond the last one.
    package var countsByOctave: [UInt64] {
        let octaves = (0..<LatencyHistogram.octaves).map { buckets[(1 + 4 * $0)..<(5 + 4 * $0)].reduce(0, +) }
        return [buckets[0]] + octaves + [buckets[LatencyHistogram.bucketCount - 1]]
    }

    static func bucket(ofMicroseconds microseconds: UInt64) -> Int {
        guard microseconds > 1 else { return 0 }
        let rest = microseconds - 1
        let octave = UInt64.bitWidth - 1 - rest.leadingZeroBitCount
        guard octave < octaves else { return bucketCount - 1 }
        return 1 + 4 * octave + Int((rest << 2) >> UInt64(octave) & 3)
    }

    /// The upper bound of a bucket in microseconds.
    private static func bound(of bucket: Int) -> Int {
        guard bucket > 0 else { return 1 }
        let (octave, quarter) = ((bucket - 1) / 4, (bucket - 1) % 4)
        guard octave < octaves else { return 1 << octaves }
        return ((5 + quarter) << octave + 3) / 4
    }
}

extension Duration {
    /// The duration in microseconds, rounded up; 0 for a negative one.
    package var microsecondsRoundedUp: UInt64 {
        nanoseconds <= 0 ? 0 : (UInt64(nanoseconds) + 999) / 1000
    }
}
