// Denials of a last known good answer that are believed at once, and those that cost a question to a second provider.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Denials")
struct DenialsTests {
    /// Two providers, one of which has given a verified address of the name.
    private struct Run {
        var resolver = Resolver(seed: 1)
        private var now = Instant.testStart
        private(set) var actions: [Action] = []
        let question: Question

        init(_ name: Name, _ change: (inout Policy) -> Void) {
            question = Question(name, .a)
            var policy = Policy()
            policy.prefetches = false
            policy.probes.isEnabled = true
            change(&policy)
            handle(.policyChanged(policy))
            let providers = (0..<2).map { ProviderTraits(id: RankedID($0), types: .any) }
            handle(.upstreamsChanged(providers: providers, hasSystem: true))
        }

        mutating func verify() throws {
            let record = ResourceRecord(owner: question.name, address: .v4(0x1400_0001), ttlSeconds: 60)
            for waiter in 1...2 {
                try ask(UInt64(waiter), Answer(records: [record]))
                now += .seconds(61)
            }
            handle(.timePassed)
            let probe = actions.lazy.compactMap { if case .probe(let id, _) = $0 { id } else { nil } }.first
            var result = ProbeResult(.verified)
            result.handshakeTime = .milliseconds(20)
            handle(.probeFinished(try #require(probe), result))
        }

        /// Asks, and answers the first fetch.
        mutating func ask(_ waiter: UInt64, _ answer: Answer) throws {
            handle(.asked(question, Waiter(waiter)))
            let fetch = actions.lazy.compactMap { if case .fetch(let id, _, _, _) = $0 { id } else { nil } }.first
            handle(.fetchFinished(try #require(fetch), .success(answer)))
        }

        mutating func handle(_ event: Event) {
            actions = []
            resolver.handle(event, now: now, actions: &actions)
        }

        /// The last event led to a question to another provider, and to no reply.
        var asksAnother: Bool {
            actions.contains { if case .fetch = $0 { true } else { false } }
                && !actions.contains { if case .reply = $0 { true } else { false } }
        }
    }

    private func asksAnother(
        _ denial: Answer, of name: String = "www.example", change: (inout Policy) -> Void = { _ in }
    ) throws -> Bool {
        var run = Run(try #require(Name(name)), change)
        try run.verify()
        try run.ask(3, denial)
        return run.asksAnother
    }

    private static let denial = Answer(negative: .noSuchName)

    @Test("one provider alone is not believed", arguments: [Answer.Kind.noSuchName, .noData, .ambiguousEmpty])
    func doubted(_ kind: Answer.Kind) throws {
        #expect(try asksAnother(Answer(negative: kind)))
    }

    @Test("a signed answer, one that a trusted upstream vouches for, and a filter's block are believed at once")
    func final() throws {
        let name = try #require(Name("example"))
        let signature = ResourceRecord(owner: name, type: .rrsig, ttlSeconds: 60, data: [])
        #expect(try !asksAnother(DenialsTests.denial.whole([], [signature])))
        #expect(try !asksAnother(DenialsTests.denial.authenticated(true)))
        for code: UInt16 in 15...18 {
            let block = ExtendedError(upstream: code, text: "blocked".utf8)
            #expect(try !asksAnother(DenialsTests.denial.remarked(block)), "\(code)")
        }
        let other = ExtendedError(upstream: 22, text: "no reachable authority".utf8)
        #expect(try asksAnother(DenialsTests.denial.remarked(other)))
    }

    @Test("the settings may forbid doubts")
    func settings() throws {
        #expect(try !asksAnother(DenialsTests.denial) { $0.stale.lastKnownGood = .zero })
    }
}
