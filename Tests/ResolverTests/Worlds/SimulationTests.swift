// The resolver in a random world, by seeds that can be run again: a failure names its seed.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Simulation")
struct SimulationTests {
    /// The seeds; one that failed once stays here.
    private static let seeds: [UInt64] = Array(1...10) + [17, 19, 28, 36, 57]
    /// The seeds with probes, few because they take long.
    private static let probingSeeds: [UInt64] = Array(1...5)
    /// The seeds with network changes; the runs of even seeds have probes.
    private static let networkChangeSeeds: [UInt64] = [1, 2, 4, 5, 6, 7, 8, 17, 30]
    private static let steps = 1000

    @Test("whatever goes wrong, each client has one reply in time and nothing is left over", arguments: seeds)
    func invariants(_ seed: UInt64) throws {
        var simulation = Simulation(seed: seed, origin: .testStart)
        #expect(throws: Never.self, "seed \(seed)") { try simulation.run(steps: SimulationTests.steps) }
        #expect(simulation.actions.count > SimulationTests.steps, "seed \(seed): hardly anything happened")
        let expired = simulation.actions.count { if case .replyExpired = $0 { true } else { false } }
        #expect(expired > 0 && simulation.resolver.refreshes.succeeded > 0, "seed \(seed): no day of troubles")
        let tables = SimulationTests.tables(of: simulation.resolver)
        #expect(tables.count == 1 && tables.allSatisfy { $0.value == 0 }, "seed \(seed): \(tables)")
    }

    @Test(
        "forged and unreachable addresses delay no client, and probes keep their bounds and end",
        arguments: probingSeeds)
    func probing(_ seed: UInt64) throws {
        var simulation = Simulation(seed: seed, probing: true, origin: .testStart)
        #expect(throws: Never.self, "seed \(seed)") { try simulation.run(steps: SimulationTests.steps) }
        let counts = simulation.resolver.probeCounts
        #expect(counts.done > 10 && counts.lost > 0 && simulation.probes.rearranged > 0, "seed \(seed): \(counts)")
        let tables = SimulationTests.tables(of: simulation.resolver)
        #expect(tables.allSatisfy { $0.value == 0 }, "seed \(seed): \(tables)")
    }

    @Test(
        "from network to network each client has one reply in time, and no answer strays into another",
        arguments: networkChangeSeeds)
    func changesNetworks(_ seed: UInt64) throws {
        var simulation = Simulation(seed: seed, probing: seed % 2 == 0, changesNetworks: true, origin: .testStart)
        #expect(throws: Never.self, "seed \(seed)") { try simulation.run(steps: SimulationTests.steps) }
        #expect(simulation.networks.changes > 3, "seed \(seed): hardly a move")
        let tables = SimulationTests.tables(of: simulation.resolver)
        #expect(tables.count == 1 && tables.allSatisfy { $0.value == 0 }, "seed \(seed): \(tables)")
    }

    @Test(
        "with the system resolver first, too, each client has one reply and nothing is left over",
        arguments: 1...7 as ClosedRange<UInt64>)
    func systemFirst(_ seed: UInt64) throws {
        var simulation = Simulation(
            seed: seed, probing: true, changesNetworks: seed % 2 == 0, order: .systemFirst, origin: .testStart)
        #expect(throws: Never.self, "seed \(seed)") { try simulation.run(steps: SimulationTests.steps) }
        let tables = SimulationTests.tables(of: simulation.resolver)
        #expect(tables.count == 1 && tables.allSatisfy { $0.value == 0 }, "seed \(seed): \(tables)")
    }

    @Test(
        "with last known good answers, too, each client has one reply, and none for longer than the settings allow",
        // With 2 no denial meets a known answer.
        arguments: [1, 3, 4, 5, 6] as [UInt64])
    func lastKnownGood(_ seed: UInt64) throws {
        for isProbing in [false, true] {
            var simulation = Simulation(
                seed: seed, probing: isProbing, changesNetworks: isProbing && seed % 2 == 0,
                lastKnownGood: .seconds(600), origin: .testStart)
            #expect(throws: Never.self, "seed \(seed)") { try simulation.run(steps: SimulationTests.steps) }
            let given = simulation.actions.count { action in
                if case .store(_, let answer, _, _) = action { answer.isLastKnownGood } else { false }
            }
            #expect(given > 0 || !isProbing, "seed \(seed): no answer is known to be good")
            let tables = SimulationTests.tables(of: simulation.resolver)
            #expect(tables.count == 1 && tables.allSatisfy { $0.value == 0 }, "seed \(seed): \(tables)")
        }
    }

    @Test(
        "with rules for address families, too, each client has one reply, and none of a family that yields",
        arguments: [1, 2, 4, 5] as [UInt64])
    func families(_ seed: UInt64) throws {
        for isProbing in [false, true] {
            var simulation = Simulation(
                seed: seed, probing: isProbing, changesNetworks: seed % 2 == 0, families: true, origin: .testStart)
            #expect(throws: Never.self, "seed \(seed)") { try simulation.run(steps: SimulationTests.steps) }
            let yielded = simulation.actions.count { action in
                if case .reply(_, let answer, .local) = action { answer.remark == .familyOfRule } else { false }
            }
            #expect(yielded > 10, "seed \(seed): hardly a question for another family")
            let tables = SimulationTests.tables(of: simulation.resolver)
            #expect(tables.count == 1 && tables.allSatisfy { $0.value == 0 }, "seed \(seed): \(tables)")
        }
    }

    @Test("the same seed gives the same actions")
    func repeatability() throws {
        let origin = Instant.testStart
        var first = Simulation(seed: 7, origin: origin)
        var second = Simulation(seed: 7, origin: origin)
        var other = Simulation(seed: 8, origin: origin)
        try first.run(steps: 500)
        try second.run(steps: 500)
        try other.run(steps: 500)
        #expect(first.actions == second.actions)
        #expect(first.actions != other.actions)
    }

    /// The sizes of the resolver's own tables. An entry that remains there is a leak that no action shows.
    private static func tables(of resolver: Resolver) -> [String: Int] {
        var counts: [String: Int] = [:]
        for child in Mirror(reflecting: resolver).children {
            guard let label = child.label else { continue }
            let mirror = Mirror(reflecting: child.value)
            if let index = child.value as? HashIndex { counts[label] = index.count }
            if mirror.displayStyle == .dictionary { counts[label] = mirror.children.count }
        }
        return counts
    }
}
