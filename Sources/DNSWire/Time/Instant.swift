// Moments on the clock that the whole daemon uses. Reads no clock.

/// A moment since boot, suspended time included (CLOCK_BOOTTIME), so that TTLs age during suspend.
///
/// Eight bytes with a fixed layout: an optional `ContinuousClock.Instant` is copied through the standard library's
/// runtime functions, and with it every struct that holds one.
package struct Instant: Hashable, Sendable {
    /// Nanoseconds since boot.
    package let nanoseconds: Int64

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    package func duration(to other: Instant) -> Duration {
        .nanoseconds(other.nanoseconds.subtractingClamped(nanoseconds))
    }

    package func advanced(by duration: Duration) -> Instant {
        Instant(nanoseconds: nanoseconds.addingClamped(duration.nanoseconds))
    }

    package static func + (instant: Instant, duration: Duration) -> Instant { instant.advanced(by: duration) }

    package static func - (instant: Instant, duration: Duration) -> Instant {
        Instant(nanoseconds: instant.nanoseconds.subtractingClamped(duration.nanoseconds))
    }

    package static func - (left: Instant, right: Instant) -> Duration { right.duration(to: left) }

    package static func += (instant: inout Instant, duration: Duration) { instant = instant + duration }
}

extension Instant: Comparable {
    package static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }
    // Other modules call the default implementations through the protocol.
    package static func > (left: Instant, right: Instant) -> Bool { left.nanoseconds > right.nanoseconds }
    package static func <= (left: Instant, right: Instant) -> Bool { left.nanoseconds <= right.nanoseconds }
    package static func >= (left: Instant, right: Instant) -> Bool { left.nanoseconds >= right.nanoseconds }
}

extension Instant {
    /// A deadline that has always passed: what waits for it is due in the next turn of the loop.
    package static let atOnce = Instant(nanoseconds: 0)

    /// Returns the earlier of two optional instants; nil if both are nil.
    package static func earliest(_ left: Instant?, _ right: Instant?) -> Instant? {
        guard let left, let right else { return left ?? right }
        return min(left, right)
    }
}
