// A machine that wakes up: hours have passed between two events, and much is due at once.

import DNSWire
import Testing

@testable import Resolver

@Suite("After a sleep")
struct AfterSleepTests {
    private let start = ContinuousClock.now

    private func question(_ number: Int) throws -> Question { Question(try #require(Name("n\(number).example")), .a) }

    private func resolver(maxAgeSeconds: UInt32 = 3600, budgetPerSecond: Int = 10) -> Resolver {
        var resolver = Resolver(seed: 1)
        var policy = Policy()
        policy.stale.maxAgeSeconds = maxAgeSeconds
        let provider = ProviderTraits(id: ProviderID(0), types: .any, budgetPerSecond: budgetPerSecond)
        var actions: [Action] = []
        resolver.handle(.policyChanged(policy), now: start, actions: &actions)
        resolver.handle(.upstreamsChanged(providers: [provider], hasSystem: false), now: start, actions: &actions)
        return resolver
    }

    @Test(
        "a client that waited through it gets no expired answer, whose age was looked at before", arguments: [5, 3600])
    func maxAge(seconds: Int) throws {
        var resolver = resolver(maxAgeSeconds: 3600)
        let question = try question(1)
        let record = ResourceRecord(owner: question.name, address: .v4(0xC000_0201), ttlSeconds: 60)
        let kept = AgedAnswer(
            RenderedAnswer(Answer(records: [record]), to: question), ageMilliseconds: 120_000, lifetimeSeconds: 60)
        var actions: [Action] = []
        resolver.handle(.asked(question, Waiter(1), expired: kept), now: start, actions: &actions)
        actions = []
        resolver.handle(.timePassed, now: start + .seconds(seconds), actions: &actions)
        let isGiven = actions.contains { if case .replyExpired = $0 { true } else { false } }
        #expect(isGiven == (seconds == 5), "late by a little is not asleep")
        #expect(actions.contains(.fail(Waiter(1), .noReachableAuthority)) == (seconds == 3600))
    }

    @Test(
        "of all that is due after a sleep the budget has its part begin, and the rest has another look later"
    )
    func budget() throws {
        var resolver = resolver(budgetPerSecond: 10)
        let restored = try (0..<1000).map {
            RestoredAnswer(
                try question($0), demandPerSecond: 1, lifetimeSeconds: 60, expiresAt: start + .seconds(60),
                isNegative: false)
        }
        var actions: [Action] = []
        resolver.handle(.restored(restored), now: start, actions: &actions)
        let awake = start + .seconds(3600)
        resolver.handle(.timePassed, now: awake, actions: &actions)
        var counted = 0
        for turn in 0..<10 where turn == 0 || resolver.nextDeadline.map({ $0 <= awake }) == true {
            if turn > 0 { resolver.handle(.timePassed, now: awake, actions: &actions) }
            for case .countHits(let questions) in actions {
                counted += questions.count
                var more: [Action] = []
                resolver.handle(.hitsCounted(questions.map { ($0, 1) }), now: awake, actions: &more)
            }
            actions = []
        }
        #expect(counted == 1000 && resolver.refreshes.started == 10)
        #expect(resolver.nextDeadline.map { $0 > awake } == true)
    }
}
