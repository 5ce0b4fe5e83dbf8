// Measures how long a network change keeps clients waiting, by cause: from the first usable route to the first fresh
// answer. Has no clock; idle time without questions is not counted.

package import DNSWire

package struct NetworkRecovery: Sendable {
    private struct Wait {
        let cause: NetworkCause
        let usableSince: Instant
        var requestedSince: Instant?
    }

    /// Times for changes of one cause.
    package struct Times: Equatable, Sendable {
        package fileprivate(set) var count: UInt64 = 0
        package fileprivate(set) var sum: Duration = .zero
        /// Cumulative counts, one per bound, as Prometheus requires; `count` is the last of them.
        package fileprivate(set) var atMost = [UInt64](repeating: 0, count: NetworkRecovery.bounds.count)

        package init() {}

        fileprivate mutating func record(_ duration: Duration) {
            count += 1
            sum += duration
            for (index, bound) in NetworkRecovery.bounds.enumerated() where duration <= bound { atMost[index] += 1 }
        }
    }

    /// Bounds of the histogram in seconds, from below the target of one second up to the clients' timeout.
    package static let bounds: [Duration] = [
        .milliseconds(50), .milliseconds(100), .milliseconds(250), .milliseconds(500), .milliseconds(750),
        .seconds(1), .seconds(2), .seconds(5), .seconds(10), .seconds(30),
    ]

    private var wait: Wait?
    private var timesByCause: [NetworkCause: Times] = [:]

    package init() {}

    /// A change has begun, and no fresh answer has arrived since.
    package var isMeasuring: Bool { wait != nil }

    package func times(_ cause: NetworkCause) -> Times { timesByCause[cause] ?? Times() }

    package mutating func began(_ change: NetworkChange) {
        wait = Wait(cause: change.cause, usableSince: change.usableSince)
    }

    /// Records that a client needs a fresh answer. Without this call the whole time since the route counts.
    package mutating func requested(now: Instant) {
        guard let wait, wait.requestedSince == nil else { return }
        self.wait?.requestedSince = now
    }

    /// Records a fresh upstream answer.
    ///
    /// - Returns: the cause and the time; nil unless the answer is the first one after a change.
    package mutating func learned(now: Instant) -> (cause: NetworkCause, recovery: Duration)? {
        guard let wait else { return nil }
        self.wait = nil
        var start = wait.usableSince
        // A question soon after the route counts from the route; a later one from the question, because an idle
        // machine does not wait.
        if let since = wait.requestedSince, since - start > NetworkBounds.idleFloor { start = since }
        let recovery = max(.zero, now - start)
        timesByCause[wait.cause, default: Times()].record(recovery)
        return (wait.cause, recovery)
    }
}
