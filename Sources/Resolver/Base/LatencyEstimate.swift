// Latency estimate: a smoothed mean in which old samples count less, and the 95th percentile.

package import DNSWire

package struct LatencyEstimate: Sendable {
    /// Milliseconds; nil until the first answer.
    package private(set) var smoothed: Double?
    /// Weight of the estimate against the next sample, in samples.
    private var weight = 0.0
    private var measuredAt: Instant?
    /// The last samples: a ring in insertion order that starts at `oldest`, and a sorted copy.
    private var window: [Double] = []
    private var oldest = 0
    private var sorted: [Double] = []

    /// A new sample counts at least one eighth, as in RFC 6298 section 2.
    private static let mostWeight = 8.0
    /// A measurement one minute old counts half.
    private static let memory: Duration = .seconds(60)
    /// Three samples may exceed the 95th percentile, so that one outlier does not define it.
    private static let windowSize = 64

    package init() {}

    package mutating func measure(_ elapsed: Duration, now: Instant) {
        // A request that spans a system sleep proves nothing beyond its timeout.
        let sample = max(0, min(elapsed, Bounds.providerTimeout).milliseconds)
        let decay = measuredAt.map { Decay.part(after: $0.duration(to: now), memory: LatencyEstimate.memory) } ?? 0
        measuredAt = now
        weight = min(weight * decay + 1, LatencyEstimate.mostWeight)
        smoothed = smoothed.map { $0 + (sample - $0) / weight } ?? sample
        remember(sample)
    }

    /// Percentiles by nearest rank; nil until the first answer.
    package var percentile95: Double? { sorted.isEmpty ? nil : sorted[(sorted.count * 95 + 99) / 100 - 1] }
    package var percentile99: Double? { sorted.isEmpty ? nil : sorted[(sorted.count * 99 + 99) / 100 - 1] }

    /// Time to wait for an answer. A few samples do not show the spread. After the first sample it is three times the
    /// sample (as in RFC 6298), with 64 the 95th percentile plus 3 %.
    package var expectedAnswerTime: Double? {
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

    /// Returns the index of the first sorted sample that is not smaller.
    private func place(of sample: Double) -> Int {
        var (low, high) = (0, sorted.count)
        while low < high {
            let middle = (low + high) / 2
            if sorted[middle] < sample { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
