// A request that waits for a place does not count against the provider; an overdue one does.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Waits for a place")
struct PlaceTests {
    /// Lets requests for names of four domains wait for a place from 10 ms on. A second later, a client asks for a name
    /// with an expired answer.
    ///
    /// - Returns: whether the client gets the expired answer at once.
    private func givesExpiredAtOnce(isOverdue: Bool) throws -> Bool {
        var resolver = Resolver(seed: 1)
        var actions: [Action] = []
        resolver.handle(.policyChanged(Policy()), now: .testStart, actions: &actions)
        let provider = ProviderTraits(id: RankedID(0), types: .any)
        resolver.handle(.upstreamsChanged(providers: [provider], hasSystem: true), now: .testStart, actions: &actions)
        for number in 1...4 {
            actions = []
            let question = Question(try #require(Name("www.shop\(number).example")), .a)
            resolver.handle(.asked(question, Waiter(UInt64(number))), now: .testStart, actions: &actions)
            for case .fetch(let id, _, _, _) in actions {
                let placed = Instant.testStart + .milliseconds(10)
                resolver.handle(.fetchWaits(id, isOverdue: isOverdue), now: placed, actions: &actions)
            }
        }
        actions = []
        let question = Question(try #require(Name("www.bank.example")), .a)
        let record = ResourceRecord(owner: question.name, address: .v4(0x0808_0808), ttlSeconds: 60)
        let aged = AgedAnswer(
            RenderedAnswer(Answer(records: [record]), to: question), ageMilliseconds: 90_000, lifetimeSeconds: 60,
            sourceRank: .provider)
        resolver.handle(
            .asked(question, Waiter(9)), now: .testStart + .seconds(1), given: GivenAnswers(expiredAnswer: aged),
            actions: &actions)
        return actions.contains { if case .replyExpired = $0 { true } else { false } }
    }

    @Test("names that wait for a place do not make the provider silent; names that gave theirs up do")
    func silence() throws {
        #expect(try !givesExpiredAtOnce(isOverdue: false))
        #expect(try givesExpiredAtOnce(isOverdue: true))
    }
}
