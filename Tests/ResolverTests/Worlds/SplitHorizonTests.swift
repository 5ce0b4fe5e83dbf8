// Fifty names of a network among thousands of public ones: all are found, and no other.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Split horizon")
struct SplitHorizonTests {
    /// The suffixes that the staged names share.
    private static let suffixes = ["corp.acme.com", "plant"]

    private func check(_ world: SplitHorizonWorld, seed: UInt64) {
        let found = world.found
        let wrong = found.names.filter { !world.ours.contains($0.name) }
        #expect(wrong.map(\.name.description) == [], "seed \(seed)")
        let missing = world.ours.subtracting(found.names.map(\.name)).map(\.description).sorted()
        #expect(missing == [], "seed \(seed)")
        #expect(found.suffixes.map(\.name.description) == SplitHorizonTests.suffixes, "seed \(seed)")
    }

    @Test("all of 50 names among 5,000, and none wrongly", arguments: [1, 2] as [UInt64])
    func thousands(seed: UInt64) {
        var world = SplitHorizonWorld(seed: seed, count: 5000, seed % 2 == 0 ? .all : .denied)
        world.run()
        check(world, seed: seed)
    }

    @Test("the same among 300, over seeds", arguments: 1...8 as ClosedRange<UInt64>)
    func seeds(seed: UInt64) {
        var world = SplitHorizonWorld(seed: seed, count: 300, seed % 2 == 0 ? .all : .denied)
        world.run()
        check(world, seed: seed)
    }

    @Test("the same with a resolver that invents addresses for names that do not exist", arguments: [3, 4] as [UInt64])
    func inventions(seed: UInt64) {
        let inventions: [Address] = [.v4(0xC7B6_0001), .v4(0xC7B6_0105)]
        var world = SplitHorizonWorld(
            seed: seed, count: 300, seed % 2 == 0 ? .all : .denied, inventions: inventions)
        world.run()
        check(world, seed: seed)
    }
}
