// A machine that wakes up: hours pass between two events, and many deadlines are due at once.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("After a sleep")
struct AfterSleepTests {
    private let start = Instant.testStart

    private func question(_ number: Int) throws -> Question { Question(try #require(Name("n\(number).example")), .a) }

    private func resolver(maxAgeSeconds: UInt32 = 3600, budgetPerSecond: Int = 10) -> Resolver {
        var resolver = Resolver(seed: 1)
        var policy = Policy()
        policy.stale.maxAgeSeconds = maxAgeSeconds
        let provider = ProviderTraits(id: RankedID(0), types: .any, budgetPerSecond: budgetPerSecond)
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
        resolver.handle(
            .asked(question, Waiter(1)), now: start, given: GivenAnswers(expiredAnswer: kept), actions: &actions)
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
        var cache = CountingAnswers()
        for turn in 0..<10 where turn == 0 || resolver.nextDeadline.map({ $0 <= awake }) == true {
            resolver.handle(.timePassed, now: awake, cache: &cache, actions: &actions)
        }
        #expect(cache.looks == 1000 && resolver.refreshes.started == 10)
        #expect(resolver.nextDeadline.map { $0 > awake } == true)
    }

    @Test(
        "refreshes after a sleep keep their rate, lose no name, and let clients go first", arguments: [3600, 86_400])
    func wave(asleepSeconds: Int) throws {
        let budget = 10
        var wave = Wave(resolver(maxAgeSeconds: 0, budgetPerSecond: budget), awake: start + .seconds(asleepSeconds))
        let names = try (0..<200).map { try question($0) }
        let restored = names.map {
            RestoredAnswer(
                $0, demandPerSecond: 1, lifetimeSeconds: 600, expiresAt: start + .seconds(60), isNegative: false)
        }
        wave.handle(.restored(restored), at: start)

        // Two clients ask right after the wake: one for a name that is not cached, one for a name whose refresh has not
        // begun.
        wave.handle(.timePassed, at: wave.awake)
        let hurried = [try question(1000), try #require(names.last { !wave.fetched.keys.contains($0) })]
        for (number, question) in hurried.enumerated() {
            wave.handle(.asked(question, Waiter(UInt64(number))), at: wave.awake)
            #expect(wave.fetched[question] == [.zero], "a client does not wait for the wave")
        }

        wave.run(until: .seconds(40))
        #expect(wave.replied == 2)
        #expect(names.allSatisfy { wave.fetched[$0]?.count == 1 }, "each once")
        let seconds = wave.fetched.values.joined().map { $0.wholeSeconds }
        for second in 0..<40 {
            // The saved-up budget is used in the first second.
            let most = budget + (second == 0 ? budget + hurried.count : 1)
            #expect(seconds.count { $0 == second } <= most, "in second \(second)")
        }
    }
}

/// A cache that gave each answer once since its hits were last taken, and counts the readings.
private struct CountingAnswers: KnownAnswers {
    private(set) var looks = 0

    func expired(
        _ question: Question, within limits: @autoclosure () -> Freshness.Limits, now: Instant
    ) -> AgedAnswer? { nil }
    func known(_ question: Question, within limits: Freshness.Limits, now: Instant) -> AgedAnswer? { nil }
    func hits(_ question: Question) -> Int { 1 }
    mutating func takeHits(_ question: Question) -> Int {
        looks += 1
        return 1
    }
}

/// A provider that answers every request after 20 ms, and names with one hit between two readings.
private struct Wave {
    private var resolver: Resolver
    let awake: Instant
    private var underWay: [(at: Instant, id: FetchID, question: Question)] = []
    /// The times of the fetches since the wake.
    private(set) var fetched: [Question: [Duration]] = [:]
    private(set) var replied = 0

    init(_ resolver: Resolver, awake: Instant) {
        self.resolver = resolver
        self.awake = awake
    }

    mutating func handle(_ event: Event, at now: Instant) {
        var actions: [Action] = []
        resolver.handle(event, now: now, given: GivenAnswers(hitCount: 1), actions: &actions)
        for action in actions {
            switch action {
            case .fetch(let id, let question, _, _):
                fetched[question, default: []].append(awake.duration(to: now))
                underWay.append((now + .milliseconds(20), id, question))
            case .reply: replied += 1
            default: break
            }
        }
    }

    mutating func run(until end: Duration) {
        while true {
            let due = resolver.nextDeadline ?? awake + end
            let reply = underWay.first
            let next = max(min(due, reply?.at ?? due), awake)
            guard next < awake + end else { return }
            guard let reply, reply.at <= due else {
                handle(.timePassed, at: next)
                continue
            }
            underWay.removeFirst()
            let record = ResourceRecord(owner: reply.question.name, address: .v4(0xC000_0201), ttlSeconds: 600)
            handle(.fetchFinished(reply.id, .success(Answer(records: [record]))), at: next)
        }
    }
}
