// The copy of a provider's state: a trial run and another network must neither lose a property nor share one.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("State of a provider")
struct ProviderStandingTests {
    private let now = Instant.testStart
    private let domains = ["a.example", "b.example", "c.example"].compactMap { Name($0) }
    private let holders: [ShareHolder]

    init() {
        holders = domains.map { ShareHolder($0, nil) }
    }

    private var fresh: ProviderStanding {
        ProviderStanding(ProviderTraits(id: RankedID(0), types: .any, budgetPerSecond: 5, questionsPerSecond: 5))
    }

    /// A standing with requests in flight after an answer, none of which the host has acknowledged.
    private var busy: ProviderStanding {
        let standing = fresh
        standing.begun(holders[0], now: now)
        standing.ended(holders[0], isHeard: true, now: now)
        _ = standing.answered(after: .milliseconds(10), now: now)
        standing.overtaken(after: .milliseconds(500))
        standing.chosenFirst(now: now)
        standing.recordForged(about: domains[0], now: now)
        _ = standing.spend(now: now)
        standing.throttled(for: nil, now: now)
        standing.begun(holders[1], now: now)
        standing.unacknowledged()
        standing.reportedState = .throttled
        return standing
    }

    @Test("refreshes after an outage leave a quarter of the connections of a slow provider to clients")
    func retryStep() {
        let slow = ProviderStanding(ProviderTraits(id: RankedID(0), types: .any, parallelRequests: 8))
        #expect(slow.retryStep == .zero)
        _ = slow.answered(after: .milliseconds(60), now: now)
        #expect(slow.retryStep == .milliseconds(10))
        let ranking = UpstreamRanking(seed: 1)
        ranking.setProviders([slow.traits])
        #expect(ranking.retryStep(among: .providers, now: now) == Bounds.retryStep)
        _ = ranking.standings[0].answered(after: .milliseconds(60), now: now)
        #expect(ranking.retryStep(among: .providers, now: now) == .milliseconds(10))
    }

    /// A standing during the reply that ends a silence.
    private var back: ProviderStanding {
        let standing = busy
        standing.ended(holders[1], isHeard: true, now: now)
        return standing
    }

    private var failing: ProviderStanding {
        let standing = fresh
        standing.failed(.timeout, of: domains[0], startedAt: now, now: now)
        return standing
    }

    private var down: ProviderStanding {
        let standing = fresh
        _ = standing.failedService(domains[0], of: domains[0], now: now)
        _ = standing.waitedInVain(domains[0], parent: domains[0], of: domains[0], startedAt: now, now: now)
        for _ in 0..<3 { standing.failed(.refused, of: domains[0], startedAt: now, now: now) }
        (standing.overQuotaUntil, standing.overBudgetUntil) = (now, now)
        return standing
    }

    private func properties(_ standing: ProviderStanding) -> [String: String] {
        let pairs = Mirror(reflecting: standing).children.map { ($0.label ?? "", "\($0.value)") }
        return Dictionary(pairs) { first, _ in first }
    }

    @Test("a copy has every property")
    func copy() {
        let standings = [busy, back, failing, down]
        for standing in standings { #expect(properties(standing.copy()) == properties(standing)) }
        // The copy could miss a property that no sample state sets.
        for (name, value) in properties(fresh) where name != "traits" {
            #expect(standings.contains { properties($0)[name] != value }, "\(name) is never set")
        }
    }

    @Test("what happens to a copy does not happen to the original")
    func apart() {
        let standing = busy
        let before = properties(standing)
        let copy = standing.copy()
        copy.begun(holders[2], now: now)
        copy.ended(holders[1], isHeard: true, now: now)
        _ = copy.answered(after: .milliseconds(90), now: now)
        copy.failed(.refused, of: domains[2], startedAt: now, now: now)
        #expect(properties(standing) == before)
    }
}
