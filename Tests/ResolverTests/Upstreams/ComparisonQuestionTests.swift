// Which questions of the audit go to which providers.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Comparison questions")
struct ComparisonQuestionTests {
    private let start = Instant.testStart

    private static let free = ProviderTraits(id: RankedID(1), types: .any)

    /// Asks for a hundred names after so many requests that comparison questions are allowed.
    ///
    /// - Returns: the providers that are asked beside the first.
    private func asked(
        _ other: ProviderTraits, among upstreams: NameUpstreams = .providers, clients: ClientGroup = .all,
        type: RecordType = .a, isInUse: Bool = true, trouble: (UpstreamRanking) -> Void = { _ in }
    ) throws -> [ProviderID] {
        let ranking = UpstreamRanking(seed: 1)
        ranking.setProviders([ProviderTraits(id: RankedID(0), types: .any), other])
        let holder = ShareHolder(.root, nil)
        for provider in [RankedID(0), other.id] {
            ranking.answered(provider, after: .milliseconds(20), now: start)
            for _ in 0..<1000 {
                ranking[provider]?.begun(holder, now: start)
                ranking.ended(provider, holder, isHeard: true, now: start)
            }
        }
        trouble(ranking)
        var asked: [ProviderID] = []
        for number in 0..<40 {
            let question = Question(try #require(Name("n\(number).example")), type, from: clients)
            asked += ranking.begunLookup(
                with: RankedID(0), for: question, among: upstreams, mayCompare: isInUse, now: start)
        }
        return asked
    }

    @Test("names in use are compared, four at most at once")
    func compared() throws {
        #expect(try asked(Self.free) == [ProviderID](repeating: ProviderID(1), count: 4))
        #expect(try asked(Self.free, isInUse: false).isEmpty)
    }

    @Test("accounts, shadows, budgets and the operator's word keep a provider out")
    func keptOut() throws {
        let id = RankedID(1)
        #expect(try asked(ProviderTraits(id: id, types: .any, mayCompare: false)).isEmpty)
        #expect(try asked(ProviderTraits(id: id, types: .any, questionsPerSecond: 100)).isEmpty)
        #expect(try asked(ProviderTraits(id: id, types: .any, shadowShare: 1e-9)).isEmpty)
        #expect(try asked(ProviderTraits(id: id, types: .any, hasOwnNames: true)).isEmpty)
        #expect(try !asked(ProviderTraits(id: id, types: .any, isBilled: true)).isEmpty, "allowed by the settings")
    }

    @Test("names of a rule, an account, a view or a subnet are not compared, nor other types")
    func excluded() throws {
        let owners: [NameUpstreams] = [
            .provider(ProviderID(1)), .provider(ProviderID(0)), .system, .nothing(.noLink),
            .owners([ProviderID(0)], isExclusive: true), .owners([ProviderID(0)], isExclusive: false),
        ]
        for upstreams in owners { #expect(try asked(Self.free, among: upstreams).isEmpty) }
        #expect(try asked(Self.free, clients: ClientGroup(view: 1)).isEmpty)
        #expect(try asked(Self.free, type: .mx).isEmpty)
    }

    @Test("a provider in trouble is not compared, and nothing is while the first one fails")
    func trouble() throws {
        let id = RankedID(1)
        #expect(try asked(Self.free) { $0[id]?.throttled(for: nil, now: start) }.isEmpty)
        #expect(try asked(Self.free) { $0[id]?.refused(now: start) }.isEmpty)
        #expect(try asked(Self.free) { _ = $0.setUnreachable([id]) }.isEmpty)
        #expect(try asked(Self.free) { $0[RankedID(0)]?.refused(now: start) }.isEmpty)
    }
}
