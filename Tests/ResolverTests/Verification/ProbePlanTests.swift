// The limits of probes: their times, their number at once and per prefix, and the end of every one.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Probe plan")
struct ProbePlanTests {
    private let start = Instant.testStart
    private var plan = ProbePlan(seed: 3)
    private let name: Name

    init() throws {
        name = try #require(Name("www.example"))
    }

    /// The target with this number; numbers of the same hundred lie in one /24.
    private func target(_ number: Int) -> ProbeTarget {
        target(number, of: name)
    }

    /// A target of a registrable domain of its own.
    private func otherTarget(_ number: Int) -> ProbeTarget {
        target(number, of: Name("www.site\(number).example") ?? .root)
    }

    private func target(_ number: Int, of name: Name) -> ProbeTarget {
        ProbeTarget(name, .v4(0x0100_0000 + UInt32(number / 100) << 8 + UInt32(number % 100)), port: 443)
    }

    private mutating func begin(_ numbers: [Int], isRequested: Bool = false, at instant: Instant) -> [ProbeTarget] {
        for number in numbers { plan.add(target(number), isRequested: isRequested, now: instant) }
        return plan.begin(now: instant).map(\.target)
    }

    /// All probes that begin until `end`, with their times; none of them ends.
    private mutating func run(until end: Instant) -> [(at: Instant, id: ProbeID, target: ProbeTarget)] {
        var begun = plan.begin(now: start).map { (at: start, id: $0.id, target: $0.target) }
        while let due = plan.nextDeadline, due <= end {
            begun += plan.begin(now: due).map { (due, $0.id, $0.target) }
        }
        return begun
    }

    @Test("ordinary probes are spread over a second, wanted ones begin at once and first")
    mutating func jitter() throws {
        let ordinary = begin((0..<10).map { $0 * 100 }, at: start)
        #expect(ordinary.isEmpty)
        let wanted = begin([2000, 2100], isRequested: true, at: start)
        #expect(wanted == [target(2000), target(2100)])
        let rest = run(until: start + Bounds.probeJitter)
        #expect(rest.count == 10 && Set(rest.map(\.at)).count > 5)
    }

    @Test("a requested probe moves to the front of the queue, and no target is probed twice at once")
    mutating func promotion() throws {
        let none = begin([100, 200], at: start)
        #expect(none.isEmpty)
        let wanted = begin([200], isRequested: true, at: start)
        #expect(wanted == [target(200)])
        let again = begin([200], isRequested: true, at: start)
        #expect(again.isEmpty && plan.runningCount == 1 && plan.waitingCount == 1)
    }

    @Test("one neighbourhood has two probes at a time, and one more each second")
    mutating func aggregatePrefix() throws {
        let first = begin([1, 2, 3], isRequested: true, at: start)
        #expect(first == [target(1)])
        #expect(plan.nextDeadline == start + .seconds(1))
        let second = plan.begin(now: start + .seconds(1))
        #expect(second.map(\.target) == [target(2)])
        let third = plan.begin(now: start + .seconds(2))
        #expect(third.isEmpty, "two are running")
        let ended = plan.ended(second[0].id)
        #expect(ended == target(2))
        let last = plan.begin(now: start + .seconds(2))
        #expect(last.map(\.target) == [target(3)])
    }

    @Test("a full prefix does not delay probes to other prefixes")
    mutating func otherNeighbours() throws {
        let begun = begin([1, 2, 3, 100], isRequested: true, at: start)
        #expect(begun == [target(1), target(100)])
    }

    @Test("IPv6 neighbours share a /56, and what is IPv4 in IPv6 clothes is IPv4")
    mutating func families() throws {
        let high: UInt64 = 0x2A00_0000_0000_0100
        let addresses: [Address] = [
            .v6(high: high, low: 1), .v6(high: high | 0xFF, low: 1), .v6(high: high + 0x100, low: 1), .v4(0x0101_0101),
            .v6(high: 0, low: 0xFFFF_0101_0102),
        ]
        for address in addresses { plan.add(ProbeTarget(name, address, port: 443), isRequested: true, now: start) }
        let begun = plan.begin(now: start).map(\.target.address)
        #expect(begun == [addresses[0], addresses[2], addresses[3]])
    }

    @Test("twenty begin at once, then twenty a second, and some places are for operators' requests")
    mutating func bounds() throws {
        for number in 0..<100 { plan.add(otherTarget(number * 100), isRequested: false, now: start) }
        let begun = run(until: start + .seconds(20))
        #expect(begun.count == Bounds.maxProbes - Bounds.reservedProbes)
        for (index, probe) in begun.enumerated() {
            let allowed = Double(Bounds.probesPerSecond) * (1 + (probe.at - start).seconds) + 0.001
            #expect(Double(index + 1) <= allowed)
        }
        let later = start + .seconds(21)
        let wanted = begin((100..<120).map { $0 * 100 }, isRequested: true, at: later)
        #expect(wanted.count == Bounds.reservedProbes && plan.runningCount == Bounds.maxProbes)
        #expect(plan.waitingCount == 44 + 12)
    }

    @Test("a full queue takes only requested probes, each in the place of the last one")
    mutating func overflow() throws {
        for number in 0..<Bounds.maxWaitingProbes {
            let isTaken = plan.add(otherTarget(number * 100), isRequested: false, now: start)
            #expect(isTaken)
        }
        let ordinary = plan.add(otherTarget(77_700), isRequested: false, now: start)
        #expect(!ordinary && plan.overflows == 1)
        let wanted = plan.add(otherTarget(77_700), isRequested: true, now: start)
        #expect(wanted && plan.overflows == 2 && plan.waitingCount == Bounds.maxWaitingProbes)
    }

