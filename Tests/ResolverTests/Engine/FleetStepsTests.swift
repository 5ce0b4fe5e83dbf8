// Refreshes and budgets of a member whose requests wait for its fleet. What happens to one question is in the scenarios
// `fleet-*`.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

struct FleetStepsTests {
    private let now = Instant.testStart
    private let name: Name
    private let question: Question

    init() throws {
        name = try #require(Name("www.example"))
        question = Question(name, .a)
    }

    private func answer(_ address: String = "203.0.113.7", ttl: UInt32 = 60) throws -> Answer {
        Answer(records: [ResourceRecord(owner: name, address: try #require(Address(address)), ttlSeconds: ttl)])
    }

    private func resolver(_ providers: ProviderTraits..., hasSystem: Bool = false) -> Resolver {
        var (resolver, actions) = (Resolver(seed: 1), [Action]())
        resolver.handle(.upstreamsChanged(providers: providers, hasSystem: hasSystem), now: now, actions: &actions)
        resolver.handle(.policyChanged(Policy()), now: now, actions: &actions)
        return resolver
    }

    private func limited(_ number: Int, _ questionsPerSecond: Int? = 50) -> ProviderTraits {
        ProviderTraits(id: RankedID(number), types: .any, questionsPerSecond: questionsPerSecond)
    }

    /// Handles the event; all fetches from providers then wait for the fleet.
    private func handle(_ event: Event, _ resolver: inout Resolver, after: Duration = .zero) -> [Action] {
        var actions: [Action] = []
        resolver.handle(event, now: now + after, actions: &actions)
        for case .fetch(let id, _, .provider, _) in actions {
            resolver.handle(.fetchAwaitsFleet(id), now: now + after, actions: &actions)
        }
        return actions
    }

    /// Passes time from `begin` to `end`, and carries out the fetches of refreshes; there are no hits.
    private func pass(
        _ resolver: inout Resolver, from begin: Duration, to end: Duration,
        _ carryOut: (FetchID, Upstream, Question, inout Resolver, Duration) throws -> Void
    ) rethrows {
        var time = begin
        while let deadline = resolver.nextDeadline, deadline <= now + end {
            time = max(time, now.duration(to: deadline))
            let actions = handle(.timePassed, &resolver, after: time)
            for case .fetch(let id, let question, let upstream, _) in actions {
                try carryOut(id, upstream, question, &resolver, time)
            }
        }
    }

    private func fetches(_ actions: [Action]) -> [(id: FetchID, upstream: Upstream, purpose: FetchPurpose)] {
        actions.compactMap { action in
            if case .fetch(let id, _, let upstream, let purpose) = action { (id, upstream, purpose) } else { nil }
        }
    }

    /// A short TTL in another member's answer does not show that the provider counts its TTLs down, so refreshes still
    /// precede expiry.
    @Test(arguments: [true, false]) func anAnswerOfAnotherMemberIsShorterThanTheProviders(isLate: Bool) throws {
        var resolver = resolver(limited(0))
        let first = try #require(fetches(handle(.asked(question, Waiter(1)), &resolver)).first)
        _ = handle(.fetchSent(first.id), &resolver)
        _ = handle(.fetchFinished(first.id, .success(try answer())), &resolver)
        let ttls: [UInt32] = [20, 60, 25, 59, 60]
        var (ends, begins) = ([Duration.seconds(60)], [Duration]())
        try pass(&resolver, from: .zero, to: .seconds(300)) { id, _, question, resolver, time in
            begins.append(time)
            guard ends.count <= ttls.count else { return }
            let answer = try answer(ttl: ttls[ends.count - 1])
            ends.append(time + .seconds(Int64(answer.ttlSeconds)))
            if isLate { _ = handle(.fetchSent(id), &resolver, after: time) }
            _ = handle(.fetchShared(id, answer), &resolver, after: time)
            _ = handle(.servedAgain(question), &resolver, after: time)
        }
        #expect(begins.count > ttls.count)
        for (begin, end) in zip(begins, ends) { #expect(begin < end) }
    }

    /// A synthesised IPv6 address (DNS64) has the remaining TTL of its IPv4 address.
    @Test func aSynthesisedAnswerIsShorterThanTheProviders() throws {
        var resolver = resolver(limited(0))
        let prefix = try #require(Prefix("64:ff9b::/96").flatMap { NAT64Prefix($0) })
        _ = handle(.nat64Prefixes([prefix], synthesises: true), &resolver)
        var (ttls, ends, begins) = ([UInt32](arrayLiteral: 60, 20, 60, 25, 59)[...], [Duration](), [Duration]())
        func carryOut(_ actions: [Action], _ resolver: inout Resolver, _ time: Duration) throws {
            for action in actions {
                switch action {
                case .store(let question, let answer, _, _) where question.type == .aaaa:
                    ends.append(time + .seconds(Int64(answer.ttlSeconds)))
                case .fetch(let id, let question, _, _): try fetch(id, question, &resolver, time)
                default: break
                }
            }
        }
        func fetch(_ id: FetchID, _ question: Question, _ resolver: inout Resolver, _ time: Duration) throws {
            if question.type == .aaaa {
                begins.append(time)
                _ = handle(.fetchSent(id), &resolver, after: time)
                let noData = Answer(negative: .noData).withTTL(to: 600)
                try carryOut(handle(.fetchFinished(id, .success(noData)), &resolver, after: time), &resolver, time)
            } else {
                let shared = try answer(ttl: ttls.popFirst() ?? 60)
                try carryOut(handle(.fetchShared(id, shared), &resolver, after: time), &resolver, time)
            }
        }
        let asked = Question(name, .aaaa)
        try carryOut(handle(.asked(asked, Waiter(1)), &resolver), &resolver, .zero)
        try pass(&resolver, from: .zero, to: .seconds(300)) { id, _, question, resolver, time in
            try fetch(id, question, &resolver, time)
            _ = handle(.servedAgain(asked), &resolver, after: time)
        }
        #expect(ttls.isEmpty && begins.count > 6)
        for (begin, end) in zip(begins.dropFirst(), ends) { #expect(begin < end) }
    }

    @Test func withoutAnotherUpstreamTheProviderIsTheLastResort() throws {
        var resolver = resolver(limited(0))
        let first = try #require(fetches(handle(.asked(question, Waiter(1)), &resolver)).first)
        #expect(!first.purpose.isLastResort)
        var actions = handle(.fetchDeferred(first.id, until: now + .seconds(1)), &resolver)
        var (again, waited) = (fetches(actions), Duration.zero)
        while again.isEmpty, waited < .seconds(4), let next = resolver.nextDeadline {
            waited = now.duration(to: next)
            actions = handle(.timePassed, &resolver, after: waited)
            again = fetches(actions)
        }
        #expect(again.map(\.upstream) == [.provider(ProviderID(0))] && again.map(\.purpose.isLastResort) == [true])
        #expect(waited < .seconds(1))
    }

    /// A deferred refresh waits for the budget and does not use the system resolver. The same holds for refreshes that
    /// become due meanwhile.
    @Test func refreshesWaitForTheBudget() throws {
        var resolver = resolver(limited(0), hasSystem: true)
        let questions = try (0..<20).map { Question(try #require(Name("n\($0).example")), .a) }
        _ = handle(.requested(questions), &resolver)
        var times: [Question: [Duration]] = [:]
        let budgetIsBack: Duration = .seconds(3)
        pass(&resolver, from: .zero, to: .seconds(5)) { id, upstream, question, resolver, time in
            #expect(upstream == .provider(ProviderID(0)))
            times[question, default: []].append(time)
            let end = time < budgetIsBack ? now + time + .milliseconds(400) : nil
            if let end {
                _ = handle(.fetchDeferred(id, until: end), &resolver, after: time)
            } else {
                _ = handle(.fetchSent(id), &resolver, after: time)
                let answer = Answer(
                    records: [ResourceRecord(owner: question.name, address: .v4(0xCB00_7107), ttlSeconds: 600)])
                _ = handle(.fetchFinished(id, .success(answer)), &resolver, after: time)
            }
        }
        #expect(times.count == questions.count)
        for times in times.values {
            #expect(times.count < 9 && times.last ?? .zero >= budgetIsBack)
            for (earlier, later) in zip(times, times.dropFirst()) { #expect(later - earlier >= .milliseconds(400)) }
        }
        // The refreshes are spread in time.
        let last = times.values.compactMap(\.last)
        #expect((last.max() ?? .zero) - (last.min() ?? .zero) > .milliseconds(300))
        #expect(resolver.lookupsInFlight == 0)
    }

    /// Answers from Redis cost no budget of the provider.
    @Test func onlyWhatIsSentUsesTheBudgetUp() throws {
        var resolver = resolver(limited(0, 5), hasSystem: true)
        for number in 0..<100 {
            let question = Question(try #require(Name("n\(number).example")), .a)
            let asked = handle(.asked(question, Waiter(UInt64(number))), &resolver)
            let fetch = try #require(fetches(asked).first)
            #expect(fetch.upstream == .provider(ProviderID(0)))
            let answer = Answer(
                records: [ResourceRecord(owner: question.name, address: .v4(0xCB00_7107), ttlSeconds: 60)])
            _ = handle(.fetchShared(fetch.id, answer), &resolver)
        }
        #expect(resolver.state(of: RankedID(0), now: now) != .overBudget)
        for number in 100..<105 {
            let question = Question(try #require(Name("n\(number).example")), .a)
            let asked = handle(.asked(question, Waiter(UInt64(number))), &resolver)
            _ = handle(.fetchSent(try #require(fetches(asked).first).id), &resolver)
        }
        #expect(resolver.state(of: RankedID(0), now: now) == .overBudget)
    }

    @Test func theDemandForAnUnknownQuestionIsNotKept() {
        var resolver = resolver(limited(0))
        _ = handle(.demandElsewhere(question, perSecond: 9), &resolver)
        #expect(resolver.demand(for: question, now: now) == nil && resolver.nextDeadline == nil)
    }

    @Test func theDemandOfOtherMembersIsNotPartOfTheOwnDemand() throws {
        var resolver = resolver(limited(0))
        let fetch = try #require(fetches(handle(.asked(question, Waiter(1)), &resolver)).first)
        _ = handle(.fetchShared(fetch.id, try answer()), &resolver)
        let own = try #require(resolver.demand(for: question, now: now))
        _ = handle(.demandElsewhere(question, perSecond: 9), &resolver)
        #expect(resolver.demand(for: question, now: now) == own)
    }
}
