// What the resolver makes of a fleet's news: a budget that is used up together, the demand of others, and addresses
// that others have found forged.

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
        ProviderTraits(id: ProviderID(number), types: .any, questionsPerSecond: questionsPerSecond)
    }

    private func handle(_ event: Event, _ resolver: inout Resolver, after: Duration = .zero) -> [Action] {
        var actions: [Action] = []
        resolver.handle(event, now: now + after, actions: &actions)
        return actions
    }

    private func fetches(_ actions: [Action]) -> [(id: FetchID, upstream: Upstream, purpose: FetchPurpose)] {
        actions.compactMap { action in
            if case .fetch(let id, _, let upstream, let purpose) = action { (id, upstream, purpose) } else { nil }
        }
    }

    @Test func aClientGetsTheNextUpstreamsAnswer() throws {
        var resolver = resolver(limited(0), limited(1, nil))
        let first = try #require(fetches(handle(.asked(question, Waiter(1), expired: nil), &resolver)).first)
        #expect(first.upstream == .provider(ProviderID(0)) && !first.purpose.isLastResort)
        let next = fetches(handle(.fetchDeferred(first.id, until: now + .milliseconds(300)), &resolver))
        #expect(next.map(\.upstream) == [.provider(ProviderID(1))] && next.map(\.purpose.isLastResort) == [false])
        #expect(resolver.state(of: ProviderID(0), now: now) == .overBudget)
        #expect(resolver.state(of: ProviderID(0), now: now + .milliseconds(300)) == .unmeasured)
        // Others do not ask it meanwhile.
        let other = Question(try #require(Name("other.example")), .a)
        let others = fetches(handle(.asked(other, Waiter(2), expired: nil), &resolver))
        #expect(others.map(\.upstream) == [.provider(ProviderID(1))])
        let replies = handle(.fetchFinished(next[0].id, .success(try answer())), &resolver, after: .milliseconds(20))
        #expect(replies.contains { if case .reply = $0 { true } else { false } })
        #expect(resolver.estimate(of: ProviderID(0), now: now)?.successShare == 1)
    }

    @Test func withoutAnotherUpstreamTheProviderIsTheLastResort() throws {
        var resolver = resolver(limited(0))
        let first = try #require(fetches(handle(.asked(question, Waiter(1), expired: nil), &resolver)).first)
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

    @Test func aRefreshWaitsForTheBudget() throws {
        var resolver = resolver(limited(0), hasSystem: true)
        _ = handle(.requested([question]), &resolver)
        var (deferred, times): (Int, [Duration]) = (0, [])
        var time: Duration = .zero
        while time < .seconds(30), deferred < 5 {
            guard let deadline = resolver.nextDeadline else { break }
            time = max(time, now.duration(to: deadline))
            var actions = handle(.timePassed, &resolver, after: time)
            for case .countHits(let questions) in actions {
                actions += handle(.hitsCounted(questions.map { ($0, 0) }), &resolver, after: time)
            }
            for fetch in fetches(actions) {
                // The system resolver's answer is no substitute for a moment's patience.
                #expect(fetch.upstream == .provider(ProviderID(0)))
                deferred += 1
                times.append(time)
                _ = handle(.fetchDeferred(fetch.id, until: now + time + .milliseconds(400)), &resolver, after: time)
            }
        }
        #expect(deferred == 5)
        for (earlier, later) in zip(times, times.dropFirst()) { #expect(later - earlier >= .milliseconds(400)) }
        #expect(resolver.lookupsInFlight == 0)
    }

    /// A name that is asked every ten minutes here is not worth a refresh of each answer of 5 s; 50 machines ask for it
    /// together.
    @Test(arguments: [(0.0, false), (0.1, true)])
    func theDemandOfOthersKeepsANameFresh(perSecond: Double, isRefreshed: Bool) throws {
        var resolver = resolver(limited(0, nil))
        let (again, end): (Duration, Duration) = (.seconds(600), .seconds(606))
        for after in [Duration.zero, again] {
            let actions = handle(.asked(question, Waiter(1), expired: nil), &resolver, after: after)
            let id = try #require(fetches(actions).first).id
            _ = handle(.fetchFinished(id, .success(try answer(ttl: 5))), &resolver, after: after)
        }
        if perSecond > 0 { _ = handle(.demandElsewhere(question, perSecond: perSecond), &resolver, after: again) }
        var refreshes = 0
        var time = again
        while let deadline = resolver.nextDeadline, deadline <= now + end {
            time = max(time, now.duration(to: deadline))
            var actions = handle(.timePassed, &resolver, after: time)
            for case .countHits(let questions) in actions {
                actions += handle(.hitsCounted(questions.map { ($0, 0) }), &resolver, after: time)
            }
            refreshes += fetches(actions).count
            for fetch in fetches(actions) {
                _ = handle(.fetchFinished(fetch.id, .success(try answer(ttl: 300))), &resolver, after: time)
            }
        }
        #expect((refreshes > 0) == isRefreshed)
        let own = try #require(resolver.demand(for: question, now: now + end))
        #expect(own < 0.01)
    }

    @Test func theDemandForAnUnknownQuestionIsNotKept() {
        var resolver = resolver(limited(0))
        _ = handle(.demandElsewhere(question, perSecond: 9), &resolver)
        #expect(resolver.demand(for: question, now: now) == nil && resolver.nextDeadline == nil)
    }

    /// It is probed here as well, and only that verdict counts.
    @Test func anAddressThatAnotherMemberSuspectsIsProbed() throws {
        var stand = try VerificationStand()
        stand.kept([1, 2])
        try stand.learn([1: .verified, 2: .verified])
        _ = stand.takeRearranged()
        stand.suspected(1)
        #expect(stand.running.isEmpty, "its verdict is fresh")
        stand.pass(Bounds.suspicionPause)
        stand.suspected(1)
        stand.suspected(1)
        #expect(stand.running.map(\.target.address) == [VerificationStand.address(1)])
        #expect(stand.place(of: 1) != .quarantined)
        var rearranged = stand.takeRearranged()
        #expect(rearranged.isEmpty)
        try stand.found(1, .nameMismatch)
        rearranged = stand.takeRearranged()
        #expect(rearranged == [[2]])
        // Of another name, or not probed by the settings.
        stand.suspected(7)
        stand.terms = VerificationStand.terms(enabled: false)
        stand.kept([1, 2])
        stand.pass(Bounds.suspicionPause)
        stand.suspected(2)
        #expect(stand.running.isEmpty)
    }
}
