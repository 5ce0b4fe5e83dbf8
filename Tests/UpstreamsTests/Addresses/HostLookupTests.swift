// The sources that are asked for a provider's host name, and the use of their answers.

import DNSWire
import Resolver
import Testing

@testable import Upstreams

@Suite("The lookup of a provider's host name")
struct HostLookupTests {
    private let others = (1...5).map { ProviderID($0) }
    private let owner: Name

    init() throws {
        owner = try #require(Name("dns.example"))
    }

    private func answer(_ addresses: String..., ttl: UInt32 = 300) -> Answer {
        Answer(
            records: addresses.compactMap { Address($0) }.map {
                ResourceRecord(owner: owner, address: $0, ttlSeconds: ttl)
            })
    }

    private func sources(_ steps: [HostLookup.Step]) -> [HostLookup.Source] { steps.map(\.source) }

    @Test("the nameservers alone, if they have an address")
    func system() {
        var lookup = HostLookup(hasSystem: true, providers: others, doubtsSystem: false)
        let steps = lookup.next()
        #expect(sources(steps) == [.system, .system] && steps.map(\.type) == [.a, .aaaa])
        lookup.answered(steps[0], answer("192.0.2.1", "192.0.2.2"))
        #expect(!lookup.isFinished && lookup.next().isEmpty, "the other family is awaited")
        lookup.answered(steps[1], answer("2001:db8::1", ttl: 60))
        #expect(lookup.isFinished && lookup.next().isEmpty)
        #expect(lookup.addresses.map(\.description) == ["192.0.2.1", "192.0.2.2", "2001:db8::1"])
        #expect(lookup.ttlSeconds == 60)
    }

    @Test("three other providers, if the nameservers have none, fail, or there are none")
    func fallback() {
        for hasSystem in [true, false] {
            var lookup = HostLookup(hasSystem: hasSystem, providers: others, doubtsSystem: false)
            if hasSystem {
                let steps = lookup.next()
                lookup.answered(steps[0], nil)
                // Blocking resolvers answer with the unspecified address.
                lookup.answered(steps[1], answer("::"))
            }
            let steps = lookup.next()
            #expect(Set(sources(steps)) == [.provider(others[0]), .provider(others[1]), .provider(others[2])])
            for step in steps { lookup.answered(step, step.type == .a ? answer("192.0.2.1", "0.0.0.0") : nil) }
            #expect(lookup.isFinished && lookup.addresses.map(\.description) == ["192.0.2.1"])
        }
    }

    @Test("all together, if the nameservers' addresses did not suffice")
    func doubt() {
        var lookup = HostLookup(hasSystem: true, providers: [others[0]], doubtsSystem: true)
        let steps = lookup.next()
        #expect(sources(steps) == [.system, .system, .provider(others[0]), .provider(others[0])])
        for step in steps {
            lookup.answered(step, answer(step.source == .system ? "192.0.2.66" : "192.0.2.1"))
        }
        #expect(lookup.isFinished && lookup.addresses.map(\.description) == ["192.0.2.1", "192.0.2.66"])
    }

    @Test("nothing to ask, and nothing found")
    func nothing() {
        var none = HostLookup(hasSystem: false, providers: [], doubtsSystem: true)
        #expect(none.next().isEmpty && none.isFinished && none.addresses.isEmpty && none.ttlSeconds == nil)
        var lookup = HostLookup(hasSystem: true, providers: [], doubtsSystem: false)
        for step in lookup.next() { lookup.answered(step, nil) }
        #expect(lookup.isFinished && lookup.addresses.isEmpty)
        lookup.answered(HostLookup.Step(source: .system, type: .a), answer("192.0.2.1"))
        #expect(lookup.addresses.isEmpty, "not asked")
    }
}
