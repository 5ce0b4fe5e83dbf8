// A rule's address family: its effect by type, the rule that counts, and the answer without that family.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

struct FamilyPolicyTests {
    private let now = Instant.testStart
    private let question: Question

    init() throws {
        question = Question(try #require(Name("www.example")), .aaaa)
    }

    private func policy(_ families: (String, FamilyPolicy)...) throws -> Policy {
        var policy = Policy()
        policy.rules = RuleTable(
            try families.map { name, family in
                var rule = Rule(match: [try #require(Name(name))])
                rule.terms.family = family
                return rule
            })
        return policy
    }

    private func resolver(_ policy: Policy) -> Resolver {
        var (resolver, actions) = (Resolver(seed: 1), [Action]())
        let provider = ProviderTraits(id: RankedID(0), types: .addresses)
        resolver.handle(.upstreamsChanged(providers: [provider], hasSystem: false), now: now, actions: &actions)
        resolver.handle(.policyChanged(policy), now: now, actions: &actions)
        return resolver
    }

    /// The immediate answer to an AAAA question; nil: the resolver asks upstreams.
    private func reply(_ policy: Policy, preferred: AgedAnswer?) -> Answer? {
        var (resolver, actions) = (resolver(policy), [Action]())
        resolver.handle(
            .asked(question, Waiter(1)), now: now, given: GivenAnswers(otherAnswer: preferred), actions: &actions)
        for case .reply(_, let answer, .local) in actions { return answer }
        return nil
    }

    @Test("only address types are affected, and of these only the other family")
    func treatment() {
        for type in [RecordType.mx, .https, .svcb, .ptr, .any] {
            #expect(FamilyPolicy.allCases.allSatisfy { $0.treatment(of: type) == .ordinary })
        }
        #expect(
            FamilyPolicy.allCases.map { $0.treatment(of: .a) } == [
                .ordinary, .ordinary, .excluded, .ordinary, .yielding,
            ])
        #expect(
            FamilyPolicy.allCases.map { $0.treatment(of: .aaaa) }
                == [.ordinary, .excluded, .ordinary, .yielding, .ordinary])
    }

    @Test("the longest match counts, and \"both\" lifts a wider rule")
    func longestMatch() throws {
        let policy = try policy((".", .preferIPv4), ("example", .ipv4), ("free.example", .both), ("example", .ipv6))
        let treatments = try ["a.org", "www.example", "a.free.example"].map {
            policy.of(try #require(Name($0))).treatment(of: .aaaa)
        }
        #expect(treatments == [.yielding, .excluded, .ordinary])
        #expect(policy.limits(.aaaa, of: question.name) && !policy.limits(.a, of: question.name))
        #expect(!Policy().limits(.aaaa, of: question.name))
    }

    @Test("the answer is no data with a SOA record of the same short TTL, and says why (17)")
    func answer() throws {
        let answer = try #require(reply(try policy(("example", .ipv4)), preferred: nil))
        #expect(answer.kind == .noData && answer.ttlSeconds == 60 && answer.remark?.code == 17)
        let authority = try #require(answer.authority)
        #expect(authority.owner == question.name && authority.ttlSeconds == 60)
        #expect(authority.startOfAuthorityMinimum == 60)
        #expect(RenderedAnswer(answer, to: question).authorityCount == 1)
    }

    @Test("a cached answer decides only if it is the preferred family's, fresh or not too old, and has an address")
    func cachedAnswers() throws {
        let policy = try policy(("example", .preferIPv4))
        let four = question.with(.a)
        let aged = { (answer: Answer, seconds: Int64) in
            AgedAnswer(RenderedAnswer(answer, to: four), ageMilliseconds: seconds * 1000, lifetimeSeconds: 60)
        }
        let address = ResourceRecord(owner: question.name, address: .v4(0xC000_0201), ttlSeconds: 60)
        let good = Answer(records: [address])
        #expect(reply(policy, preferred: aged(good, 0)) != nil && reply(policy, preferred: aged(good, 3600)) != nil)
        #expect(reply(policy, preferred: nil) == nil)
        #expect(reply(policy, preferred: aged(good, 90_000)) == nil, "too old")
        #expect(reply(policy, preferred: aged(Answer(negative: .noData), 0)) == nil)
        let alias = ResourceRecord(owner: question.name, alias: try #require(Name("x.example")), ttlSeconds: 60)
        #expect(reply(policy, preferred: aged(Answer(records: [alias]), 0)) == nil, "an alias to nothing")
        #expect(reply(try self.policy(("example", .preferIPv6)), preferred: aged(good, 0)) == nil)
    }

    @Test("another answer of the cache is wanted only for a type that may yield")
    func preferredQuestion() throws {
        func preferred(over question: Question, _ policy: Policy) -> Question? {
            let resolver = resolver(policy)
            return resolver.preferredQuestion(over: resolver.routing.routed(question, now: .testStart))
        }
        let soft = try policy(("example", .preferIPv4), ("hard.example", .ipv4))
        #expect(preferred(over: question, soft) == question.with(.a))
        #expect(preferred(over: question.with(.a), soft) == nil)
        #expect(preferred(over: question.with(.https), soft) == nil)
        #expect(preferred(over: Question(try #require(Name("hard.example")), .aaaa), soft) == nil)
        #expect(preferred(over: Question(try #require(Name("a.org")), .aaaa), soft) == nil)
        #expect(preferred(over: question, Policy()) == nil)
    }

    @Test("HTTPS answers have no address hint of an excluded family, nor of one that yields, cached before or not")
    func hints() throws {
        let hints = [Address.v4(0xC000_0201), .v6(high: 0x2A00 << 48, low: 1)]
        let data: [UInt8] = [0, 1, 0, 0, 4, 0, 4] + hints[0].bytes + [0, 6, 0, 16] + hints[1].bytes
        let binding = ResourceRecord(owner: question.name, type: .https, ttlSeconds: 60, data: data)
        for family in FamilyPolicy.allCases {
            var (resolver, actions) = (resolver(Policy()), [Action]())
            let provider = ProviderTraits(id: RankedID(0), types: .any)
            resolver.handle(.upstreamsChanged(providers: [provider], hasSystem: false), now: now, actions: &actions)
            var waiters: UInt64 = 0
            func ask(_ type: RecordType, _ record: ResourceRecord) -> [Address] {
                var actions: [Action] = []
                waiters += 1
                resolver.handle(
                    .asked(question.with(type), Waiter(waiters)), now: now, actions: &actions)
                for case .fetch(let id, let asked, _, _) in actions where asked.type == type {
                    resolver.handle(
                        .fetchFinished(id, .success(Answer(records: [record]))), now: now, actions: &actions)
                }
                for case .reply(Waiter(waiters), let answer, _) in actions {
                    return answer.records.flatMap(\.addressHints)
                }
                return []
            }
            for (type, address) in zip([RecordType.a, .aaaa], hints) {
                _ = ask(type, ResourceRecord(owner: question.name, address: address, ttlSeconds: 60))
            }
            #expect(ask(.https, binding) == hints)
            resolver.handle(.policyChanged(try policy(("example", family))), now: now, actions: &actions)
            let allowed = zip([RecordType.a, .aaaa], hints).filter { family.treatment(of: $0.0) == .ordinary }
            for (type, address) in allowed {
                _ = ask(type, ResourceRecord(owner: question.name, address: address, ttlSeconds: 60))
            }
            #expect(ask(.https, binding) == allowed.map(\.1), "\(family)")
        }
    }

    @Test("a request for an excluded family ends, and a kept name needs only the other one")
    func requested() throws {
        var policy = try policy(("example", .ipv4))
        var (resolver, actions) = (resolver(policy), [Action]())
        resolver.handle(.requested([question]), now: now, actions: &actions)
        #expect(resolver.state.plan.isRequested(question))
        resolver.handle(.timePassed, now: try #require(resolver.nextDeadline), actions: &actions)
        #expect(!resolver.state.plan.isRequested(question) && resolver.lookupsInFlight == 0)
        policy.kept = [question.name]
        resolver.handle(.policyChanged(policy), now: now, actions: &actions)
        #expect(resolver.state.plan.isKept(question.with(.a)) && !resolver.state.plan.isKept(question))
    }

    @Test("the preferred family is asked on behalf of the same client, or as a refresh within the provider's budget")
    func purpose() throws {
        let policy = try policy(("example", .preferIPv4))
        func purposes(_ event: Event) -> [FetchPurpose] {
            var (resolver, actions) = (resolver(policy), [Action]())
            resolver.handle(event, now: now, actions: &actions)
            return actions.compactMap { if case .fetch(_, _, _, let purpose) = $0 { purpose } else { nil } }
        }
        let client = ClientID(.v4(0xC000_0202))
        let asked = purposes(.asked(question, Waiter(1, of: client)))
        #expect(asked == Array(repeating: FetchPurpose(ShareHolder(question.name, client), isRefresh: false), count: 2))
        let refreshed = purposes(.prefetchDue(question))
        #expect(refreshed.count == 2 && refreshed.allSatisfy { $0.isRefresh && $0.holder.client == nil })
    }

    @Test("a refresh that waits for the preferred family's refresh does not hurry it")
    func joinedRefresh() throws {
        var policy = try policy(("example", .preferIPv4))
        policy.order = .systemFirst
        var (resolver, actions) = (resolver(policy), [Action]())
        let provider = ProviderTraits(id: RankedID(0), types: .addresses)
        resolver.handle(.upstreamsChanged(providers: [provider], hasSystem: true), now: now, actions: &actions)
        for question in [question.with(.a), question] {
            resolver.handle(.prefetchDue(question), now: now, actions: &actions)
        }
        let asked = { (actions: [Action]) in
            actions.compactMap { if case .fetch(_, _, let upstream, _) = $0 { upstream } else { nil } }
        }
        #expect(asked(actions) == [.system, .system])
        actions = []
        resolver.handle(.timePassed, now: now + .milliseconds(1500), actions: &actions)
        #expect(asked(actions) == [])
        resolver.handle(.timePassed, now: now + .milliseconds(2000), actions: &actions)
        #expect(asked(actions) == [.provider(ProviderID(0)), .provider(ProviderID(0))])
    }

    @Test("a refresh asks an account over its quota for neither family")
    func overQuota() throws {
        var (resolver, actions) = (resolver(try policy(("example", .preferIPv4))), [Action]())
        resolver.handle(.prefetchDue(question), now: now, actions: &actions)
        let fetches = actions.compactMap { if case .fetch(let id, let asked, _, _) = $0 { (id, asked) } else { nil } }
        resolver.handle(.overQuota(ProviderID(0), until: now + .seconds(60)), now: now, actions: &actions)
        actions = []
        for (id, _) in fetches {
            resolver.handle(.fetchFinished(id, .failure(.garbage)), now: now, actions: &actions)
        }
        #expect(!actions.contains { if case .fetch = $0 { true } else { false } } && resolver.lookupsInFlight == 0)
    }

    @Test("an answer in late providers' place is counted as such after its wait for the preferred family")
    func substituteReason() throws {
        var (resolver, now) = (resolver(try policy(("example", .preferIPv4))), now)
        var waiting = [
            Event.upstreamsChanged(
                providers: [ProviderTraits(id: RankedID(0), types: .addresses)], hasSystem: true)
        ]
        waiting.append(.asked(question, Waiter(1)))
        let address = ResourceRecord(owner: question.name, address: .v6(high: 0x2A00 << 48, low: 1), ttlSeconds: 60)
        for _ in 0..<20 where resolver.lookupsInFlight > 0 || !waiting.isEmpty {
            var actions: [Action] = []
            for event in waiting { resolver.handle(event, now: now, actions: &actions) }
            waiting = actions.compactMap {
                guard case .fetch(let id, let asked, .system, _) = $0 else { return nil }
                let answer = asked == question ? Answer(records: [address]) : Answer(negative: .noData, ttlSeconds: 60)
                return .fetchFinished(id, .success(answer))
            }
            guard waiting.isEmpty, resolver.lookupsInFlight > 0, let due = resolver.nextDeadline else { continue }
            (now, waiting) = (due, [.timePassed])
        }
        #expect(SubstituteReason.allCases.map(resolver.substituteCount) == [2, 0, 0, 0, 0, 0])
    }

    @Test("a new family moves the names of its rule, and no others")
    func moves() throws {
        let (old, new) = (try policy(("example", .ipv4)), try policy(("example", .preferIPv4)))
        #expect(new.answersDiffering(from: old).map(\.name) == [try #require(Name("example"))])
        #expect(new.mayDiffer(from: old, for: question.name) && !new.mayDiffer(from: new, for: question.name))
        #expect(!new.mayDiffer(from: old, for: try #require(Name("a.org"))))
    }
}
