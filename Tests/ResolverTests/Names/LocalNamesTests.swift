// The routes of special names: answered by the daemon, by the local network alone, or by any upstream.

import DNSWire
import Testing

@testable import Resolver

@Suite("Local names")
struct LocalNamesTests {
    private enum Way {
        case here, system, anywhere
    }

    private func way(_ name: String, _ type: RecordType = .a, _ hosts: HostsFiles = .none) throws -> Way {
        switch LocalNames.route(Question(try #require(Name(name)), type), hosts) {
        case .here: .here
        case .system: .system
        case .anywhere: .anywhere
        }
    }

    @Test(
        "names with a fixed meaning are answered here, in any case and with anything before them",
        arguments: [
            "localhost", "LOCALHOST", "a.b.localhost", "invalid", "x.Invalid", "onion", "x.onion", "resolver.arpa",
            "_dns.resolver.arpa", "alt", "x.ALT", "eap.arpa", "x.eap.arpa", "x.6tisch.arpa",
            "170.0.0.192.in-addr.arpa", "171.0.0.192.in-addr.arpa", "1.0.0.127.in-addr.arpa", "why.httpdnsd",
            "www.example.com.WHY.httpdnsd",
        ])
    func here(_ name: String) throws {
        #expect(try way(name) == .here)
        #expect(try way(name, .ptr) == .here)
        #expect(try way(name, .https) == .here)
    }

    @Test(
        "names of the local network go to the system resolver",
        arguments: [
            "printer", "com", "nas.local", "local", "x.home.arpa", "home.arpa", "a.test", "a.internal", "ipv4only.arpa",
            "x.ipv4only.arpa", "1.2.3.10.in-addr.arpa", "10.in-addr.arpa", "2.0.0.127.in-addr.arpa",
            "0.0.0.0.in-addr.arpa", "1.1.254.169.in-addr.arpa", "1.1.168.192.in-addr.arpa", "1.1.16.172.in-addr.arpa",
            "1.1.31.172.in-addr.arpa", "1.1.64.100.in-addr.arpa", "1.1.127.100.in-addr.arpa",
            "255.255.255.255.in-addr.arpa", "1.2.0.192.in-addr.arpa", "1.100.51.198.in-addr.arpa",
            "1.113.0.203.in-addr.arpa", "default.service.arpa", "_ssh._tcp.default.service.arpa",
        ])
    func system(_ name: String) throws {
        #expect(try way(name) == .system)
        #expect(try way(name, .ptr) == .system)
    }

    @Test(
        "other names may go anywhere",
        arguments: [
            ".", "www.example", "localhost.example", "notlocal.example", "mylocal.com", "arpa.example", "local.example",
            "1.1.1.1.in-addr.arpa", "1.1.15.172.in-addr.arpa", "1.1.32.172.in-addr.arpa", "1.1.63.100.in-addr.arpa",
            "1.1.128.100.in-addr.arpa", "1.1.167.192.in-addr.arpa", "110.in-addr.arpa", "in-addr.arpa", "e164.arpa",
            "x.alt.example", "service.arpa", "172.0.0.192.in-addr.arpa", "home.example", "x.example", "x.example.com",
        ])
    func anywhere(_ name: String) throws {
        #expect(try way(name) == .anywhere)
        #expect(try way(name, .ptr) == .anywhere)
    }

    @Test(
        "reverse names of IPv6 addresses follow what the address is for",
        arguments: [
            ("::", false), ("fc00::1", false), ("fd12:3456::1", false), ("fe80::1", false), ("febf::1", false),
            ("fec0::1", true), ("2001:db8::1", false), ("3fff:fff::1", false), ("3fff:1000::1", true),
            ("ff02::1", true), ("::2", true),
        ])
    func reverseIPv6(_ address: String, _ isPublic: Bool) throws {
        let name = try #require(Address(address)).reverseName
        #expect(try way(name.description, .ptr) == (isPublic ? .anywhere : .system))
        #expect(try way(#require(Address("::1")).reverseName.description, .ptr) == .here)
    }

    @Test("/etc/hosts comes before every other rule")
    func hostsFirst() throws {
        let text = "192.0.2.1 nas.local x.invalid www.example\n"
        let hosts = HostsFiles([HostsTable(parsing: Array(text.utf8))])
        #expect(try way("nas.local", .a, hosts) == .here)
        #expect(try way("www.example", .aaaa, hosts) == .here)
        #expect(try way("www.example", .txt, hosts) == .anywhere)
        let question = Question(try #require(Name("x.invalid")), .a)
        #expect(LocalNames.route(question, hosts) != LocalNames.route(question, .none))
    }

    @Test("localhost is a loopback address whatever hosts files have (RFC 6761 section 6.3)")
    func localhostFirst() throws {
        let text = "127.0.0.1 localhost\n192.0.2.1 localhost www.localhost\n127.0.0.5 app.localhost\n"
        let hosts = HostsFiles([HostsTable(parsing: Array(text.utf8))])
        for (name, type, address) in [
            ("localhost", RecordType.a, "127.0.0.1"), ("LOCALHOST", .aaaa, "::1"), ("www.localhost", .a, "127.0.0.1"),
            ("www.localhost", .aaaa, "::1"), ("app.localhost", .a, "127.0.0.5"), ("app.localhost", .aaaa, "::1"),
            ("x.app.localhost", .a, "127.0.0.1"),
        ] {
            let question = Question(try #require(Name(name)), type)
            guard case .here(.answer(let answer), _) = LocalNames.route(question, hosts) else {
                Issue.record("\(name) is sent upstream")
                continue
            }
            #expect(answer.addresses.map(\.description) == [address], "\(name) \(type)")
        }
    }

    @Test(
        "negative answers carry the SOA record of their zone (RFC 2308 section 3)",
        arguments: [
            ("x.y.invalid", RecordType.a, "invalid", 10_800), ("localhost", .mx, "localhost", 10_800),
            ("a.localhost", .https, "localhost", 10_800), ("x.alt", .a, "alt", 10_800),
            ("_dns.resolver.arpa", .svcb, "resolver.arpa", 10_800), ("x.eap.arpa", .txt, "eap.arpa", 10_800),
            ("1.0.0.127.in-addr.arpa", .a, "1.0.0.127.in-addr.arpa", 10_800), ("x.why.httpdnsd", .a, "why.httpdnsd", 0),
            ("nas.lan", .aaaa, "nas.lan", 10), ("nas.lan", .https, "nas.lan", 10),
        ])
    func startsOfAuthority(name: String, type: RecordType, zone: String, ttl: UInt32) throws {
        let hosts = HostsFiles([HostsTable(parsing: Array("192.0.2.1 nas.lan\n".utf8))])
        let question = Question(try #require(Name(name)), type)
        guard case .here(.answer(let answer), _) = LocalNames.route(question, hosts) else {
            Issue.record("\(name) is sent upstream")
            return
        }
        #expect(answer.kind != .records && answer.ttlSeconds == ttl)
        #expect(answer.authority?.owner.description == zone && answer.authority?.startOfAuthorityMinimum == ttl)
    }

    @Test("the addresses of ipv4only.arpa lead to its name (RFC 8880 section 7.2)")
    func translationProbes() throws {
        let question = Question(try #require(Name("170.0.0.192.in-addr.arpa")), .ptr)
        guard case .here(.answer(let answer), _) = LocalNames.route(question, .none) else {
            Issue.record("sent upstream")
            return
        }
        #expect(answer.records.map(\.data) == [try #require(Name("ipv4only.arpa")).wire])
    }

    @Test("reverse names are those of RFC 1035 section 3.5 and RFC 3596 section 2.5")
    func reverseNames() throws {
        #expect(try #require(Address("192.0.2.17")).reverseName.description == "17.2.0.192.in-addr.arpa")
        #expect(try #require(Address("0.0.0.0")).reverseName.description == "0.0.0.0.in-addr.arpa")
        // The name is the example of RFC 3596 section 2.5.
        #expect(
            try #require(Address("4321:0:1:2:3:4:567:89ab")).reverseName.description
                == "b.a.9.8.7.6.5.0.4.0.0.0.3.0.0.0.2.0.0.0.1.0.0.0.0.0.0.0.1.2.3.4.ip6.arpa")
    }
}
