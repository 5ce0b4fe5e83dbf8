// Detects that the program did not run for a while: the machine slept, or the program was stopped. Reads no clocks;
// the caller supplies them.

package import DNSWire

package struct WakeWatch: Sendable {
    private var asleep: Duration
    /// The time since boot at the last reading of both clocks.
    private var readAt: Duration

    /// - Parameters:
    ///   - sinceBoot: the time of the clock that counts suspended time.
    ///   - awake: the time of the clock that does not count it.
    package init(sinceBoot: Duration, awake: Duration) {
        (asleep, readAt) = (sinceBoot - awake, sinceBoot)
    }

    /// - Parameters:
    ///   - awake: read only if there was time for a sleep since the last reading.
    ///   - lateBy: how late the loop came; zero if it had no deadline.
    /// - Returns: the length of the absence; nil if there was none.
    package mutating func read(
        sinceBoot: Duration, awake: @autoclosure () -> Duration, lateBy: Duration
    ) -> Duration? {
        guard sinceBoot - readAt >= NetworkBounds.sleepFloor else { return nil }
        readAt = sinceBoot
        let formerlyAsleep = exchange(&asleep, with: sinceBoot - awake())
        let slept = asleep - formerlyAsleep
        if slept >= NetworkBounds.sleepFloor { return max(slept, lateBy) }
        return lateBy >= NetworkBounds.stopFloor ? lateBy : nil
    }
}
