// Percentiles from buckets: never under the truth, and at most a fifth over it.

import TestSupport
import Testing

@testable import Telemetry

@Suite("Latency histogram")
struct LatencyTests {
    @Test("no sample, no percentile")
    func empty() {
        #expect(LatencyHistogram().percentile(50) == nil)
    }

    @Test("a percentile is at least the true one and at most 20 % above", arguments: [1, 7, 23] as [UInt64])
    func accuracy(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var histogram = LatencyHistogram()
        var samples: [Int] = []
        for _ in 0..<10_000 {
            let microseconds = Int.random(in: 1...2_000_000, using: &random)
            samples.append(microseconds)
            histogram.record(.microseconds(microseconds))
        }
        samples.sort()
        for percent in [50, 95, 99] {
            let truth = Double(samples[samples.count * percent / 100])
            let found = Double(try #require(histogram.percentile(Double(percent))))
            #expect(
                found >= truth * 0.99 && found <= truth * 1.21 + 1, "seed \(seed), p\(percent): \(found) for \(truth)")
        }
    }

    @Test("what takes longer than the last bucket counts in it")
    func overflow() throws {
        var histogram = LatencyHistogram()
        histogram.record(.seconds(100_000))
        #expect(try #require(histogram.percentile(99)) > 60_000_000)
    }
}
