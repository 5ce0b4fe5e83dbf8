// The rate of requests that all members may make to a provider, without bursts: each takes the next free time. Redis
// keeps it for all (`FleetScript.pace`); without Redis, each member keeps its share.

package import DNSWire

package struct Pace: Sendable {
    package enum Turn: Equatable, Sendable {
        /// The request may be made after this time.
        case wait(Duration)
        /// The pace is used up: after this time, a request would have to wait for `patience` only.
        case usedUp(Duration)
    }

    /// A request that would have to wait for longer is not made.
    package static let patience: Duration = .milliseconds(200)
    /// So far ahead, requests that are made in any case can use the pace up.
    private static let mostDebt: Duration = .seconds(1)

    /// When the next request may be made.
    private var nextAt: Instant?

    package init() {}

    /// - Parameters:
    ///   - interval: between two requests.
    ///   - isLastResort: the request is made in any case, at once.
    package mutating func take(interval: Duration, isLastResort: Bool, now: Instant) -> Turn {
        let at = min(max(now, nextAt ?? now), now + Pace.mostDebt)
        let wait = now.duration(to: at)
        guard isLastResort || wait <= Pace.patience else { return .usedUp(wait - Pace.patience) }
        nextAt = at + interval
        return .wait(isLastResort ? .zero : wait)
    }

    /// Redis has let a request go: if Redis is lost, that one was of this member's share.
    package mutating func granted(interval: Duration, after wait: Duration, now: Instant) {
        nextAt = min(max(now + wait, nextAt ?? now), now + Pace.mostDebt) + interval
    }
}
