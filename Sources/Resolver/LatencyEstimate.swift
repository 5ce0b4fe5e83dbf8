// How long answers take: the usual time, in which an old measurement counts less, and the time that 95 of 100 keep to.

struct LatencyEstimate: Sendable {
    /// Milliseconds; nil until the first answer.
    private(set) var smoothed: Double?
    /// In samples: how much the estimate counts against the next one.
    private var weight = 0.0
    private var measuredAt: Instant?
    /// The last samples in the order in which they came, from `oldest` around; and by size.
    private var window: [Double] = []
    private var oldest = 0
    private var sorted: [Double] = []

    /// RFC 6298 section 2 has the eighth part for a new sample, too.
    private static let mostWeight = 8.0
    /// A measurement of a minute ago counts half.
    private static let memory: Duration = .seconds(60)
    /// Three of them may be slower than the 95th percentile, so that one outlier is not the measure.
    private static let windowSize = 64

    mutating func measure(_ elapsed: Duration, now: Instant) {
        // A request that was carried over a sleep says nothing beyond its time-out.
        let sample = max(0, min(elapsed, Bounds.providerTimeout).milliseconds)
        let fading = measuredAt.map { Fading.part(after: $0.duration(to: now), memory: LatencyEstimate.memory) } ?? 0
        measuredAt = now
        weight = min(weight * fading + 1, LatencyEstimate.mostWeight)
        smoothed = smoothed.map { $0 + (sample - $0) / weight } ?? sample
        remember(sample)
    }

    /// Nearest rank; nil until the first answer.
    var percentile95: Double? { sorted.isEmpty ? nil : sorted[(sorted.count * 95 + 99) / 100 - 1] }

    /// So long an answer is worth waiting for. A few samples do not show the spread: after the first it is three times
    /// that (as in RFC 6298), with 64 the 95th percentile and 3 %.
    var patience: Double? {
        guard let percentile95, let smoothed else { return nil }
        return percentile95 + 2 * smoothed / Double(window.count)
    }

    private mutating func remember(_ sample: Double) {
        if window.count < LatencyEstimate.windowSize {
            window.append(sample)
        } else {
            sorted.remove(at: place(of: window[oldest]))
            window[oldest] = sample
            oldest = (oldest + 1) % window.count
        }
        sorted.insert(sample, at: place(of: sample))
    }

    /// Where in the sorted ones the first stands that is not smaller.
    private func place(of sample: Double) -> Int {
        var (low, high) = (0, sorted.count)
        while low < high {
            let middle = (low + high) / 2
            if sorted[middle] < sample { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
