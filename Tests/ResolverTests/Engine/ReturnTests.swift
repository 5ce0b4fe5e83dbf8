// Paths that fail and recover, on virtual time: the time until the provider is used again, the clients' waits, and the
// cost of an outage.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Return of a provider")
struct ReturnTests {
    /// A client that asks once a second, and providers, one of them behind a path that is cut for some time.
    private struct Run {
        private static let cutProvider = ProviderID(0), otherProvider = ProviderID(1)
        /// The latency of the provider behind the path, and that of all other upstreams.
        private static let latency: Duration = .milliseconds(20), otherLatency: Duration = .milliseconds(60)
        /// The time of TCP's first retransmission of a SYN, and the time-out of a connection attempt.
        private static let secondAttempt: Duration = .seconds(1), connectTimeout: Duration = .seconds(2)

        private var resolver = Resolver(seed: 1)
        private let begin = Instant.testStart
        private var pending: [(at: Duration, id: FetchID, result: FetchResult)] = []
        private var askedAt: [Waiter: Duration] = [:]
        private let cut: Range<Duration>
        private(set) var longestWait = Duration.zero
        private(set) var requestsDuringCut = 0
        /// The time of the provider's first answer to a client after the cut.
        private(set) var returnedAt: Duration?

        init(cut: Range<Duration>, hasOther: Bool) {
            self.cut = cut
            let providers = [Run.cutProvider] + (hasOther ? [Run.otherProvider] : [])
            handle(
                .upstreamsChanged(
                    providers: providers.map { ProviderTraits(id: .provider($0), types: .any) }, hasSystem: true),
                at: .zero)
        }

        mutating func play(until end: Duration) throws {
            for second in 0..<Int(end.wholeSeconds) {
                let now = Duration.seconds(second)
                pass(until: now)
                let waiter = Waiter(UInt64(second))
                askedAt[waiter] = now
                let question = Question(try #require(Name("n\(second).example")), .a)
                handle(.asked(question, waiter), at: now)
            }
            pass(until: end)
            #expect(askedAt.isEmpty, "every client has an answer")
        }

        private mutating func pass(until end: Duration) {
            while true {
                let next = pending.indices.min { pending[$0].at < pending[$1].at }
                let reply = next.map { pending[$0].at } ?? end
                let deadline = resolver.nextDeadline.map { begin.duration(to: $0) } ?? end
                guard min(reply, deadline) < end else { return }
                if deadline <= reply {
                    handle(.timePassed, at: deadline)
                } else if let next {
                    let (at, id, result) = pending.remove(at: next)
                    handle(.fetchFinished(id, result), at: at)
                }
            }
        }

        private mutating func handle(_ event: Event, at now: Duration) {
            var actions: [Action] = []
            resolver.handle(event, now: begin + now, actions: &actions)
            for action in actions {
                switch action {
                case .fetch(let id, _, let upstream, _): start(id, upstream == .provider(Run.cutProvider), now)
                case .shadow(let id, _, let provider): start(id, provider == Run.cutProvider, now)
                case .abandon(let id): pending.removeAll { $0.id == id }
                case .reply(let waiter, _, let source): replied(waiter, source, now)
                default: break
                }
            }
        }

        private mutating func start(_ id: FetchID, _ isBehindCut: Bool, _ now: Duration) {
            let answer = FetchResult.success(Answer(negative: .noData, ttlSeconds: 60))
            guard isBehindCut, cut.contains(now) else {
                return pending.append((now + (isBehindCut ? Run.latency : Run.otherLatency), id, answer))
            }
            requestsDuringCut += 1
            let again = now + Run.secondAttempt
            if cut.contains(again) {
                pending.append((now + Run.connectTimeout, id, .failure(.unacknowledged)))
            } else {
                pending.append((again + Run.latency, id, answer))
            }
        }

        private mutating func replied(_ waiter: Waiter, _ source: Source, _ now: Duration) {
            guard let asked = askedAt.removeValue(forKey: waiter) else { return }
            longestWait = max(longestWait, now - asked)
            if asked >= cut.upperBound, source == .provider(Run.cutProvider) { returnedAt = returnedAt ?? now }
        }
    }

    /// The longest wait of a client. With a single provider, the first client of an outage waits until the system
    /// resolver's answer may be given.
    private static func longestWait(hasOther: Bool) -> Duration {
        hasOther ? .seconds(1) : Policy().systemPatience
    }

    /// The ends of the cut in steps of a tenth of a second.
    private static let ends = stride(from: 20_000, to: 24_000, by: 100).map { Duration.milliseconds($0) }

    @Test(
        "within 5 s of its path's return a provider is used again, and no client waits longer than the rules say",
        arguments: [false, true])
    func returns(hasOther: Bool) throws {
        for end in ReturnTests.ends {
            var run = Run(cut: .milliseconds(10_500)..<end, hasOther: hasOther)
            try run.play(until: .seconds(40))
            let returned = try #require(run.returnedAt)
            #expect(returned - end <= .seconds(5), "cut until \(end)")
            #expect(run.longestWait <= ReturnTests.longestWait(hasOther: hasOther), "cut until \(end)")
        }
    }

    @Test("a long outage costs a request every two seconds, however long it lasts", arguments: [false, true])
    func isNoStorm(hasOther: Bool) throws {
        var run = Run(cut: .seconds(10)..<(.seconds(610)), hasOther: hasOther)
        try run.play(until: .seconds(630))
        #expect((600 / 5...600 / 2 + 3).contains(run.requestsDuringCut))
        #expect(run.longestWait <= ReturnTests.longestWait(hasOther: hasOther))
        #expect(try #require(run.returnedAt) <= .seconds(615))
    }
}
