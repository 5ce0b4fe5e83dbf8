// The order and the number of a lookup's requests to providers.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Queue of providers")
struct ProviderQueueTests {
    /// A refresh is charged for every request after the first one.
    @Test("a stand-in's request counts as another one")
    func standIns() throws {
        let (filter, other) = (RankedID(0), RankedID(1))
        let ranking = UpstreamRanking(seed: 1)
        ranking.setProviders([filter, other].map { ProviderTraits(id: $0, types: .any) })
        let route = Lookup.Route(
            providers: [filter], trialPending: [], trialPatience: .zero, standIns: [other], throttled: [],
            blocked: [], usedUp: [], upstreams: .providers, hasSystem: false, inTrouble: false, isSilent: false,
            isUnresponsive: false, slowestAnswerTime: nil)
        var queue = ProviderQueue(route, isRefresh: true, at: .testStart, now: .testStart)
        let kind = QuestionKind(type: .a, needsDNSSEC: false)
        #expect(queue.popNext(ranking, for: kind, among: .providers)?.provider == filter)
        #expect(queue.attempts == 1)
        queue.addStandIns(now: .testStart)
        #expect(queue.attempts == 1)
        #expect(queue.popNext(ranking, for: kind, among: .providers)?.provider == other)
        #expect(queue.attempts == 2)
        #expect(queue.mayAskLastResort)
    }
}
