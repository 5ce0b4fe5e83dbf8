// The rate of requests that all members may make to a provider, without bursts: each takes the next free turn, and a
// turn that is given back goes to the next request. Redis keeps it for all (`FleetScript.pace`); without Redis, each
// member keeps its share.

package import DNSWire

package struct Pace: Sendable {
    package enum Turn: Equatable, Sendable {
        /// The request may be made at this time.
        case at(Instant)
        /// The request is not made now. After this time, its turn would come soon enough.
        case deferred(Duration)
    }

    /// The longest time for which a request waits for its turn.
    package static let maxWait: Duration = .milliseconds(200)
    /// The longest wait without another upstream: a client waits for 4.5 s.
    package static let maxWaitOfLastResort: Duration = .seconds(4)
    /// The next free turn comes after this time at most, however many turns are taken.
    static let mostDebt: Duration = .seconds(5)
    /// The maximum number of turns that were given back and not taken again.
    static let maxFree = 100

    /// When the next request may be made.
    private var nextAt: Instant?
    private var free: [Instant] = []

    package init() {}

    /// - Parameters:
    ///   - interval: the time between two requests.
    ///   - longest: a request that would wait longer takes no turn.
    package mutating func take(interval: Duration, longest: Duration, now: Instant) -> Turn {
        free.removeAll { $0 < now }
        if let turn = free.min(), now.duration(to: turn) <= longest {
            free.removeAll { $0 == turn }
            return .at(turn)
        }
        let at = min(max(now, nextAt ?? now), now + Pace.mostDebt)
        let wait = now.duration(to: at)
        guard wait <= longest else { return .deferred(wait - longest) }
        nextAt = at + interval
        return .at(at)
    }

    /// Redis has granted this member a request: it counts for the member's share if Redis is lost soon.
    package mutating func granted(interval: Duration, after wait: Duration, now: Instant) {
        nextAt = min(max(now + wait, nextAt ?? now), now + Pace.mostDebt) + interval
    }

    /// Gives back the turn of a request that is not made.
    package mutating func giveBack(_ turn: Instant, interval: Duration) {
        guard let nextAt, turn < nextAt else { return }
        if turn + interval == nextAt {
            self.nextAt = turn
        } else if free.count < Pace.maxFree {
            free.append(turn)
        }
    }
}
