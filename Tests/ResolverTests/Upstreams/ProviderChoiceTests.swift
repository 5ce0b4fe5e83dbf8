// The order of several working providers, and the background measurements.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Choice among providers")
struct ProviderChoiceTests {
    private let start = Instant.testStart
    private static let (a, b, c) = (RankedID(0), RankedID(1), RankedID(2))

    private func ranking(
        _ milliseconds: [Int], seed: UInt64 = 1, quota: Int? = nil, budget: Int = 100
    ) -> UpstreamRanking {
        let ranking = UpstreamRanking(seed: seed)
        ranking.setProviders(
            milliseconds.indices.map {
                ProviderTraits(
                    id: RankedID($0), types: .any, budgetPerSecond: budget, questionsPerSecond: $0 == 1 ? quota : nil)
            })
        for (index, latency) in milliseconds.enumerated() where latency > 0 {
            for _ in 0..<20 {
                ranking.answered(RankedID(index), after: .milliseconds(latency), now: start)
            }
            begin(ranking, RankedID(index))
        }
        return ranking
    }

    /// Begins and ends a request at the same instant.
    private func begin(_ ranking: UpstreamRanking, _ provider: RankedID, at time: Duration = .zero) {
        ranking.begun(provider, now: start + time)
        ranking.ended(provider, isHeard: true, now: start + time)
    }

    private func firsts(_ ranking: UpstreamRanking, _ count: Int) -> [Int] {
        var counts = [0, 0, 0]
        for _ in 0..<count { counts[ranking.choose(for: .a, among: .providers, now: start)[0].number] += 1 }
        return counts
    }

    @Test("providers that are clearly slower are never first, be they twice or twenty times as slow")
    func best() {
        let ranking = ranking([40, 10, 200])
        #expect(firsts(ranking, 1000) == [0, 1000, 0])
        #expect(ranking.choose(for: .a, among: .providers, now: start) == [Self.b, Self.a, Self.c])
    }

    @Test("of three about as quick two are picked and the better goes first: two thirds, one third, none")
    func twoPicks() {
        let ranking = ranking([10, 12, 14])
        let counts = firsts(ranking, 3000)
        #expect(abs(counts[0] - 2000) < 100 && abs(counts[1] - 1000) < 100 && counts[2] == 0)
        let again = self.ranking([10, 12, 14])
        #expect(firsts(again, 3000) == counts, "the same seed, the same choices")
    }

    @Test("one that has much to do leaves the question to another one about as quick, and to no slower one")
    func load() {
        let ranking = ranking([10, 13, 40])
        #expect(firsts(ranking, 100) == [100, 0, 0])
        ranking.begun(Self.a, now: start)
        #expect(firsts(ranking, 100) == [0, 100, 0])
        for _ in 0..<20 { ranking.begun(Self.b, now: start) }
        #expect(firsts(ranking, 100) == [100, 0, 0])
    }

    @Test("5 ms are no difference, 6 ms and half as much again are")
    func band() {
        let near = ranking([2, 6])
        for _ in 0..<2 { near.begun(Self.a, now: start) }
        #expect(near.choose(for: .a, among: .providers, now: start)[0] == Self.b)
        let far = ranking([2, 8])
        for _ in 0..<9 { far.begun(Self.a, now: start) }
        #expect(far.choose(for: .a, among: .providers, now: start)[0] == Self.a)
    }

    @Test("while one works, the others are measured beside one lookup in fifty, longest ago first, not within 10 s")
    func exploration() {
        let ranking = ranking([10, 40, 200])
        var beside: [(lookup: Int, provider: Int)] = []
        for lookup in 1...300 {
            let now = start + .milliseconds(400 * lookup)
            for provider in ranking.begunLookup(with: Self.a, for: Question(.root, .a), among: .providers, now: now) {
                beside.append((lookup, provider.number))
                begin(ranking, .provider(provider), at: .milliseconds(400 * lookup))
            }
        }
        #expect(beside.map(\.provider) == [1, 2, 1, 2, 1, 2])
        #expect(beside.map(\.lookup) == [50, 100, 150, 200, 250, 300])
        var soon = 0
        for _ in 1...500 {
            for provider in ranking.begunLookup(
                with: Self.a, for: Question(.root, .a), among: .providers, now: start + .seconds(130))
            {
                soon += 1
                begin(ranking, .provider(provider), at: .seconds(130))
            }
        }
        #expect(soon == 2, "what was measured less than 10 s ago is known")
    }

