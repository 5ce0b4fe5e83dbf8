// Questions of clients whose view a reload has changed or removed.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite struct FormerViewTests {
    private let name = Name("db.corp.example")!

    private func routing(standsIn: StandInPolicy = .unreachable, providers: [ProviderID]? = nil) -> Routing {
        var (policy, ofView) = (Policy(), Policy())
        ofView.providers = providers
        ofView.standsIn = standsIn
        policy.views = [ClientView(name: "office", number: 2, policy: ofView)]
        var routing = Routing()
        routing.set(policy)
        return routing
    }

    private func upstreams(_ routing: Routing, view: UInt32, _ type: RecordType = .a) -> NameUpstreams {
        let question = Question(name, type, from: ClientGroup(view: view))
        let routed = routing.routed(question, now: .testStart)
        return routing.direction(of: routed, UpstreamRanking(seed: 1), now: .testStart).upstreams
    }

    @Test func nobodyIsAskedForAFormerView() {
        #expect(upstreams(routing(), view: 1) == .nothing(.removed))
        #expect(upstreams(routing(), view: 2) != .nothing(.removed))
        #expect(upstreams(routing(), view: 0) != .nothing(.removed))
    }

    @Test func typesThatNoProviderOfAViewHasGoToTheSystemResolver() {
        let routing = routing(standsIn: .never, providers: [ProviderID(1)])
        #expect(upstreams(routing, view: 2, .mx) == .system)
    }
}
