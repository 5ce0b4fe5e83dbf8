// The clock of Redis, which is the only one that counts in a fleet: members' clocks may be wrong.

package import DNSWire

/// Milliseconds since 1970.
package struct RedisTime: Equatable, Sendable {
    package let milliseconds: Int64

    package init(_ milliseconds: Int64) { self.milliseconds = milliseconds }

    /// Accepts a time that Redis tells; nil for a time that no clock has: sealed messages have six bytes for it.
    package init?(told milliseconds: Int64) {
        guard 1..<1 << 47 ~= milliseconds else { return nil }
        self.milliseconds = milliseconds
    }

    package static func - (left: RedisTime, right: RedisTime) -> Duration {
        .milliseconds(left.milliseconds.subtractingReportingOverflow(right.milliseconds).partialValue)
    }
}

/// Follows the clock of Redis between its replies.
struct RedisClock: Sendable {
    /// A reply that took longer tells a time that is too old.
    private static let mostDelay: Duration = .seconds(1)

    private var heard: (time: RedisTime, at: Instant)?

    /// A reply told the time.
    ///
    /// - Parameter sentAt: when the call was sent.
    mutating func set(_ time: RedisTime, sentAt: Instant, now: Instant) {
        if heard == nil || sentAt.duration(to: now) <= RedisClock.mostDelay { heard = (time, now) }
    }

    /// Returns the time of Redis; nil before the first reply.
    func time(at now: Instant) -> RedisTime? {
        heard.map { RedisTime($0.time.milliseconds &+ Int64($0.at.duration(to: now).wholeMilliseconds)) }
    }
}
