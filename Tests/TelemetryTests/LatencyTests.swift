// Percentiles from buckets are never below the true value and at most a quarter above it; sums are exact at powers of
// two.

import DNSWire
import TestSupport
import Testing

@testable import Telemetry

@Suite("Latency histogram")
struct LatencyTests {
    @Test("no sample, no percentile")
    func empty() {
        #expect(LatencyHistogram().percentile(50) == nil)
    }

    @Test("a percentile is at least the true one and at most a quarter above", arguments: [1, 7, 23] as [UInt64])
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
            let truth = Double(samples[samples.count * percent / 100 - 1])
            let found = Double(try #require(histogram.percentile(Double(percent))))
            #expect(
                found >= truth && found <= truth * 1.25 + 1, "seed \(seed), p\(percent): \(found) for \(truth)")
        }
    }

    @Test("what takes longer than the last bucket counts in it")
    func overflow() throws {
        var histogram = LatencyHistogram()
        histogram.record(.seconds(100_000))
        #expect(histogram.percentile(99) == 1 << LatencyHistogram.octaves)
        #expect(histogram.countsByOctave.last == 1)
    }

    @Test("what took no longer than a power of two is counted below it, to the nanosecond")
    func octaves() {
        for octave in 0...LatencyHistogram.octaves {
            let bound = Duration.microseconds(1 << octave)
            var within = LatencyHistogram()
            within.record(bound)
            var beyond = LatencyHistogram()
            beyond.record(bound + .nanoseconds(1))
            #expect(within.countsByOctave[octave] == 1, "2^\(octave) us")
            #expect(beyond.countsByOctave[octave + 1] == 1, "2^\(octave) us and 1 ns")
        }
        var none = LatencyHistogram()
        none.record(.zero)
        none.record(.seconds(-1))
        #expect(none.countsByOctave[0] == 2 && none.sumMicroseconds == 0)
    }

    @Test("what one thread publishes another reads, sum included")
    func published() {
        let published = PublishedHistogram()
        var expected = LatencyHistogram()
        for (microseconds, count) in [(3, 2), (900, 1), (7, 0)] as [(UInt64, UInt64)] {
            published.record(microseconds: microseconds, count: count)
            for _ in 0..<count { expected.record(.microseconds(Int(microseconds))) }
        }
        #expect(published.read() == expected && expected.sumMicroseconds == 906)
    }
}
