// Domains of requests that are counted late, against counts made at once.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Domain counts")
struct DomainCountsTests {
    private let holders = (0..<24).compactMap { number in
        Name("n\(number).d\(number % 5).example").map { ShareHolder($0, nil) }
    }

    @Test("the domains in flight are those of the requests that began and have not ended, whenever they are counted")
    func inFlight() {
        var random = SeededGenerator(seed: 5)
        for _ in 0..<40 {
            var domains = DomainsInFlight()
            var running: [ShareHolder] = []
            for step in 0..<200 {
                if running.isEmpty || Bool.random(using: &random) {
                    running.append(holders[Int.random(in: 0..<holders.count, using: &random)])
                    running.last.map { domains.begun($0) }
                } else {
                    domains.ended(running.remove(at: Int.random(in: 0..<running.count, using: &random)))
                }
                guard Int.random(in: 0..<9, using: &random) == 0 else { continue }
                #expect(domains.count() == Set(running.map(\.domain)).count, "step \(step)")
            }
        }
    }

    @Test("the order of requests without a reply is kept until they are counted")
    func unanswered() {
        var random = SeededGenerator(seed: 6)
        let now = Instant.testStart
        for _ in 0..<200 {
            var (late, early) = (UnansweredDomains(), UnansweredDomains())
            for _ in 0..<Int.random(in: 0..<600, using: &random) {
                let holder = holders[Int.random(in: 0..<holders.count, using: &random)]
                if Bool.random(using: &random) {
                    late.begun(holder, now: now)
                    early.begun(holder, now: now)
                } else {
                    late.ended(holder)
                    early.ended(holder)
                }
                _ = early.include(manyOf: holder.domain)
            }
            for holder in holders {
                #expect(late.include(manyOf: holder.domain) == early.include(manyOf: holder.domain))
            }
        }
    }
}
