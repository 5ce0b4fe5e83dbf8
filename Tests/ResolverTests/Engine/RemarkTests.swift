// Extended errors explain special answers to clients and in `query`; ordinary answers have none.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

struct RemarkTests {
    private let now = Instant.testStart
    private let name: Name
    private let provider = ProviderTraits(id: RankedID(0), types: .addresses)

    init() throws {
        name = try #require(Name("www.example"))
    }

    private func answer(_ addresses: String..., ttl: UInt32 = 60) throws -> Answer {
        Answer(
            records: try addresses.map {
                ResourceRecord(owner: name, address: try #require(Address($0)), ttlSeconds: ttl)
            })
    }

    /// The client's answer and extended error for a result of the only upstream.
    private func given(_ result: FetchResult, _ policy: Policy = Policy()) -> (Answer?, UInt16?) {
        var (resolver, actions) = (Resolver(seed: 1), [Action]())
        resolver.handle(.upstreamsChanged(providers: [provider], hasSystem: false), now: now, actions: &actions)
        resolver.handle(.policyChanged(policy), now: now, actions: &actions)
        resolver.handle(.asked(Question(name, .a), Waiter(1)), now: now, actions: &actions)
        for case .fetch(let id, _, _, _) in actions {
            resolver.handle(.fetchFinished(id, result), now: now, actions: &actions)
        }
        for action in actions {
            if case .reply(_, let answer, _) = action { return (answer, answer.remark?.code) }
            if case .fail(_, let reason, _) = action { return (nil, reason.code) }
        }
        return (nil, nil)
    }

    /// Asks one question. The providers' and the system resolver's requests end with these results.
    private func actions(
        _ question: Question, _ result: FetchResult, system: FetchResult? = nil, expired: AgedAnswer? = nil
    ) -> [Action] {
        var (resolver, actions) = (Resolver(seed: 1), [Action]())
        resolver.handle(.upstreamsChanged(providers: [provider], hasSystem: system != nil), now: now, actions: &actions)
        var new: [Action] = []
        let given = GivenAnswers(expiredAnswer: expired)
        resolver.handle(.asked(question, Waiter(1)), now: now, given: given, actions: &new)
        while !new.isEmpty {
            actions += new
            let due = new
            new = []
            for case .fetch(let id, _, let upstream, _) in due {
                let end = upstream == .system ? system ?? result : result
                resolver.handle(.fetchFinished(id, end), now: now, actions: &new)
            }
        }
        return actions
    }

    private let bogus = ExtendedError(upstream: 6, text: "bogus".utf8)

    @Test("an upstream's error goes with every kind of answer to client and cache")
    func ofUpstream() throws {
        let answers = [
            try answer("192.0.2.1"), Answer(negative: .noSuchName), Answer(negative: .noData),
            Answer(negative: .ambiguousEmpty), try answer("192.0.2.1", ttl: 900_000),
        ]
        for answer in answers.map({ $0.remarked(bogus) }) {
            let actions = actions(Question(name, .a), .success(answer))
            let given = actions.compactMap { if case .reply(_, let answer, _) = $0 { answer.remark } else { nil } }
            let stored = actions.compactMap { if case .store(_, let answer, _, _) = $0 { answer.remark } else { nil } }
            #expect(given == [bogus] && stored == [bogus], "\(answer.kind)")
        }
    }

    @Test("what the system resolver says about the name precedes that it stood in")
    func ofSystem() throws {
        let stoodIn = SubstituteReason.unreachable.extendedError
        for (said, wanted) in [(nil, stoodIn), (bogus, bogus), (ExtendedError(upstream: 3, text: []), stoodIn)] {
            let system = FetchResult.success(try answer("192.0.2.1").remarked(said))
            let actions = actions(Question(name, .a), .failure(.refused), system: system)
            let given = actions.compactMap { if case .reply(_, let answer, _) = $0 { answer.remark } else { nil } }
            #expect(given == [wanted])
        }
    }

    @Test("an expired answer keeps its error where its hints are removed")
    func expired() throws {
        let https = Question(name, .https)
        let data: [UInt8] = [0, 1, 0, 0, 4, 0, 4, 1, 2, 3, 4]
        let answer = Answer(records: [ResourceRecord(owner: name, type: .https, ttlSeconds: 60, data: data)])
        let aged = AgedAnswer(
            RenderedAnswer(answer.remarked(bogus), to: https), ageMilliseconds: 70_000, lifetimeSeconds: 60)
        let given = actions(https, .failure(.refused), expired: aged).compactMap { action -> ExpiredAnswer? in
            if case .replyExpired(_, let answer, _) = action { answer } else { nil }
        }
        #expect(given.count == 1 && given[0].answer.extendedError == bogus && given[0].extendedError == .staleAnswer)
        #expect(try given[0].answer.records(of: https)[0].addressHints.isEmpty)
    }

    @Test("a plain answer has no remark")
    func plain() throws {
        #expect(given(.success(try answer("192.0.2.1"))).1 == nil)
        #expect(given(.success(Answer(negative: .noSuchName))).1 == nil)
    }

    @Test("an answer without the private addresses that it had is blocked in part (15), and wholly if none is left")
    func privateAddresses() throws {
        let some = given(.success(try answer("192.168.1.1", "203.0.113.7")))
        #expect(some.0?.addresses.count == 1 && some.1 == 15)
        let none = given(.success(try answer("192.168.1.1")))
        #expect(none.0?.kind == .noSuchName && none.1 == 15 && none.0?.isBlock == true)
    }

    @Test("a rule's own addresses are put in the place of the name's (4), also where they have none of the family")
    func fallback() throws {
        for address in ["203.0.113.99", "2001:db8::99"] {
            var (policy, rule) = (Policy(), Rule(match: [name]))
            rule.terms.fallbackAddresses = [try #require(Address(address))]
            policy.rules = RuleTable([rule])
            #expect(given(.failure(.refused), policy).1 == 4)
        }
    }

    @Test("synthesised addresses say so (29), through every change of TTL and order")
    func synthesis() throws {
        var synthesis = DNS64()
        let prefix = try #require(Prefix("64:ff9b::/96").flatMap { NAT64Prefix($0) })
        synthesis.setPrefixes([prefix])
        let made = try #require(synthesis.answer(from: answer("192.0.2.1"), Answer(negative: .noData)))
        #expect(made.remark?.code == 29 && made.withTTL(to: 5).remark?.code == 29)
        #expect(made.with([]).remark?.code == 29)
    }

    @Test("addresses that are made of what the system resolver said in the providers' place say that, and are counted")
    func synthesisedSubstitute() throws {
        var (resolver, actions) = (Resolver(seed: 1), [Action]())
        let prefix = try #require(Prefix("64:ff9b::/96").flatMap { NAT64Prefix($0) })
        resolver.handle(.upstreamsChanged(providers: [provider], hasSystem: true), now: now, actions: &actions)
        resolver.handle(.nat64Prefixes([prefix], synthesises: true), now: now, actions: &actions)
        resolver.handle(.asked(Question(name, .aaaa), Waiter(1)), now: now, actions: &actions)
        var given: Answer?
        while given == nil, !actions.isEmpty {
            let due = actions
            actions = []
            for action in due {
                if case .reply(_, let answer, _) = action { given = answer }
                guard case .fetch(let id, let question, let upstream, _) = action else { continue }
                let said = question.type == .a ? try answer("192.0.2.1") : Answer(negative: .noData)
                let result: FetchResult = upstream == .system ? .success(said) : .failure(.refused)
                resolver.handle(.fetchFinished(id, result), now: now, actions: &actions)
            }
        }
        #expect(given?.addresses.count == 1 && given?.remark == SubstituteReason.unreachable.extendedError)
        // The two substitutes are for AAAA and for the A from which it is synthesised.
        #expect(resolver.substituteCount(for: .unreachable) == 2)
    }

    @Test("a question that fails says why, and soon after that it failed a moment ago (13)")
    func failure() throws {
        var (resolver, actions) = (Resolver(seed: 1), [Action]())
        for number in 1...2 as ClosedRange<UInt64> {
            actions = []
            let event = Event.asked(Question(name, .a), Waiter(number))
            resolver.handle(event, now: now, actions: &actions)
            guard case .fail(_, let reason, _) = actions.first else { Issue.record("no failure"); return }
            #expect(reason.code == (number == 1 ? 22 : 13))
        }
    }
}
