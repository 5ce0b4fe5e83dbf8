// Clients whose questions the cache answers while they are in flight, because another network's part of it is now
// served.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Answered from the cache")
struct AnsweredFromCacheTests {
    private struct Stand {
        private(set) var resolver = Resolver(seed: 1)
        private let now = Instant.testStart

        /// Begins a change of the network.
        init() {
            let provider = ProviderTraits(id: RankedID(0), types: .any)
            _ = handle(.upstreamsChanged(providers: [provider], hasSystem: false))
            _ = handle(.network(.changed(NetworkID(rawValue: 1))))
            _ = handle(.network(.changing))
        }

        mutating func handle(_ event: Event) -> [Action] {
            var actions: [Action] = []
            resolver.handle(event, now: now, actions: &actions)
            return actions
        }

        /// - Returns: the number of fetches that the question begins.
        mutating func ask(_ name: String, _ waiter: UInt64) throws -> Int {
            let question = Question(try #require(Name(name)), .a)
            return handle(.asked(question, Waiter(waiter))).fetches
        }
    }

    @Test("a lookup that served only these clients ends, and its fetch with it")
    func onlyClient() throws {
        var stand = Stand()
        #expect(try stand.ask("www.example", 1) == 1)
        let actions = stand.handle(.answeredFromCache([Waiter(1)]))
        #expect(actions.abandoned == 1)
        #expect(stand.resolver.lookupsInFlight == 0)
        #expect(stand.handle(.network(.changed(NetworkID(rawValue: 2)))).fetches == 0)
    }

    @Test("a client that the cache has not answered is still served")
    func otherClient() throws {
        var stand = Stand()
        #expect(try stand.ask("www.example", 1) == 1)
        #expect(try stand.ask("www.example", 2) == 0)
        #expect(stand.handle(.answeredFromCache([Waiter(1), Waiter(7)])).abandoned == 0)
        #expect(stand.resolver.lookupsInFlight == 1)
        #expect(stand.handle(.network(.changed(NetworkID(rawValue: 2)))).fetches == 1)
    }
}

extension [Action] {
    fileprivate var fetches: Int { count { if case .fetch = $0 { true } else { false } } }
    fileprivate var abandoned: Int { count { if case .abandon = $0 { true } else { false } } }
}
