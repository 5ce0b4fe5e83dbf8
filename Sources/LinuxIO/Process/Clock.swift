// The only place that reads clocks; other components get the time as a parameter.

import CLinux
package import DNSWire
import Glibc

package enum Clock {
    package static func now() -> Instant {
        var time = timespec()
        let result = unsafe clock_gettime(CLOCK_BOOTTIME, &time)
        precondition(result == 0, "every Linux has a clock that counts suspended time")
        return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// Returns whole milliseconds between boot and `instant`.
    package static func millisecondsSinceBoot(_ instant: Instant) -> Int64 { instant.nanoseconds / 1_000_000 }

    /// Returns whole nanoseconds between boot and `instant`.
    package static func nanosecondsSinceBoot(_ instant: Instant) -> UInt64 { UInt64(max(0, instant.nanoseconds)) }

    /// Returns the boot time by the wall clock, to be added to `nanosecondsSinceBoot`.
    package static func bootMicrosecondsSince1970() -> Int64 {
        let elapsed = Int64(nanosecondsSinceBoot(now()))
        return (wallNanoseconds() - elapsed) / 1000
    }

    /// Returns 1970-01-01 by the wall clock, which may be set at any time.
    package static func epoch() -> Instant { Instant(nanoseconds: -1000 * bootMicrosecondsSince1970()) }

    /// Time since boot without suspended time (CLOCK_MONOTONIC). Its lag behind `now` is the suspended time.
    package static func awake() -> Duration {
        var time = timespec()
        let result = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        precondition(result == 0, "every Linux has a clock that does not jump")
        return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
    }

    /// Milliseconds since 1970 by the wall clock, which may jump. Only for values that must hold across restarts.
    package static func wallMilliseconds() -> Int64 { wallNanoseconds() / 1_000_000 }

    /// Whether a time service synchronises the wall clock; nil: unknown.
    package static var isSynchronised: Bool? {
        let answer = clinux_clock_is_synchronised()
        return answer < 0 ? nil : answer == 1
    }

    private static func wallNanoseconds() -> Int64 {
        var time = timespec()
        let result = unsafe clock_gettime(CLOCK_REALTIME, &time)
        precondition(result == 0, "every Linux has a wall clock")
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// Returns a timeout for poll and epoll_wait. Rounded up, because a rounded-down wait would repeatedly end just
    /// before its deadline.
    package static func milliseconds(from now: Instant, to deadline: Instant) -> Int32 {
        guard deadline > now else { return 0 }
        let milliseconds = (deadline.nanoseconds - now.nanoseconds + 999_999) / 1_000_000
        return Int32(min(milliseconds, longestWaitSeconds * 1000))
    }

    /// Bound on a wait, which keeps its milliseconds within 32 bits. A longer wait causes one extra wake-up per day.
    private static let longestWaitSeconds: Int64 = 86_400
}
