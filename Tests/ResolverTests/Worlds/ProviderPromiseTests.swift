// The product's promise over many seeds: the system resolver never answers a name that a provider answers.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Provider promise")
struct ProviderPromiseTests {
    private static var seeds: Range<UInt64> {
        let first = testSetting("PROMISE_SEED") ?? 1
        return first..<first + (testSetting("PROMISE_WORLDS") ?? 50)
    }
    private static let steps = 150

    @Test("a name that a provider answers within a second is never answered by the system resolver")
    func promise() throws {
        var (good, system) = (0, 0)
        var (broken, unfounded): ([String], [String]) = ([], [])
        var judged = 0
        let seeds = ProviderPromiseTests.seeds
        for seed in seeds {
            var world = ProviderPromise(seed: seed, origin: .testStart)
            try world.run(steps: ProviderPromiseTests.steps)
            good += world.goodReplies
            system += world.systemReplies
            judged += world.judged
            if let first = world.unfounded.first {
                unfounded.append("seed \(seed), \(world.unfounded.count) times: \(first)")
            }
            if let first = world.broken.first { broken.append("seed \(seed), \(world.broken.count) times: \(first)") }
        }
        #expect(broken.count == 0, "\(broken.prefix(10))")
        #expect(unfounded.count == 0, "\(unfounded.prefix(10))")
        #expect(judged > 3 * seeds.count, "\(judged)")
        // Good names were answered, and the system resolver stood in for others.
        #expect(good > 50 * seeds.count, "\(good)")
        #expect(system > seeds.count / 2, "\(system)")
    }
}
