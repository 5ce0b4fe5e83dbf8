// Zones that vanish for ten minutes, over many seeds: names in use keep their addresses if one provider denies them,
// and lose them soon if both do. KNOWN_GOOD_SEEDS sets the number of seeds.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Deleted zones")
struct DeletedZonesTests {
    private static let seeds = testSetting("KNOWN_GOOD_SEEDS") ?? 1
    /// The time within which a deletion is followed, from the first denial after the TTL of the last true answer.
    private static let followedWithin: Duration = .seconds(60)

    private func run(_ trouble: DeletedZones.Trouble, seed: UInt64) -> (DeletedZones.Figures, DoubtCounts) {
        var world = DeletedZones(trouble, seed: seed)
        world.run()
        #expect(world.unanswered == 0, "\(trouble.rawValue), seed \(seed)")
        return (world.figures, world.counts)
    }

    @Test(
        "while one provider denies names in use, 99 % of the queries get an address, at the cost of one request each",
        arguments: [DeletedZones.Trouble.deniedByOne, .hijacked, .deniedByOnly])
    func denied(_ trouble: DeletedZones.Trouble) {
        var (total, usual) = (DeletedZones.Figures(), DeletedZones.Figures())
        var longest: Duration = .zero
        var worst = (denied: 0, queries: 1, seed: UInt64(0))
        for seed in 1...DeletedZonesTests.seeds {
            let (figures, counts) = run(trouble, seed: seed)
            // Without a certificate, the only provider is believed.
            let isAlone = trouble == .deniedByOnly
            let queries = figures.queries - (isAlone ? figures.queriesWithoutTLS : 0)
            let denied = figures.denied - (isAlone ? figures.deniedWithoutTLS : 0)
            #expect(denied * 100 <= queries, "seed \(seed): \(denied) of \(queries) were denied")
            #expect(figures.longestWait <= Bounds.answerWithin, "seed \(seed)")
            #expect(counts.begun > 0 && counts.believed <= counts.begun, "seed \(seed): \(counts)")
            longest = max(longest, figures.longestWait)
            if denied * worst.queries > worst.denied * queries { worst = (denied, queries, seed) }
            total.add(figures)
            usual.add(run(.nothing, seed: seed).0)
        }
        print("\(trouble.rawValue): \(total), longest wait \(longest), worst seed \(worst); usually: \(usual)")
        #expect(total.probes <= usual.probes + 2 * DeletedZones.siteCount * 11 * Int(DeletedZonesTests.seeds))
    }

    @Test("names that both providers deny are given for 60 s at most after their TTL and the first denial")
    func deleted() {
        var total = DeletedZones.Figures()
        for seed in 1...DeletedZonesTests.seeds {
            let (figures, _) = run(.deniedByBoth, seed: seed)
            #expect(figures.longestFollowing <= DeletedZonesTests.followedWithin, "seed \(seed)")
            total.add(figures)
        }
        print("deniedByBoth: \(total)")
    }

    @Test("names that move to new servers cost no doubt, and get their new addresses at once")
    func moved() {
        for seed in 1...DeletedZonesTests.seeds {
            let (figures, counts) = run(.moved, seed: seed)
            #expect(counts == DoubtCounts(), "seed \(seed)")
            // A query fails if both providers' replies to it are lost.
            #expect(figures.denied * 1000 <= figures.queries, "seed \(seed)")
        }
    }
}

extension DeletedZones.Figures: CustomStringConvertible {
    mutating func add(_ other: Self) {
        queries += other.queries
        denied += other.denied
        queriesWithoutTLS += other.queriesWithoutTLS
        deniedWithoutTLS += other.deniedWithoutTLS
        longestFollowing = max(longestFollowing, other.longestFollowing)
        requests += other.requests
        probes += other.probes
        systemRequests += other.systemRequests
    }

    var description: String {
        """
        \(queries) queries, \(denied) denied (\(deniedWithoutTLS) of \(queriesWithoutTLS) without TLS), followed \
        within \(longestFollowing), \(requests) requests, \(probes) probes, \(systemRequests) to the system resolver
        """
    }
}
