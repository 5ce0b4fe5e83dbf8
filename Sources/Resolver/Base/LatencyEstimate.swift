// Latency estimate: a smoothed mean in which old samples count less, and the 95th percentile.

package import DNSWire

package struct LatencyEstimate: Sendable {
    /// Milliseconds; nil until the first answer.
    package private(set) var smoothed: Double?
    /// Weight of the estimate against the next sample, in samples.
    private var weight = 0.0
    private var measuredAt: Instant?
    /// The last samples: a ring in insertion order that starts at `oldest`.
    private var window: [Double] = []
    private var oldest = 0
    /// The largest samples of the window, descending: as many as lie above the percentiles, and the percentile itself.
    /// A place without a sample is negative.
    private var largest = LatencyEstimate.noneLarge

    /// A new sample counts at least one eighth, as in RFC 6298 section 2.
    private static let mostWeight = 8.0
    /// A measurement one minute old counts half.
    private static let memory: Duration = .seconds(60)
    /// Three samples may exceed the 95th percentile, so that one outlier does not define it.
    private static let windowSize = 64
    private static let noneLarge = InlineArray<4, Double>(repeating: -1)

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
    package var percentile95: Double? { percentile(95) }
    package var percentile99: Double? { percentile(99) }

    /// Time to wait for an answer. A few samples do not show the spread. After the first sample it is three times the
    /// sample (as in RFC 6298), with 64 the 95th percentile plus 3 %.
    package var expectedAnswerTime: Double? {
        guard let percentile95, let smoothed else { return nil }
        return percentile95 + 2 * smoothed / Double(window.count)
    }

    private func percentile(_ share: Int) -> Double? {
        guard !window.isEmpty else { return nil }
        return largest[window.count - (window.count * share + 99) / 100]
    }

    private mutating func remember(_ sample: Double) {
        guard window.count == LatencyEstimate.windowSize else {
            window.append(sample)
            return noteLarge(sample)
        }
        let gone = window[oldest]
        window[oldest] = sample
        oldest = (oldest + 1) % window.count
        guard gone >= largest[largest.count - 1] else { return noteLarge(sample) }
        largest = LatencyEstimate.noneLarge
        for sample in window { noteLarge(sample) }
    }

    private mutating func noteLarge(_ sample: Double) {
        guard sample > largest[largest.count - 1] else { return }
        var place = largest.count - 1
        while place > 0, largest[place - 1] < sample {
            largest[place] = largest[place - 1]
            place -= 1
        }
        largest[place] = sample
    }
}
