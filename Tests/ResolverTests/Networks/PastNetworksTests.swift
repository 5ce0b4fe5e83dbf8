// The remembered state of networks that are not in use, and its bounds.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Past networks")
struct PastNetworksTests {
    private let start = Instant.testStart
    private let provider = ProviderTraits(id: RankedID(0), types: .any, budgetPerSecond: 5, questionsPerSecond: 5)

    private func past(_ number: UInt32, names: [NameVerification] = []) -> PastNetworks.Past {
        PastNetworks.Past(
            NetworkID(rawValue: number), providers: [ProviderStanding(provider)], systemCredibility: Credibility(),
            names: names)
    }

    /// The networks after changes from each number to the next.
    private func networks(upTo last: UInt32) -> PastNetworks {
        var networks = PastNetworks()
        for number in 1...last {
            let past = networks.present.map { self.past($0.rawValue) }
            _ = networks.change(to: NetworkID(rawValue: number), leaving: past, now: start)
        }
        return networks
    }

    @Test("eight are known, the one in use among them; the one that was left the longest ago goes")
    func bound() {
        var networks = networks(upTo: 9)
        #expect(networks.pasts.map(\.key.rawValue) == [2, 3, 4, 5, 6, 7, 8])
        #expect(networks.change(to: NetworkID(rawValue: 1), leaving: past(9), now: start) == nil)
        #expect(networks.pasts.map(\.key.rawValue) == [3, 4, 5, 6, 7, 8, 9])
        #expect(
            networks.change(to: NetworkID(rawValue: 3), leaving: past(1), now: start)?.key == NetworkID(rawValue: 3))
        #expect(networks.pasts.map(\.key.rawValue) == [4, 5, 6, 7, 8, 9, 1])
    }

    @Test("one that is forgotten is new when it comes back")
    func forgotten() {
        var networks = networks(upTo: 3)
        networks.forget(NetworkID(rawValue: 1))
        #expect(networks.change(to: NetworkID(rawValue: 1), leaving: past(3), now: start) == nil)
        #expect(networks.change(to: NetworkID(rawValue: 2), leaving: past(1), now: start) != nil)
    }

    @Test("a network is new for two seconds, but for the first one, which was in use already")
    func isNew() {
        #expect(!networks(upTo: 1).isNew(start))
        let networks = networks(upTo: 2)
        #expect(networks.isNew(start) && networks.isNew(start + .milliseconds(1999)))
        #expect(!networks.isNew(start + .seconds(2)) && !PastNetworks().isNew(start))
    }

    @Test("a provider that is reset or not configured any more is a stranger on every network")
    func strangers() {
        var networks = networks(upTo: 2)
        networks.keep([provider])
        networks.reset(RankedID(1))
        #expect(networks.pasts.map(\.providers.count) == [1])
        networks.reset(nil)
        #expect(networks.pasts.map(\.providers.count) == [0])
    }

    @Test("of a past network the names that were touched last keep what is known of them")
    func names() throws {
        var state = ResolverState(seed: 1)
        for number in 0..<1000 {
            let name = try #require(Name("n\(number).example"))
            state.verification.asked(Question(name, .a), now: start + .seconds(number))
        }
        let kept = state.past(NetworkID(rawValue: 1)).names.map(\.name.description)
        #expect(kept.count == Bounds.maxPastNames)
        #expect(kept == (0..<Bounds.maxPastNames).map { "n\(999 - $0).example" })
    }

    @Test("what a provider was asked counts against its budgets on the next network too")
    func budgets() {
        let ranking = UpstreamRanking(seed: 1)
        ranking.setProviders([provider])
        let paid = (0..<5).map { _ in ranking[provider.id]?.spend(now: start) }
        #expect(paid == [nil, nil, nil, nil, nil])
        for _ in 0..<5 {
            ranking.begun(provider.id, now: start)
            ranking.ended(provider.id, isHeard: false, now: start)
        }
        ranking.moved(to: [])
        #expect(ranking[provider.id]?.spend(now: start) != nil)
        #expect(ranking[provider.id]?.state(start) == .overBudget)
    }

    @Test("a system resolver that lies on one network is believed on the next, and is not when the first comes back")
    func systemCredibility() throws {
        var state = ResolverState(seed: 1)
        for number in 0..<3 {
            state.recordForged(.system, about: try #require(Name("www.site\(number).com")), now: start)
        }
        #expect(state.termsAtFirst(start).patience == Bounds.systemPatienceMistrusted)
        let past = state.past(NetworkID(rawValue: 1))
        state.move(to: nil, hottest: [], now: start)
        #expect(state.termsAtFirst(start).patience == Bounds.systemPatienceAtFirst)
        state.move(to: past, hottest: [], now: start)
        #expect(state.termsAtFirst(start).patience == Bounds.systemPatienceMistrusted)
        #expect(state.termsAtFirst(start).hedge == .zero)
    }

    @Test("the names that are asked most are probed first when a network comes back, and the rest when asked for")
    func reverified() throws {
        var stand = Verification(seed: 1)
        var names: [Name] = []
        for number in 0..<60 {
            let name = try #require(Name("n\(number).example"))
            let record = ResourceRecord(
                owner: name, address: .v4(0x0100_0001 + UInt32(number) << 12), ttlSeconds: 600)
            stand.kept(
                Question(name, .a), Answer(records: [record]), from: .system, VerificationStand.terms(), isInUse: true,
                isDoubted: false, now: start)
            names.append(name)
        }
        _ = stand.takeConsequences()
        stand.networkChanged(nil, hottest: names.reversed(), now: start)
        var probed: [Name] = []
        var awaited: [Name] = []
        for step in 0...200 {
            for consequence in stand.takeConsequences() {
                if case .probe(_, let target) = consequence { probed.append(target.name) }
                if case .awaitAsk(let question, _) = consequence { awaited.append(question.name) }
            }
            stand.timePassed(now: start + .milliseconds(50 * step))
        }
        #expect(probed == Array(names.suffix(Bounds.maxReverifiedNames).reversed()))
        #expect(awaited == Array(names.prefix(60 - Bounds.maxReverifiedNames)))
    }
}
