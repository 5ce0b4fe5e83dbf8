// What the audit makes of two answers to one question.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Compared answers")
struct AuditComparisonTests {
    private let start = Instant.testStart

    private func question() throws -> Question { Question(try #require(Name("www.example")), .a) }

    private func answer(_ address: UInt32, ttl: UInt32 = 60) throws -> Answer {
        Answer(records: [ResourceRecord(owner: try question().name, address: .v4(address), ttlSeconds: ttl)])
    }

    /// Compares an answer of provider 0 with one of provider 1 that clients got.
    ///
    /// - Parameters:
    ///   - received: the answer of provider 1 before the settings changed its TTL; nil: they have not.
    ///   - confirming: the providers that gave the address 8.8.8.8 before.
    /// - Returns: the counts of provider 0, and those of provider 1.
    private func counts(
        _ given: Answer, _ used: Answer, received: Answer? = nil, confirming: [Int] = [1, 2]
    ) throws -> (given: AuditCounts, used: AuditCounts) {
        var state = ResolverState(seed: 1)
        let providers = (0..<3).map { ProviderTraits(id: RankedID($0), types: .any) }
        state.keep(providers, hasSystem: false, now: start)
        let known = try answer(0x0808_0808)
        for number in confirming {
            let source = Source.provider(ProviderID(number))
            state.verification.answered(try question(), known, usable: known, by: source, took: nil, now: start)
        }
        let first = received ?? used
        state.verification.answered(
            try question(), first, usable: first, by: .provider(ProviderID(1)), took: nil, now: start)
        let comparison = ShadowFetches.Comparison(
            question: try question(), provider: ProviderID(0), given: given, used: used,
            source: .provider(ProviderID(1)))
        state.compare(comparison, now: start)
        let sums = (0..<2).map { number in
            state.ranking.audit.history(of: ProviderID(number))?.sum(ofHours: 24, now: start) ?? AuditCounts()
        }
        return (sums[0], sums[1])
    }

    @Test("a denial counts against an address that two others gave, whichever answer clients got")
    func denied() throws {
        let known = try answer(0x0808_0808)
        for kind in [Answer.Kind.noSuchName, .noData, .ambiguousEmpty] {
            let (denier, other) = try counts(Answer(negative: kind), known)
            #expect(denier[.denied] == 1 && denier[.compared] == 1 && other[.denied] == 0 && other[.compared] == 1)
            let (second, first) = try counts(known, Answer(negative: kind), confirming: [0, 2])
            #expect(first[.denied] == 1 && second[.denied] == 0 && second[.compared] == 1)
        }
    }

    @Test("one other source alone proves nothing, nor do two denials")
    func unknown() throws {
        let nothing = AuditCounts()
        let (denier, other) = try counts(Answer(negative: .noSuchName), try answer(0x0808_0808), confirming: [1])
        #expect(denier == nothing && other == nothing)
        let (one, two) = try counts(Answer(negative: .noSuchName), Answer(negative: .noData))
        #expect(one == nothing && two == nothing)
    }

    @Test("other addresses are no fault, and a block is none")
    func addresses() throws {
        let (given, used) = try counts(try answer(0x0101_0101), try answer(0x0808_0808))
        #expect(given[.compared] == 1 && given[.aged] == 1 && given[.denied] + given[.expired] + given[.forged] == 0)
        #expect(used[.compared] == 1 && used[.aged] == 1)
        let (blocked, _) = try counts(try answer(0), try answer(0x0808_0808))
        #expect(blocked == AuditCounts())
    }

    @Test("TTL 0 counts as expired if the other answer lives longer")
    func timeToLive() throws {
        let (given, used) = try counts(try answer(0x0808_0808, ttl: 0), try answer(0x0808_0808))
        #expect(given[.expired] == 1 && used[.expired] == 0)
        let (both, _) = try counts(try answer(0x0808_0808, ttl: 0), try answer(0x0808_0808, ttl: 0))
        #expect(both[.expired] == 0 && both[.aged] == 1)
        let (third, fourth) = try counts(
            try answer(0x0808_0808, ttl: 0), try answer(0x0808_0808), received: try answer(0x0808_0808, ttl: 0))
        #expect(third[.expired] == 0 && fourth[.aged] == 1, "min-ttl has lifted the TTL")
    }
}
