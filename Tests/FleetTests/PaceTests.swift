// A pace without bursts that all requests to a provider share.

import DNSWire
import TestSupport
import Testing

@testable import Fleet

@Suite struct PaceTests {
    private let start = Instant(nanoseconds: 1_000_000_000_000)
    private let interval: Duration = .milliseconds(20)
    private var pace = Pace()

    private mutating func take(_ interval: Duration, longest: Duration = Pace.maxWait, after: Duration) -> Duration? {
        switch pace.take(interval: interval, longest: longest, now: start + after) {
        case .at(let turn): turn - (start + after)
        case .deferred: nil
        }
    }

    @Test mutating func eachTakesTheNextFreeTime() {
        for number in 0...10 {
            #expect(take(interval, after: .zero) == interval * number)
        }
        #expect(pace.take(interval: interval, longest: Pace.maxWait, now: start) == .deferred(.milliseconds(20)))
        #expect(take(interval, after: .milliseconds(20)) == .milliseconds(200))
        // Unused times are not saved up.
        #expect(take(interval, after: .seconds(9)) == .zero)
        #expect(take(interval, after: .seconds(9)) == interval)
    }

    @Test mutating func noSecondHasMoreRequestsThanTheRate() {
        var times: [Duration] = []
        for millisecond in 0..<5000 {
            if let wait = take(interval, after: .milliseconds(millisecond)) {
                times.append(.milliseconds(millisecond) + wait)
            }
        }
        for time in times { #expect(times.count { time <= $0 && $0 < time + .seconds(1) } <= 50) }
        #expect((255...265).contains(times.count))
    }

    /// Turns that are given back in any order are taken again, and no second has more requests than the rate.
    @Test mutating func aTurnThatIsGivenBackGoesToTheNextRequest() {
        var chance = SeededRandom(seed: 3)
        var sent: [Duration] = []
        for step in 0..<2000 {
            let now: Duration = .milliseconds(step * 5)
            guard let wait = take(interval, after: now) else { continue }
            if wait > .zero, Bool.random(using: &chance) {
                pace.giveBack(start + now + wait, interval: interval)
            } else {
                sent.append(now + wait)
            }
        }
        for time in sent { #expect(sent.count { time <= $0 && $0 < time + .seconds(1) } <= 50) }
        // About half of all turns were given back.
        #expect((495...511).contains(sent.count), "\(sent.count)")
    }

    @Test mutating func aLastResortWaitsForItsTurnLonger() {
        var waits: [Duration] = []
        let longest = Pace.maxWaitOfLastResort
        while let wait = take(.milliseconds(100), longest: longest, after: .zero) { waits.append(wait) }
        #expect(waits == (0...40).map { .milliseconds($0 * 100) })
        #expect(take(.milliseconds(100), after: .zero) == nil)
        #expect(take(.milliseconds(100), after: .milliseconds(3900)) == .milliseconds(200))
    }

    /// The case of 50 members at the loss of Redis: each has made its requests of the last second by turns from Redis.
    @Test mutating func afterRedisIsLostAMemberWaitsForItsShare() {
        pace.granted(interval: .seconds(1), after: .milliseconds(100), now: start)
        #expect(take(.seconds(1), after: .zero) == nil)
        #expect(take(.seconds(1), after: .milliseconds(1100)) == .zero)
    }
}
