// Decides whether Redis is used: three time-outs or a lost connection switch it off, so that no request waits for an
// unreachable Redis. While it is off, one write a second tests it.

package import DNSWire

package struct RedisBreaker: Sendable {
    private static let maxTimeouts = 3
    private static let pause: Duration = .seconds(1)

    /// False: no question may wait for Redis.
    package private(set) var isInUse = false
    /// Time-outs since the last answer of Redis.
    private var timeouts = 0
    /// When the next test is due; nil: Redis is in use, or a test runs.
    package private(set) var testAt: Instant?
    /// How often Redis was switched off.
    package private(set) var trips: UInt64 = 0

    /// - Parameter now: the first test is due at once; until it succeeds, Redis is not used.
    package init(now: Instant) { testAt = now }

    /// The caller connects if there is no connection, and writes.
    package mutating func testBegan() { testAt = nil }

    /// Redis has answered, a test or a call.
    package mutating func answered() { (isInUse, timeouts, testAt) = (true, 0, nil) }

    /// A call or a test was not answered in time.
    package mutating func timedOut(now: Instant) {
        guard isInUse else { return testFailed(now: now) }
        timeouts += 1
        if timeouts >= RedisBreaker.maxTimeouts { switchOff(now: now) }
    }

    /// The connection was lost or refused, or the reply is not RESP.
    package mutating func lost(now: Instant) {
        if isInUse { switchOff(now: now) } else { testFailed(now: now) }
    }

    /// Another server is to be used, and is tested at once.
    package mutating func moved(now: Instant) { (isInUse, timeouts, testAt) = (false, 0, now) }

    private mutating func switchOff(now: Instant) {
        (isInUse, timeouts, testAt) = (false, 0, now + RedisBreaker.pause)
        trips += 1
    }

    private mutating func testFailed(now: Instant) { testAt = testAt ?? now + RedisBreaker.pause }
}
