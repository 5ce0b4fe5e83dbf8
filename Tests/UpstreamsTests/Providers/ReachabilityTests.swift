// The address that the daemon dials for a host: its own, or one through NAT64 if there is no route.

import DNSWire
import HTTPClient
import LinuxIO
import Network
import Resolver
import Settings
import Testing

@testable import Upstreams

@Suite("Reachability")
struct ReachabilityTests {
    private func reachability(_ routes: [String], _ prefixes: [String] = []) throws -> Reachability {
        Reachability(
            reach: NetworkReach(prefixes: Set(try routes.map { try #require(Prefix($0)) })),
            prefixes: try prefixes.map { try #require(Prefix($0).flatMap { NAT64Prefix($0) }) })
    }

    private func provider(_ lines: String) throws -> Provider {
        let text = "[[provider]]\nname = \"p\"\ndialect = \"json\"\nurl = \"https://dns.example/q\"\n" + lines
        let settings = try Settings.parse(bytes: Array(text.utf8), file: "test").providers[0]
        return Provider(id: ProviderID(1), try ProviderAccount(settings), seed: 0)
    }

    @Test("an address with a route is dialled as it is, and an IPv4 address without one through the translator")
    func ways() throws {
        let v4 = try #require(Address("192.0.2.1"))
        let (direct, translated) = (try reachability(["0.0.0.0/0"]), try reachability(["::/0"], ["2001:db8:64::/96"]))
        #expect(direct.way(to: v4) == v4)
        #expect(try reachability(["0.0.0.0/0", "::/0"], ["2001:db8:64::/96"]).way(to: v4) == v4)
        #expect(translated.way(to: v4) == Address("2001:db8:64::c000:201"))
        #expect(try reachability(["::/0"]).way(to: v4) == nil)
        #expect(
            try reachability(["2001:db8:1::/48"], ["2001:db8:64::/96"]).way(to: v4) == nil, "no route to the translator"
        )
        #expect(translated.way(to: .v4(0x7F00_0001)) == .v4(0x7F00_0001))
    }

    @Test("where the well-known prefix may not carry an address, the network's own is taken")
    func privateAddress() throws {
        let address = try #require(Address("10.0.0.1"))
        #expect(try reachability(["::/0"], ["64:ff9b::/96"]).way(to: address) == nil)
        let both = try reachability(["::/0"], ["64:ff9b::/96", "2001:db8:64::/96"])
        #expect(both.way(to: address) == Address("2001:db8:64::a00:1"))
    }

    @Test("a translator does not change the certificate that a server needs")
    func endpoint() throws {
        let provider = try provider("addresses = [\"192.0.2.1\"]\nsni = \"s.example\"\nhost = \"h.example\"")
        let endpoint = provider.endpoints[0]
        let way = try #require(try reachability(["::/0"], ["2001:db8:64::/96"]).way(to: endpoint))
        #expect(way.address == "2001:db8:64::c000:201" && way.dialledAddress == way.address)
        #expect(way.dialled(at: "192.0.2.1") == endpoint)
        #expect(way.sni == "s.example" && way.hostHeader == "h.example" && way.host == "dns.example")
        #expect(way.dialled(at: "translator.example") == nil)
    }

    @Test("a provider behind a proxy is reached by the proxy's address, and the proxy by a translator")
    func proxy() throws {
        let lines = "addresses = [\"2001:db8::1\"]\nproxy = \"socks5h://192.0.2.9:1080\""
        let provider = try provider(lines)
        provider.setReach(try reachability(["::/0"]))
        #expect(!provider.isReachable)
        provider.setReach(try reachability(["192.0.2.0/24"]))
        #expect(provider.isReachable)
        let way = try #require(try reachability(["::/0"], ["2001:db8:64::/96"]).way(to: provider.endpoints[0]))
        #expect(way.address == "2001:db8::1" && way.dialledAddress == "2001:db8:64::c000:209")
        #expect(way.proxy?.port == 1080 && way.proxy?.kind == .socks5h)
    }

    @Test("a provider's addresses without a route are not dialled while another has one")
    func choice() throws {
        let provider = try provider("addresses = [\"192.0.2.1\", \"2001:db8::1\"]")
        let now = Clock.now()
        let onlyIPv6 = try reachability(["::/0"])
        #expect(provider.chooseEndpoints(now: now)?.first.endpoint.address == "192.0.2.1")
        provider.setReach(onlyIPv6)
        #expect(provider.chooseEndpoints(now: now)?.first.endpoint.address == "2001:db8::1")
        #expect(provider.isReachable)
        provider.setReach(try reachability(["10.0.0.0/8"]))
        #expect(!provider.isReachable)
    }

    @Test("nameservers without a route are passed over, except those of a link")
    func nameservers() throws {
        let onlyIPv6 = try reachability(["::/0"], ["2001:db8:64::/96"])
        #expect(!onlyIPv6.leads(to: Nameserver(.v4(0xC000_0235))))
        #expect(onlyIPv6.leads(to: Nameserver(.v4(0x7F00_0035))))
        let linkLocal = try #require(Address("fe80::1"))
        #expect(try reachability([]).leads(to: Nameserver(linkLocal, zone: "eth0")))
    }
}
