// Notices that time has passed in which nothing of us ran: the machine slept, or the program was stopped. Told the
// clocks, never reads them.

package struct WakeWatch: Sendable {
    private var asleep: Duration

    /// - Parameters:
    ///   - sinceBoot: the clock that counts suspended time.
    ///   - awake: the clock that does not.
    package init(sinceBoot: Duration, awake: Duration) {
        asleep = sinceBoot - awake
    }

    /// - Parameter lateBy: how much later than it had to the loop has come; zero when it was not waiting for a time.
    /// - Returns: how long the absence was, nil when there was none.
    package mutating func read(sinceBoot: Duration, awake: Duration, lateBy: Duration) -> Duration? {
        let slept = sinceBoot - awake - asleep
        asleep = sinceBoot - awake
        if slept >= NetworkBounds.sleepFloor { return max(slept, lateBy) }
        return lateBy >= NetworkBounds.stopFloor ? lateBy : nil
    }
}
