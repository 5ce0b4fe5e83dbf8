// The usual latency and the 95th percentile, compared with a plain calculation.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Latency estimate")
struct LatencyEstimateTests {
    private let start = Instant.testStart

    @Test("the percentile is the nearest rank of the last 64 samples", arguments: [UInt64(1), 2, 3])
    func percentile(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var estimate = LatencyEstimate()
        var samples: [Int] = []
        for _ in 0..<300 {
            samples.append(Int.random(in: 0...20, using: &random) * 10)
            estimate.measure(.milliseconds(try #require(samples.last)), now: start)
            let window = samples.suffix(64).sorted()
            let rank = (Double(window.count) * 0.95).rounded(.up)
            #expect(estimate.percentile95 == Double(window[Int(rank) - 1]), "seed \(seed)")
        }
    }

    @Test("the first samples count alike, later ones an eighth")
    func weights() throws {
        var estimate = LatencyEstimate()
        #expect(estimate.smoothed == nil && estimate.percentile95 == nil && estimate.expectedAnswerTime == nil)
        for _ in 0..<4 { estimate.measure(.milliseconds(10), now: start) }
        estimate.measure(.milliseconds(60), now: start)
        #expect(estimate.smoothed == 20)
        for _ in 0..<100 { estimate.measure(.milliseconds(80), now: start) }
        estimate.measure(.milliseconds(160), now: start)
        let smoothed = try #require(estimate.smoothed)
        #expect(abs(smoothed - 90) < 0.1)
    }

    @Test("a time before the first and one beyond the time-out count as the limits")
    func limits() {
        var estimate = LatencyEstimate()
        estimate.measure(.seconds(-5), now: start)
        #expect(estimate.smoothed == 0)
        estimate.measure(.seconds(7200), now: start - .seconds(9))
        #expect(estimate.percentile95 == 3000)
    }
}
