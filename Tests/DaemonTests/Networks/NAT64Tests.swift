// The NAT64 prefixes of cache and resolver after a change of default routes. PrefixDiscoveryTests and the end-to-end
// tests cover the query for the prefix itself.

import DNSWire
import LinuxIO
import Network
import Resolver
import Serving
import Settings
import Testing

@testable import Daemon
@testable import Upstreams

@Suite("NAT64")
struct NAT64Tests {
    private let stand: ResolvingStand
    private let nat64: NAT64
    private let now = Clock.now()
    private let home = NetworkID(rawValue: 1)
    private let onlyIPv6: NetworkReach
    private let onlyIPv4: NetworkReach
    private let prefix: NAT64Prefix

    init() throws {
        stand = try ResolvingStand()
        nat64 = NAT64(stand.resolving.upstreams, stand.outbox, stand.serving)
        onlyIPv6 = NetworkReach(prefixes: [try #require(Prefix("::/0"))])
        onlyIPv4 = NetworkReach(prefixes: [try #require(Prefix("0.0.0.0/0"))])
        prefix = try #require(Prefix("2001:db8:64::/96").flatMap { NAT64Prefix($0) })
    }

    private func settings(_ lines: String) throws -> Settings.Server {
        try Settings.parse(bytes: Array("[server]\n\(lines)".utf8), file: "test").server
    }

    @Test("a provider with IPv4 addresses is out of reach on IPv6 alone, until a prefix is known")
    func unreachable() throws {
        try stand.setProviders([Settings.Provider.builtIn[0]], now: now)
        let id = try #require(stand.resolving.upstreams.providers.providers.first?.id)
        nat64.networkChanged(to: home, reach: .everything, advertised: [], now: now)
        #expect(stand.resolving.upstreams.providers.unreachable == [])
        nat64.networkChanged(to: home, reach: onlyIPv6, advertised: [], now: now)
        #expect(stand.resolving.upstreams.providers.unreachable == [.provider(id)])
        nat64.networkChanged(to: home, reach: onlyIPv6, advertised: [prefix], now: now)
        #expect(stand.resolving.upstreams.providers.unreachable == [] && nat64.prefixes == [prefix])
        nat64.networkChanged(to: home, reach: NetworkReach(prefixes: []), advertised: [], now: now)
        #expect(stand.resolving.upstreams.providers.unreachable == [.provider(id)] && nat64.prefixes == [])
    }

    @Test("the prefix is asked for where there is IPv6 alone, and a failure is tried again later")
    func asks() {
        #expect(nat64.nextDeadline == nil)
        nat64.networkChanged(to: home, reach: onlyIPv6, advertised: [], now: now)
        #expect(nat64.nextDeadline == now)
        // The system has no nameserver.
        nat64.timePassed(now: now)
        #expect(nat64.nextDeadline == nil && stand.resolving.upstreams.system.hasFinished)
        stand.settle(now: now)
        #expect(nat64.nextDeadline.map { $0 > now } == true)
        nat64.networkChanged(to: home, reach: onlyIPv4, advertised: [], now: now)
        #expect(nat64.nextDeadline == nil)
    }

    @Test("AAAA is filtered where the settings want it and IPv6 has no way out, and nowhere else")
    func filter() throws {
        nat64.networkChanged(to: home, reach: onlyIPv4, advertised: [], now: now)
        #expect(!stand.serving.filtersAAAA)
        nat64.configure(try settings("filter-aaaa = \"no-route\""))
        #expect(stand.serving.filtersAAAA)
        nat64.networkChanged(to: home, reach: onlyIPv6, advertised: [], now: now)
        #expect(!stand.serving.filtersAAAA)
        nat64.networkChanged(to: home, reach: NetworkReach(prefixes: []), advertised: [], now: now)
        #expect(stand.serving.filtersAAAA)
        nat64.configure(try settings("filter-aaaa = \"never\""))
        #expect(!stand.serving.filtersAAAA)
    }

    @Test("AAAA that was learned with another prefix, or none, leaves the cache, where addresses are made")
    func forgetting() throws {
        let name = try #require(Name("www.example"))
        let keep = {
            stand.keep(Question(name, .a), from: .provider, now: now)
            stand.keep(Question(name, .aaaa), from: .provider, addresses: [.v6(high: 1, low: 1)], now: now)
        }
        keep()
        nat64.networkChanged(to: home, reach: onlyIPv6, advertised: [.wellKnown], now: now)
        nat64.networkChanged(to: home, reach: onlyIPv6, advertised: [prefix], now: now)
        #expect(stand.kept.count == 2, "no addresses are made without dns64")
        nat64.configure(try settings("dns64 = \"auto\""))
        #expect(stand.kept == ["www.example provider"])
        keep()
        nat64.networkChanged(to: home, reach: onlyIPv6, advertised: [prefix], now: now)
        #expect(stand.kept.count == 2)
        nat64.networkChanged(to: home, reach: onlyIPv6, advertised: [.wellKnown], now: now)
        #expect(stand.kept == ["www.example provider"])
    }
}
