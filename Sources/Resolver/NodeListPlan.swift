// When a provider's list of service nodes is asked for. A value without clock.

package struct NodeListPlan: Equatable, Sendable {
    /// When to ask; nil while a request is out.
    package private(set) var askAt: Instant?
    private var askedAt: Instant?
    private var failuresInARow = 0

    /// The vendor asks for at least every 8 hours (providers.md 2.4).
    private static let lifetime: Duration = .seconds(8 * 3600)
    /// After a failure, doubling from the first to the second.
    private static let pauseFloor: Duration = .seconds(60)
    private static let pauseCeiling: Duration = .seconds(3600)
    /// What nodes do wrong leads to a new list at most so often.
    private static let wrongNodePause: Duration = .seconds(30)
    private static let unreachablePause: Duration = .seconds(300)

    /// - Parameter age: of the list that is known; nil without one.
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

    /// - Parameter isWrongNode: it said itself that another one is the right one; else it could not be reached.
    package mutating func nodeFailed(isWrongNode: Bool, now: Instant) {
        guard let planned = askAt else { return }
        let pause = isWrongNode ? NodeListPlan.wrongNodePause : NodeListPlan.unreachablePause
        askAt = min(planned, max(now, askedAt.map { $0 + pause } ?? now))
    }
}
