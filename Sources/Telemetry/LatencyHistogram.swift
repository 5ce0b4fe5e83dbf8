// How long things took, in buckets that grow by a quarter of a power of two: percentiles without keeping every sample.

/// Invariant: bucket 0 counts up to 1 microsecond, bucket 1 + 4k + q what is longer than 2^k microseconds and q
/// quarters of it, and no longer than q + 1 quarters; the last one everything longer. So the sum up to 2^k
/// microseconds, included, is exact.
package struct LatencyHistogram: Sendable, Equatable {
    /// 2^23 microseconds are 8.4 s, longer than anything waits here.
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

    /// Microseconds, never under the true value and at most a quarter above it; nil without samples. The end of the
    /// last octave stands for all that is longer.
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

    /// How many took up to 1 us, then from each power of two to the next one, and longer than the last.
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

    /// The longest that is counted there.
    private static func bound(of bucket: Int) -> Int {
        guard bucket > 0 else { return 1 }
        let (octave, quarter) = ((bucket - 1) / 4, (bucket - 1) % 4)
        guard octave < octaves else { return 1 << octaves }
        return ((5 + quarter) << octave + 3) / 4
    }
}

extension Duration {
    /// 0 for what is negative.
    package var microsecondsRoundedUp: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        return UInt64(seconds) &* 1_000_000 &+ UInt64((attoseconds + 999_999_999_999) / 1_000_000_000_000)
    }
}
