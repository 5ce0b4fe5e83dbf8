// Names in use behind a slow provider, on virtual time: the clients' waits and the number of requests.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Slow provider")
struct SlowProviderTests {
    /// Clients that ask for the same names all the time.
    private struct Run {
        private static let names = 30

        private var resolver = Resolver(seed: 1)
        private var cache = ScenarioCache()
        private var random = SeededRandom(seed: 1)
        private let origin = Instant.testStart
        private var now: Instant
        private var coming: [(at: Instant, id: FetchID, result: FetchResult)] = []
        private var askedAt: [Waiter: Instant] = [:]
        private var number: UInt64 = 0
        private(set) var waits: [Duration] = []
        private(set) var requests = 0
        /// The provider's latency in milliseconds; a random eighth may be added.
        var latency: Int

        init(latency: Int) {
            self.latency = latency
            now = origin
            var policy = Policy()
            policy.prefetches = true
            handle(.policyChanged(policy))
            handle(
                .upstreamsChanged(providers: [ProviderTraits(id: RankedID(0), types: .any)], hasSystem: false))
        }

        /// Asks twenty questions per second.
        mutating func play(seconds: Int) throws {
            (waits, requests) = ([], 0)
            for _ in 0..<seconds * 20 {
                pass(until: now + .milliseconds(50))
                let name = Int.random(in: 0..<Run.names, using: &random)
                let question = Question(try #require(Name("n\(name).example")), .a)
                if let hit = cache.ask(question, now: now) {
                    waits.append(.zero)
                    if hit.isFirstWhenDue { handle(.prefetchDue(question)) }
                } else {
                    number += 1
                    askedAt[Waiter(number)] = now
                    handle(.asked(question, Waiter(number)))
                }
            }
        }

        private mutating func pass(until end: Instant) {
            while true {
                let next = coming.indices.min { coming[$0].at < coming[$1].at }
                let instants = [next.map { coming[$0].at }, resolver.nextDeadline].compactMap { $0 }
                guard let earliest = instants.min(), earliest <= end else { break }
                now = max(now, earliest)
                if let deadline = resolver.nextDeadline, deadline <= now {
                    handle(.timePassed)
                } else if let next {
                    let result = coming.remove(at: next)
                    handle(.fetchFinished(result.id, result.result))
                }
            }
            now = end
        }

        private mutating func handle(_ event: Event) {
            var actions: [Action] = []
            resolver.handle(event, now: now, cache: &cache, actions: &actions)
            for action in actions { perform(action) }
        }

        private mutating func perform(_ action: Action) {
            switch action {
            case .fetch(let id, let question, _, _):
                requests += 1
                // The TTL depends on the name: 5 s to 64 s.
                let ttl = UInt32(5 + question.name.description.utf8.reduce(0) { ($0 * 31 + Int($1)) % 60 })
                let answer = Answer(
                    records: [
                        ResourceRecord(owner: question.name, address: .v4(0x0808_0808), ttlSeconds: ttl)
                    ])
                let taken = latency + Int.random(in: 0...latency / 8, using: &random)
                coming.append((now + .milliseconds(taken), id, .success(answer)))
            case .abandon(let id): coming.removeAll { $0.id == id }
            case .store(let question, let answer, _, _): cache.store(question, answer, isSystems: false, now: now)
            case .reply(let waiter, _, _): replied(waiter)
            case .replyExpired(let waiter, _, _), .fail(let waiter, _, _): replied(waiter)
            case .shadow, .rearrange, .awaitAsk, .remove, .withdraw, .probe, .probeNews, .forged, .contradicted,
                .portal, .doubt:
                break
            }
        }

        private mutating func replied(_ waiter: Waiter) {
            if let since = askedAt.removeValue(forKey: waiter) { waits.append(since.duration(to: now)) }
        }

        func waits(over limit: Duration) -> Int { waits.count { $0 > limit } }
    }

    @Test("refreshes lead by what a provider of 1.5 s needs, and do not multiply")
    func staysSlow() throws {
        var run = Run(latency: 1500)
        // The first questions have no cached answer and have to wait.
        try run.play(seconds: 120)
        try run.play(seconds: 300)
        #expect(run.waits(over: .milliseconds(50)) == 0, "of \(run.waits.count)")
        let slow = run.requests
        var fast = Run(latency: 20)
        try fast.play(seconds: 120)
        try fast.play(seconds: 300)
        #expect(Double(slow) < Double(fast.requests) * 1.15, "\(slow) requests, \(fast.requests) with a fast provider")
    }

    @Test("refreshes that were planned with a fast provider begin earlier when it has become slow")
    func becomesSlow() throws {
        var run = Run(latency: 20)
        try run.play(seconds: 120)
        run.latency = 1500
        // The provider needs some answers to show its new latency.
        try run.play(seconds: 15)
        try run.play(seconds: 300)
        #expect(run.waits(over: .milliseconds(500)) == 0, "of \(run.waits.count)")
    }
}
