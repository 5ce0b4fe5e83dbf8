// The audit tells six kinds of providers apart, whatever the seed, and costs at most one request in a hundred.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Provider audit: a world")
struct AuditWorldTests {
    private static var seeds: ClosedRange<UInt64> { 1...(testSetting("AUDIT_SEEDS") ?? 3) }

    @Test("six kinds of providers are ranked right, and comparison questions are at most 1 % of the requests")
    func ranked() throws {
        var (with, without, wrong) = (0, 0, [String]())
        for seed in AuditWorldTests.seeds {
            var world = try AuditWorld(seed: seed)
            try world.run()
            var same = try AuditWorld(seed: seed, areCompared: false)
            try same.run()
            with += world.requests
            without += same.requests
            if world.ranked != AuditWorld.Kind.allCases { wrong.append("seed \(seed): \(world.shown)") }
            #expect(world.comparisons > 0 && world.comparisons * 100 <= world.requests, "seed \(seed)")
            #expect(same.comparisons == 0)
        }
        let more = 100 * (Double(with) / Double(without) - 1)
        print(
            "audit: ranked right \(AuditWorldTests.seeds.count - wrong.count) of \(AuditWorldTests.seeds.count), "
                + "\(with) requests instead of \(without): \(more) % more")
        #expect(wrong.isEmpty, "\(wrong.joined(separator: "\n"))")
        #expect(more <= 1)
    }
}

extension AuditWorld {
    /// The ranking with what was found.
    fileprivate var shown: String {
        resolver.audit(now: now).map { audited in
            let kind = audited.id.map { "\(kinds[$0.number])" } ?? ""
            let counts = AuditCount.allCases.map { "\($0) \(audited.week.counts[$0])" }.joined(separator: ", ")
            return "\(kind): \(audited.week.findings) (\(counts))"
        }.joined(separator: "\n")
    }
}