    @Test("an unmeasured provider is measured once another works, with one request at a time")
    func unmeasured() {
        let ranking = ranking([0, 0])
        #expect(ranking.begunLookup(with: Self.a, for: Question(.root, .a), among: .providers, now: start).isEmpty)
        ranking.answered(Self.a, after: .milliseconds(10), now: start)
        #expect(
            ranking.begunLookup(with: Self.a, for: Question(.root, .a), among: .providers, now: start) == [
                ProviderID(1)
            ])
        ranking.begun(Self.b, now: start)
        #expect(ranking.begunLookup(with: Self.a, for: Question(.root, .a), among: .providers, now: start).isEmpty)
    }

    @Test("background measurements respect quotas, pauses and the budget for refreshes")
    func appetite() {
        let paused = ranking([10, 0])
        paused[Self.b]?.throttled(for: .seconds(9), now: start)
        #expect(paused.begunLookup(with: Self.a, for: Question(.root, .a), among: .providers, now: start).isEmpty)
        #expect(
            paused.begunLookup(with: Self.a, for: Question(.root, .a), among: .providers, now: start + .seconds(9)) == [
                ProviderID(1)
            ])
        let paid = ranking([10, 0], quota: 1)
        begin(paid, Self.b)
        #expect(paid.begunLookup(with: Self.a, for: Question(.root, .a), among: .providers, now: start).isEmpty)
        let spent = ranking([10, 0], budget: 1)
        #expect(spent[Self.b]?.spend(now: start) == nil)
        #expect(spent.begunLookup(with: Self.a, for: Question(.root, .a), among: .providers, now: start).isEmpty)
        #expect(
            spent.begunLookup(with: Self.a, for: Question(.root, .a), among: .providers, now: start + .seconds(1)) == [
                ProviderID(1)
            ])
        #expect(spent[Self.b]?.spend(now: start + .seconds(1)) != nil, "it is charged for being measured")
    }

    @Test("a pause is what the provider says up to 10 s, else 1 s doubling to 10 s, and an answer begins it anew")
    func pauses() {
        let ranking = ranking([10])
        var now = start
        for seconds in [1, 2, 4, 8, 10, 10] {
            ranking.failed(Self.a, .throttled, of: .root, now: now)
            ranking.failed(Self.a, .throttled, of: .root, now: now + .milliseconds(1))
            #expect(ranking[Self.a]?.isThrottled(now + .seconds(seconds) - .milliseconds(1)) == true)
            now += .seconds(seconds)
            #expect(!ranking.isInTrouble(Self.a, now))
        }
        ranking.answered(Self.a, after: .milliseconds(10), now: now)
        ranking.failed(Self.a, .throttled, of: .root, now: now)
        #expect(ranking[Self.a]?.isThrottled(now + .seconds(1)) != true)
        ranking[Self.a]?.throttled(for: .seconds(100_000), now: now)
        ranking.failed(Self.a, .throttled, of: .root, now: now)
        #expect(ranking[Self.a]?.isThrottled(now + .milliseconds(9999)) == true)
        #expect(ranking[Self.a]?.isThrottled(now + .seconds(10)) != true)
        #expect(ranking.standings[0].successShare(now) == 1)
    }

    @Test("the states in the order in which they count, and what changed since the last time")
    func states() {
        let ranking = ranking([0, 0], quota: 1)
        #expect(ranking[Self.a]?.state(start) == .unmeasured && ranking[Self.c]?.state(start) == nil)
        ranking.answered(Self.a, after: .milliseconds(10), now: start)
        begin(ranking, Self.b)
        let first = ranking.takeStateChanges(now: start)
        #expect(
            first == [
                ProviderStateChange(upstream: Self.a, from: .unmeasured, to: .up),
                ProviderStateChange(upstream: Self.b, from: .unmeasured, to: .overBudget),
            ])
        #expect(ranking.takeStateChanges(now: start).isEmpty)
        ranking[Self.a]?.throttled(for: .seconds(9), now: start)
        #expect(ranking[Self.a]?.state(start) == .throttled)
        for _ in 0..<2 { ranking.failed(Self.a, .reset, of: .root, now: start) }
        #expect(ranking[Self.a]?.state(start) == .throttled)
        #expect(ranking[Self.a]?.state(start + .seconds(9)) == .down)
        ranking.failed(Self.a, .account, of: .root, now: start)
        #expect(ranking[Self.a]?.state(start + .seconds(3599)) == .blocked)
        #expect(ranking[Self.a]?.state(start + .seconds(3600)) == .down, "not asked yet")
        ranking.reset(nil)
        #expect(ranking[Self.a]?.state(start) == .unmeasured)
        let changes = ranking.takeStateChanges(now: start)
        #expect(
            changes == [ProviderStateChange(upstream: Self.a, from: .up, to: .unmeasured)], "what is spent is spent")
    }

    @Test("the share of first choices is that of about the last minute")
    func shares() throws {
        let ranking = ranking([10, 40])
        for _ in 0..<30 {
            _ = ranking.begunLookup(with: Self.a, for: Question(.root, .a), among: .providers, now: start)
        }
        for _ in 0..<10 {
            _ = ranking.begunLookup(with: Self.b, for: Question(.root, .a), among: .providers, now: start)
        }
        #expect(ranking.estimate(of: Self.b, now: start)?.firstShare == 0.25)
        for _ in 0..<10 {
            _ = ranking.begunLookup(
                with: Self.b, for: Question(.root, .a), among: .providers, now: start + .seconds(600))
        }
        let share = try #require(ranking.estimate(of: Self.b, now: start + .seconds(600))?.firstShare)
        #expect(share > 0.75)
        #expect(ranking.estimate(of: Self.b, now: start)?.percentile95Milliseconds == 40)
    }
}
