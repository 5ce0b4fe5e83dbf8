// The use of Redis, decided by its replies and time-outs.

import DNSWire
import Testing

@testable import Fleet

@Suite struct RedisBreakerTests {
    private let start = Instant(nanoseconds: 1_000_000_000_000)

    @Test func theFirstTestIsDueAtOnceAndNothingWaitsForIt() {
        var breaker = RedisBreaker(now: start)
        #expect(!breaker.isInUse && breaker.testAt == start)
        breaker.testBegan()
        #expect(breaker.testAt == nil)
        breaker.lost(now: start)
        #expect(breaker.testAt == start + .seconds(1) && breaker.trips == 0)
        breaker.testBegan()
        breaker.answered()
        #expect(breaker.isInUse && breaker.testAt == nil)
    }

    @Test func threeTimeoutsInARowSwitchItOff() {
        var breaker = RedisBreaker(now: start)
        breaker.answered()
        breaker.timedOut(now: start)
        breaker.timedOut(now: start)
        breaker.answered()
        breaker.timedOut(now: start)
        breaker.timedOut(now: start)
        #expect(breaker.isInUse)
        breaker.timedOut(now: start)
        #expect(!breaker.isInUse && breaker.testAt == start + .seconds(1) && breaker.trips == 1)
        // The other waiting calls time out as well and change nothing.
        breaker.timedOut(now: start + .milliseconds(1))
        #expect(breaker.testAt == start + .seconds(1) && breaker.trips == 1)
    }

    @Test func aLostConnectionSwitchesItOff() {
        var breaker = RedisBreaker(now: start)
        breaker.answered()
        breaker.lost(now: start)
        #expect(!breaker.isInUse && breaker.trips == 1)
        breaker.testBegan()
        breaker.timedOut(now: start + .seconds(1))
        #expect(breaker.testAt == start + .seconds(2))
    }
}
