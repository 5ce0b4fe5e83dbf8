// Answers that another member of the fleet got from a provider, and answers that this member publishes.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

struct SharedFetchTests {
    private let now = Instant.testStart
    private let name: Name
    private let provider = ProviderTraits(id: RankedID(0), types: .any)

    init() throws { name = try #require(Name("www.example")) }

    private func answer(_ addresses: String..., ttl: UInt32 = 60) throws -> Answer {
        Answer(
            records: try addresses.map {
                ResourceRecord(owner: name, address: try #require(Address($0)), ttlSeconds: ttl)
            })
    }

    private func resolver(_ policy: Policy = Policy()) -> Resolver {
        var (resolver, actions) = (Resolver(seed: 1), [Action]())
        resolver.handle(.upstreamsChanged(providers: [provider], hasSystem: false), now: now, actions: &actions)
        resolver.handle(.policyChanged(policy), now: now, actions: &actions)
        return resolver
    }

    /// A provider that answers other members' requests must not count as silent, although this member sends none.
    @Test func aProviderThatAnswersForTheFleetIsNotSilent() throws {
        var resolver = resolver()
        for number in 0..<20 {
            var actions: [Action] = []
            let question = Question(try #require(Name("www.n\(number).example")), .a)
            let at = now + .milliseconds(300 * number)
            resolver.handle(.asked(question, Waiter(UInt64(number))), now: at, actions: &actions)
            for case .fetch(let id, _, _, _) in actions {
                var further: [Action] = []
                resolver.handle(.fetchAwaitsFleet(id), now: at, actions: &further)
                let answer = Answer(
                    records: [ResourceRecord(owner: question.name, address: .v4(0xCB00_7107), ttlSeconds: 60)])
                resolver.handle(.fetchShared(id, answer), now: at + .milliseconds(200), actions: &further)
            }
        }
        let end = now + .seconds(6)
        #expect(resolver.state.ranking[provider.id]?.isUnresponsive(for: name, end) != true)
        #expect(resolver.state.ranking[provider.id]?.mayBeSilent(end) != true)
    }

    /// The leases of dead members delay the provider's requests; other names must not suffer.
    @Test func aProviderIsNotSilentWhileFetchesWaitForTheFleet() throws {
        var (resolver, ids) = (resolver(), [FetchID]())
        for number in 0..<5 {
            var actions: [Action] = []
            let question = Question(try #require(Name("www.n\(number).example")), .a)
            resolver.handle(.asked(question, Waiter(UInt64(number))), now: now, actions: &actions)
            for case .fetch(let id, _, _, _) in actions { ids.append(id) }
            resolver.handle(.fetchAwaitsFleet(ids[number]), now: now, actions: &actions)
        }
        let end = now + .milliseconds(1500)
        #expect(resolver.state.ranking[provider.id]?.isUnresponsive(for: name, end) != true)
        var actions: [Action] = []
        for id in ids { resolver.handle(.fetchSent(id), now: end, actions: &actions) }
        let later = end + .milliseconds(1500)
        #expect(resolver.state.ranking[provider.id]?.isUnresponsive(for: name, later) == true)
        // The latency includes only the time of the request, which has the provider's whole time-out.
        let answer = Answer(
            records: [
                ResourceRecord(owner: try #require(Name("www.n0.example")), address: .v4(0xCB00_7107), ttlSeconds: 60)
            ])
        actions = []
        resolver.handle(.timePassed, now: now + .milliseconds(3100), actions: &actions)
        #expect(!actions.contains { if case .abandon = $0 { true } else { false } })
        resolver.handle(.fetchFinished(ids[0], .success(answer)), now: end + .seconds(2), actions: &actions)
        #expect(resolver.estimate(of: provider.id, now: end)?.latencyMilliseconds == 2000)
    }

    @Test func whatIsSharedHasNoVerdictsAndNoPrivateAddresses() throws {
        let resolver = resolver()
        let given = try answer("192.168.1.1", "203.0.113.7", "203.0.113.8")
        let shared = resolver.shareable(Question(name, .a), given, from: ProviderID(0))
        #expect(shared?.addresses.map(\.description) == ["203.0.113.7", "203.0.113.8"])
        #expect(shared?.ttlSeconds == 60)
        let block = try answer("0.0.0.0")
        #expect(resolver.shareable(Question(name, .a), block, from: ProviderID(0)) == block)
        for useless in [try answer("203.0.113.7", ttl: 0), Answer(negative: .ambiguousEmpty)] {
            #expect(resolver.shareable(Question(name, .a), useless, from: ProviderID(0)) == nil)
        }
        #expect(resolver.shareable(Question(name, .a), given, from: ProviderID(7)) == nil)
        let hints = Answer(records: [
            ResourceRecord(owner: name, type: .https, ttlSeconds: 60, data: [0, 1, 0, 0, 4, 0, 4, 203, 0, 113, 7])
        ])
        #expect(resolver.shareable(Question(name, .https), hints, from: ProviderID(0)) == hints)
    }

    @Test func whatContradictsARuleIsNotShared() throws {
        var (policy, rule) = (Policy(), Rule(match: [name]))
        var expectation = RuleExpectation()
        expectation.networks = [try #require(Prefix("198.51.100.0/24"))]
        rule.terms.expectation = expectation
        policy.rules = RuleTable([rule])
        let resolver = resolver(policy)
        #expect(resolver.shareable(Question(name, .a), try answer("203.0.113.7"), from: ProviderID(0)) == nil)
        #expect(resolver.shareable(Question(name, .a), try answer("198.51.100.7"), from: ProviderID(0)) != nil)
    }
}
