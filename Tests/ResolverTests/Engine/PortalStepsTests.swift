// The resolver's handling of a captive portal in cases that scenarios cannot express.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Portal steps")
struct PortalStepsTests {
    private let start = Instant.testStart

    private func question(_ name: String) throws -> Question { Question(try #require(Name(name)), .a) }

    /// A resolver that suspects a portal: its one provider fails the TLS check, and the system resolver answers.
    private func suspecting() throws -> Resolver {
        var resolver = Resolver(seed: 1)
        var actions: [Action] = []
        let provider = ProviderTraits(id: RankedID(0), types: .any)
        resolver.handle(.upstreamsChanged(providers: [provider], hasSystem: true), now: start, actions: &actions)
        let question = try question("www.example")
        resolver.handle(.asked(question, Waiter(1)), now: start, actions: &actions)
        while let index = actions.firstIndex(where: { if case .fetch = $0 { true } else { false } }),
            case .fetch(let id, _, let upstream, _) = actions.remove(at: index)
        {
            let record = ResourceRecord(owner: question.name, address: .v4(0x1442_0001), ttlSeconds: 60)
            let result: FetchResult =
                upstream == .system ? .success(Answer(records: [record])) : .failure(.tls)
            resolver.handle(.fetchFinished(id, result), now: start, actions: &actions)
        }
        #expect(actions.contains(.portal(.suspected)))
        #expect(resolver.portal != nil)
        return resolver
    }

    /// Returns the upstream that is queried first for a new client's question.
    private func asked(_ resolver: inout Resolver, _ name: String) throws -> Upstream? {
        var actions: [Action] = []
        resolver.handle(.asked(try question(name), Waiter(9)), now: start, actions: &actions)
        return actions.lazy.compactMap { if case .fetch(_, _, let upstream, _) = $0 { upstream } else { nil } }.first
    }

    @Test("new settings leave a portal's names with the system resolver")
    func settings() throws {
        var resolver = try suspecting()
        var actions: [Action] = []
        resolver.handle(.policyChanged(Policy()), now: start, actions: &actions)
        #expect(try asked(&resolver, "captive.apple.com") == .system)
        #expect(try asked(&resolver, "www.apple.com") == .provider(ProviderID(0)))
    }

    @Test("another network is not the portal's: check names go to providers again, and what stood in is withdrawn")
    func otherNetwork() throws {
        var resolver = try suspecting()
        var actions: [Action] = []
        resolver.handle(.network(.changed(NetworkID(rawValue: 2))), now: start, actions: &actions)
        #expect(actions.contains(.portal(.ended(.networkChanged))))
        #expect(actions.contains(.withdraw(try question("www.example"), .system)))
        #expect(resolver.portal == nil)
        #expect(try asked(&resolver, "captive.apple.com") == .provider(ProviderID(0)))
    }

    @Test("after ten minutes without an answer of the provider everything is as before")
    func limit() throws {
        var resolver = try suspecting()
        var (wakes, trials) = (0, 0)
        while let deadline = resolver.nextDeadline, resolver.portal != nil, wakes < 10_000 {
            var actions: [Action] = []
            resolver.handle(.timePassed, now: deadline, actions: &actions)
            wakes += 1
            trials += actions.count { if case .shadow = $0 { true } else { false } }
        }
        // Each trial ends by the time-out of 3 s, and the next one begins at once.
        #expect((190...200).contains(trials))
        #expect(resolver.portal == nil)
    }
}
