// The rate of requests that all members may make to a provider, without bursts: each takes the next free time. Redis
// keeps it for all (`FleetScript.pace`); without Redis, each member keeps its share.

package import DNSWire

package struct Pace: Sendable {
    package enum Turn: Equatable, Sendable {
        /// The request may be made after this time.
        case wait(Duration)
        /// The request is not made now. After this time, its turn would come within `maxWait`.
        case deferred(Duration)
    }

    /// The longest time for which a request waits for its turn.
    package static let maxWait: Duration = .milliseconds(200)
    /// Requests of last resort are made before their turn, and delay others by this time at most.
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
        guard isLastResort || wait <= Pace.maxWait else { return .deferred(wait - Pace.maxWait) }
        nextAt = at + interval
        return .wait(isLastResort ? .zero : wait)
    }

    /// Redis has granted this member a request: it counts for the member's share if Redis is lost soon.
    package mutating func granted(interval: Duration, after wait: Duration, now: Instant) {
        nextAt = min(max(now + wait, nextAt ?? now), now + Pace.mostDebt) + interval
    }
}