    @Test("one domain's names hold an eighth of the queue, and requested probes are not counted")
    mutating func domain() throws {
        for number in 0..<100 { plan.add(target(number * 100), isRequested: false, now: start) }
        #expect(plan.waitingCount == Bounds.maxWaitingProbesOfGroup)
        #expect(plan.overflows == 100 - UInt64(Bounds.maxWaitingProbesOfGroup))
        let other = plan.add(otherTarget(1), isRequested: false, now: start)
        let wanted = plan.add(target(77_700), isRequested: true, now: start)
        #expect(other && wanted)
    }

    @Test("one address given for many names keeps no other name from its probe, at ten probes of others a second")
    mutating func flood() {
        // Fifty names a second get the forged address; ten a second have networks of their own.
        let forged = Address.v4(0x0909_0909)
        var (asked, begun, waits): ([ProbeTarget: Instant], Int, [Duration]) = ([:], 0, [])
        for tick in 0..<600 {
            let now = start + .milliseconds(100 * tick)
            for number in 0..<5 {
                let name = Name("www.flood\(tick)-\(number).example") ?? .root
                plan.add(ProbeTarget(name, forged, port: 443), isRequested: false, isFirst: true, now: now)
            }
            let other = otherTarget(tick * 100)
            if plan.add(other, isRequested: false, now: now) { asked[other] = now }
            for (id, target) in plan.begin(now: now) {
                if let at = asked[target] { waits.append(at.duration(to: now)) } else { begun += 1 }
                _ = plan.ended(id)
            }
        }
        #expect(asked.count == 600)
        #expect(waits.count >= 590 && waits.allSatisfy { $0 <= .milliseconds(1200) })
        #expect(59...61 ~= begun, "the forged address: once a second")
    }

    @Test("a probe that never ends is given up, and its place is free again")
    mutating func lost() throws {
        let begun = begin([1], isRequested: true, at: start)
        #expect(begun.count == 1 && plan.nextDeadline == start + Bounds.probeStop)
        let early = plan.takeLost(now: start + Bounds.probeStop - .milliseconds(1))
        #expect(early.isEmpty)
        let lost = plan.takeLost(now: start + Bounds.probeStop)
        #expect(lost == [target(1)])
        let late = plan.ended(ProbeID(0))
        #expect(late == nil && plan.runningCount == 0)
        let again = begin([1], isRequested: true, at: start + Bounds.probeStop)
        #expect(again == [target(1)])
    }

    @Test("what waits for a name that is not to be probed any more is gone")
    mutating func removed() throws {
        let none = begin([1, 100], at: start)
        #expect(none.isEmpty)
        plan.remove(name)
        let begun = run(until: start + .seconds(5))
        #expect(begun.isEmpty && plan.waitingCount == 0)
        let again = begin([1], isRequested: true, at: start + .seconds(5))
        #expect(again.count == 1)
    }

    @Test(
        "over any course of events no bound is passed, and every probe that began ends once",
        arguments: [1, 2, 3])
    mutating func anyCourse(_ seed: UInt64) throws {
        var chance = SeededRandom(seed: seed)
        var now = start
        var running: [ProbeID: ProbeTarget] = [:]
        var starts: [(at: Instant, target: ProbeTarget)] = []
        var used: Set<ProbeID> = []
        var ended = 0
        for _ in 0..<2000 {
            now += .milliseconds(Int.random(in: 0...200, using: &chance))
            let lost = plan.takeLost(now: now)
            ended += lost.count
            running = running.filter { !lost.contains($0.value) }
            for _ in 0..<Int.random(in: 0...3, using: &chance) {
                let number = Int.random(in: 0..<40, using: &chance) * 100 + Int.random(in: 0..<6, using: &chance)
                plan.add(target(number), isRequested: Int.random(in: 0..<4, using: &chance) == 0, now: now)
            }
            for (id, target) in plan.begin(now: now) {
                #expect(used.insert(id).inserted, "seed \(seed): an ID twice")
                #expect(!running.values.contains(target), "seed \(seed): a target twice")
                running[id] = target
                starts.append((now, target))
            }
            check(running, starts.suffix(50), now: now, seed)
            if let id = running.keys.min(by: { $0.number < $1.number }), Int.random(in: 0..<8, using: &chance) == 0 {
                let target = plan.ended(id)
                #expect(target == running.removeValue(forKey: id), "seed \(seed)")
                ended += 1
            }
        }
        #expect(starts.count == ended + running.count && ended > 100, "seed \(seed)")
    }

    private func check(
        _ running: [ProbeID: ProbeTarget], _ starts: ArraySlice<(at: Instant, target: ProbeTarget)>, now: Instant,
        _ seed: UInt64
    ) {
        let neighbours = { (target: ProbeTarget) in
            if case .v4(let value) = target.address { value >> 8 } else { UInt32.max }
        }
        #expect(running.count <= Bounds.maxProbes && running.count == plan.runningCount, "seed \(seed)")
        let perNeighbourhood = Dictionary(grouping: running.values, by: neighbours)
        #expect(perNeighbourhood.values.allSatisfy { $0.count <= 2 }, "seed \(seed)")
        let lately = starts.filter { now - $0.at < .milliseconds(999) }
        #expect(lately.count <= 2 * Bounds.probesPerSecond, "seed \(seed)")
        #expect(Set(lately.map { neighbours($0.target) }).count == lately.count, "seed \(seed)")
        #expect(plan.waitingCount <= Bounds.maxWaitingProbes, "seed \(seed)")
    }
}
