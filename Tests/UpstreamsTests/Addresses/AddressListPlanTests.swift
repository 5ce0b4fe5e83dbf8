// The times of requests for a list of a provider's addresses, on virtual time.

import DNSWire
import TestSupport
import Testing

@testable import Upstreams

@Suite("The plan for lists of a provider's addresses")
struct AddressListPlanTests {
    private let start = Instant.testStart
    private let eightHours = AddressListPlan.lifetime(nil, of: .vendor)

    private func at(_ seconds: Int) -> Instant { start + .seconds(seconds) }

    private func pauses(_ source: AddressListPlan.Source, count: Int) -> [Int] {
        var plan = AddressListPlan(source, left: nil, now: start)
        var now = 0
        return (0..<count).map { _ in
            plan.asked(now: at(now))
            #expect(plan.askAt == nil)
            plan.failed(now: at(now))
            let next = plan.askAt.map { Int(start.duration(to: $0).wholeSeconds) } ?? 0
            defer { now = next }
            return next - now
        }
    }

    @Test("without a list at once, with one at the end of its lifetime, after that at once")
    func first() {
        #expect(AddressListPlan(.vendor, left: nil, now: start).askAt == start)
        #expect(AddressListPlan(.vendor, left: .seconds(3600), now: start).askAt == at(3600))
        #expect(AddressListPlan(.hostName, left: .seconds(-1), now: start).askAt == start)
    }

    @Test("a stated lifetime has bounds; without one it is 8 hours, or 10 minutes for a host name")
    func lifetimes() {
        let expected: [(Int?, AddressListPlan.Source, Int)] = [
            (nil, .vendor, 28_800), (0, .vendor, 60), (3600, .vendor, 3600), (.max, .vendor, 86_400),
            (nil, .hostName, 600), (0, .hostName, 60), (-7, .hostName, 60), (300, .hostName, 300),
            (604_800, .hostName, 3600),
        ]
        for (stated, source, seconds) in expected {
            #expect(AddressListPlan.lifetime(stated, of: source) == .seconds(seconds))
        }
    }

    @Test("one request at a time; failures are tried again after 1, 2, 4 ... minutes, an hour at most")
    func failures() {
        #expect(pauses(.vendor, count: 9) == [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600])
        var plan = AddressListPlan(.vendor, left: nil, now: start)
        plan.failed(now: start)
        plan.asked(now: at(60))
        plan.answered(for: eightHours, now: at(60))
        #expect(plan.askAt == at(60 + 8 * 3600))
    }

    @Test("a host name, without which nothing works, is asked for every 30 s at least")
    func failuresOfNames() {
        #expect(pauses(.hostName, count: 8) == [1, 2, 4, 8, 16, 30, 30, 30])
    }

    @Test("a node that fails brings the next list forward, yet not without end")
    func nodes() {
        var plan = AddressListPlan(.vendor, left: nil, now: start)
        plan.asked(now: start)
        plan.addressFailed(isWrongNode: true, isLast: false, now: at(1))
        #expect(plan.askAt == nil, "while a request is out")
        plan.answered(for: eightHours, now: at(1))
        plan.addressFailed(isWrongNode: false, isLast: false, now: at(10))
        #expect(plan.askAt == at(300))
        plan.addressFailed(isWrongNode: true, isLast: false, now: at(11))
        #expect(plan.askAt == at(30))
        plan.addressFailed(isWrongNode: true, isLast: false, now: at(900))
        #expect(plan.askAt == at(30), "never later than planned")
        var known = AddressListPlan(.vendor, left: eightHours, now: start)
        known.addressFailed(isWrongNode: false, isLast: false, now: at(5))
        #expect(known.askAt == at(5), "not asked for by this process yet")
    }

    @Test("the first time that no address of a name works, all sources are asked at once, and then every 30 s")
    func forgedName() {
        var plan = AddressListPlan(.hostName, left: nil, now: start)
        plan.asked(now: start)
        plan.answered(for: .seconds(3600), now: start)
        plan.addressFailed(isWrongNode: false, isLast: false, now: at(1))
        #expect(plan.askAt == at(3600) && !plan.doubtsSystem, "another address works")
        plan.addressFailed(isWrongNode: false, isLast: true, now: at(2))
        #expect(plan.askAt == at(2) && plan.doubtsSystem)
        plan.asked(now: at(2))
        plan.answered(for: .seconds(3600), now: at(3))
        plan.addressFailed(isWrongNode: false, isLast: true, now: at(4))
        #expect(plan.askAt == at(32) && plan.doubtsSystem)
        plan.networkChanged(now: at(5))
        #expect(plan.askAt == at(5) && !plan.doubtsSystem)
    }

    @Test("another network has other lists; a vendor is asked every 10 s at most while networks change")
    func networks() {
        var plan = AddressListPlan(.vendor, left: eightHours, now: start)
        plan.networkChanged(now: at(1))
        #expect(plan.askAt == at(1))
        plan.asked(now: at(1))
        plan.networkChanged(now: at(2))
        #expect(plan.askAt == at(11), "the request in flight does not count")
        var name = AddressListPlan(.hostName, left: .seconds(600), now: start)
        name.asked(now: start)
        name.failed(now: start)
        name.networkChanged(now: at(1))
        #expect(name.askAt == at(1))
    }
}
