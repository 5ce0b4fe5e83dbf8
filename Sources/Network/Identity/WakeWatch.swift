// Detects that the program did not run for a while: the machine slept, or the program was stopped. Reads no clocks;
// the caller supplies them.

package import DNSWire

package struct WakeWatch: Sendable {
    private var asleep: Duration

    /// - Parameters:
    ///   - sinceBoot: the time of the clock that counts suspended time.
    ///   - awake: the time of the clock that does not count it.
    package init(sinceBoot: Duration, awake: Duration) {
        asleep = sinceBoot - awake
    }

    /// - Parameter lateBy: how late the loop came; zero if it had no deadline.
    /// - Returns: the length of the absence; nil if there was none.
    package mutating func read(sinceBoot: Duration, awake: Duration, lateBy: Duration) -> Duration? {
        let slept = sinceBoot - awake - asleep
        asleep = sinceBoot - awake
        if slept >= NetworkBounds.sleepFloor { return max(slept, lateBy) }
        return lateBy >= NetworkBounds.stopFloor ? lateBy : nil
    }
}
