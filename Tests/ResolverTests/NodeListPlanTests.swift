// How often the list of service nodes is asked for, on virtual time.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("The plan for lists of service nodes")
struct NodeListPlanTests {
    private let start = Instant.testStart

    private func at(_ seconds: Int) -> Instant { start + .seconds(seconds) }

    @Test("without a list at once, with one when it is 8 hours old, with an older one at once")
    func first() {
        #expect(NodeListPlan(age: nil, now: start).askAt == start)
        #expect(NodeListPlan(age: .seconds(3600), now: start).askAt == at(7 * 3600))
        #expect(NodeListPlan(age: .seconds(9 * 3600), now: start).askAt == start)
    }

    @Test("one request at a time; failures are tried again after 1, 2, 4 ... minutes, an hour at most")
    func failures() {
        var plan = NodeListPlan(age: nil, now: start)
        var now = 0
        var pauses: [Int] = []
        for _ in 0..<9 {
            plan.asked(now: at(now))
            #expect(plan.askAt == nil)
            plan.failed(now: at(now))
            let next = plan.askAt.map { Int(start.duration(to: $0).wholeSeconds) } ?? 0
            pauses.append(next - now)
            now = next
        }
        #expect(pauses == [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600])
        plan.asked(now: at(now))
        plan.answered(now: at(now))
        #expect(plan.askAt == at(now + 8 * 3600))
    }

    @Test("a node that fails brings the next list forward, yet not without end")
    func nodes() {
        var plan = NodeListPlan(age: nil, now: start)
        plan.asked(now: start)
        plan.nodeFailed(isWrongNode: true, now: at(1))
        #expect(plan.askAt == nil, "while a request is out")
        plan.answered(now: at(1))
        plan.nodeFailed(isWrongNode: false, now: at(10))
        #expect(plan.askAt == at(300))
        plan.nodeFailed(isWrongNode: true, now: at(11))
        #expect(plan.askAt == at(30))
        plan.nodeFailed(isWrongNode: true, now: at(900))
        #expect(plan.askAt == at(30), "never later than planned")
        var known = NodeListPlan(age: .zero, now: start)
        known.nodeFailed(isWrongNode: false, now: at(5))
        #expect(known.askAt == at(5), "not asked for by this process yet")
    }
}
