// A pace without bursts, which all requests to a provider keep together.

import DNSWire
import Testing

@testable import Fleet

@Suite struct PaceTests {
    private let start = Instant(nanoseconds: 1_000_000_000_000)
    private let interval: Duration = .milliseconds(20)
    private var pace = Pace()

    private mutating func take(_ interval: Duration, isLastResort: Bool = false, after: Duration) -> Pace.Turn {
        pace.take(interval: interval, isLastResort: isLastResort, now: start + after)
    }

    @Test mutating func eachTakesTheNextFreeTime() {
        for number in 0...10 {
            #expect(take(interval, after: .zero) == .wait(interval * number))
        }
        #expect(take(interval, after: .zero) == .deferred(.milliseconds(20)))
        #expect(take(interval, after: .milliseconds(20)) == .wait(.milliseconds(200)))
        // Unused times are not saved up.
        #expect(take(interval, after: .seconds(9)) == .wait(.zero))
        #expect(take(interval, after: .seconds(9)) == .wait(interval))
    }

    @Test mutating func noSecondHasMoreRequestsThanTheRate() {
        var times: [Duration] = []
        for millisecond in 0..<5000 {
            if case .wait(let wait) = take(interval, after: .milliseconds(millisecond)) {
                times.append(.milliseconds(millisecond) + wait)
            }
        }
        for time in times { #expect(times.count { time <= $0 && $0 < time + .seconds(1) } <= 50) }
        #expect((255...265).contains(times.count))
    }

    @Test mutating func aLastResortGoesAtOnceAndTheDebtIsBounded() {
        for _ in 0..<1000 { #expect(take(interval, isLastResort: true, after: .zero) == .wait(.zero)) }
        #expect(take(interval, after: .zero) == .deferred(.milliseconds(800)))
        #expect(take(interval, after: .milliseconds(820)) == .wait(.milliseconds(200)))
    }

    /// 50 members at the moment at which Redis is lost: each has had its requests of the last second from it.
    @Test mutating func afterRedisIsLostAMemberWaitsForItsShare() {
        pace.granted(interval: .seconds(1), after: .milliseconds(100), now: start)
        #expect(take(.seconds(1), after: .zero) == .deferred(.milliseconds(800)))
        #expect(take(.seconds(1), after: .milliseconds(1100)) == .wait(.zero))
    }
}
