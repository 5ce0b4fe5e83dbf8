// Schedules requests for a provider's list of service nodes. A value without clock.

package import DNSWire

package struct NodeListPlan: Equatable, Sendable {
    /// Time of the next request; nil while one is in flight.
    package private(set) var askAt: Instant?
    private var askedAt: Instant?
    private var failuresInARow = 0

    /// Lifetime of a list: the vendor requires an update at least every 8 hours (providers.md 2.4).
    private static let lifetime: Duration = .seconds(8 * 3600)
    /// Pause after a failure, doubling from the first to the second value.
    private static let pauseFloor: Duration = .seconds(60)
    private static let pauseCeiling: Duration = .seconds(3600)
    /// Minimum interval between new lists because of a node's failure.
    private static let wrongNodePause: Duration = .seconds(30)
    private static let unreachablePause: Duration = .seconds(300)

    /// - Parameter age: age of the known list; nil without one.
    package init(age: Duration?, now: Instant) {
        askAt = now + max(.zero, age.map { NodeListPlan.lifetime - $0 } ?? .zero)
    }

    package mutating func asked(now: Instant) {
        askAt = nil
        askedAt = now
    }

    package mutating func answered(now: Instant) {
        failuresInARow = 0
        askAt = now + NodeListPlan.lifetime
    }

    package mutating func failed(now: Instant) {
        let pause = NodeListPlan.pauseFloor * (1 << min(failuresInARow, 6))
        failuresInARow += 1
        askAt = now + min(pause, NodeListPlan.pauseCeiling)
    }

    /// - Parameter isWrongNode: the node named another one as the right one; else it was unreachable.
    package mutating func nodeFailed(isWrongNode: Bool, now: Instant) {
        guard let planned = askAt else { return }
        let pause = isWrongNode ? NodeListPlan.wrongNodePause : NodeListPlan.unreachablePause
        askAt = min(planned, max(now, askedAt.map { $0 + pause } ?? now))
    }
}
