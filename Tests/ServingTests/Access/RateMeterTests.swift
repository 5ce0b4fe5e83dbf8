// The rate meter, compared with a plain model on its own clock: no client exceeds its rate, and few get less.

import DNSWire
import LinuxIO
import Synchronization
import TestSupport
import Testing

@testable import Serving

struct RateMeterTests {
    private static let second: UInt64 = 1_000_000_000

    @Test("a rate lets in so many at once, then evenly so many in a second", arguments: [1, 2, 3, 7, 500, 1_000_000])
    func rate(perSecond: Int) {
        let meter = RateMeter(perSecond: perSecond)
        let start = 50 * RateMeterTests.second
        let atOnce = (0..<perSecond + 10).count { _ in meter.admits(1, now: start) }
        #expect(atOnce == perSecond)
        var later = 0
        let step = max(1, RateMeterTests.second / UInt64(perSecond) / 2)
        for now in stride(from: start, to: start + 3 * RateMeterTests.second, by: Int(step)).prefix(5000)
        where meter.admits(1, now: now) { later += 1 }
        #expect(later <= min(3 * perSecond, 2500))
        #expect(later >= min(3 * perSecond, 2500) - 2)
    }

    @Test("a client that asks evenly within the rate is never refused, however long")
    func even() {
        let meter = RateMeter(perSecond: 100)
        for turn in 0..<100_000 {
            #expect(meter.admits(9, now: RateMeterTests.second + UInt64(turn) * RateMeterTests.second / 100))
        }
    }

    @Test("refused queries do not count: a client that slows down is admitted at once, after a sleep too")
    func forgiveness() {
        let meter = RateMeter(perSecond: 10)
        let start = 7 * RateMeterTests.second
        for _ in 0..<10_000 { _ = meter.admits(1, now: start) }
        #expect(!meter.admits(1, now: start + RateMeterTests.second / 10 - 1))
        #expect(meter.admits(1, now: start + RateMeterTests.second / 10))
        let awake = start + 3600 * RateMeterTests.second
        #expect((0..<20).count { _ in meter.admits(1, now: awake) } == 10)
    }

    @Test("a batch whose time is a little older than another thread's is judged as if it came with it")
    func olderBatch() {
        let meter = RateMeter(perSecond: 10)
        let start = 7 * RateMeterTests.second
        let admitted = (0..<40).count { meter.admits(1, now: start - UInt64($0 % 2) * 5_000_000) }
        #expect(admitted == 10)
    }

    @Test("one client's cells say what a bucket of its own would", arguments: [1, 2, 3] as [UInt64])
    func model(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let perSecond = 50
        let meter = RateMeter(perSecond: perSecond)
        var (now, due) = (RateMeterTests.second, UInt64(0))
        let interval = RateMeterTests.second / UInt64(perSecond)
        for _ in 0..<20_000 {
            now += UInt64.random(in: 0...2 * interval, using: &random)
            if Int.random(in: 0..<500, using: &random) == 0 { now += 5 * RateMeterTests.second }
            let arrival = max(due, now)
            let expected = arrival - now <= interval * UInt64(perSecond - 1)
            if expected { due = arrival + interval }
            #expect(meter.admits(77, now: now) == expected, "seed \(seed)")
        }
    }

    @Test("two keys that share one cell do not limit each other, and with both cells they share one rate")
    func collisions() {
        let (row, now) = (UInt64(RateMeter.cellsPerRow), RateMeterTests.second)
        let other = RateMeter(perSecond: 10)
        // The other key has the same cell in the first row, and another one in the second.
        for _ in 0..<1000 { _ = other.admits(5, now: now) }
        #expect((0..<20).count { _ in other.admits(5 | 1 << 32, now: now) } == 10)
        let same = RateMeter(perSecond: 10)
        let together = (0..<40).count { same.admits($0 % 2 == 0 ? 5 : 5 + row, now: now) }
        #expect(together == 10)
    }

    @Test("among a thousand innocent ones and 200 that flood, few innocent ones are refused and no flooder gets more")
    func crowd() {
        var random = SeededRandom(seed: 4)
        let meter = RateMeter(perSecond: 20)
        let (flooders, innocents) = (0..<200, 200..<1200)
        let hashes = (0..<1200).map { _ in random.next() }
        var admitted = [Int](repeating: 0, count: 1200)
        for tick in 0..<2000 {
            let now = RateMeterTests.second + UInt64(tick) * 5_000_000
            for key in flooders where meter.admits(hashes[key], now: now) { admitted[key] += 1 }
            let calm = innocents.lowerBound + tick % innocents.count
            if meter.admits(hashes[calm], now: now) { admitted[calm] += 1 }
        }
        // The limit is the rate over ten seconds plus the burst.
        #expect(flooders.allSatisfy { admitted[$0] <= 20 * 11 })
        #expect(innocents.count { admitted[$0] < 2 } <= 30)
    }

    @Test("two threads let in no more than twice the rate, and no less than the rate")
    func threads() throws {
        let meter = RateMeter(perSecond: 1000)
        let admitted = Atomic<Int>(0)
        let flood = { @Sendable in
            for turn in 0..<200_000 {
                let now = RateMeterTests.second + UInt64(turn / 100) * 1_000_000
                if meter.admits(3, now: now) { admitted.add(1, ordering: .relaxed) }
            }
        }
        let one = try NamedThread("flood 1", flood)
        let other = try NamedThread("flood 2", flood)
        one.join()
        other.join()
        // The limit is the rate over two seconds plus the burst.
        let count = admitted.load(ordering: .relaxed)
        #expect((2900...6000).contains(count), "\(count)")
    }
}
