// Where names go that are not everybody's: answered here, to the local network alone, or anywhere.

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
            "_dns.resolver.arpa", "1.0.0.127.in-addr.arpa", "why.httpdnsd", "www.example.com.WHY.httpdnsd",
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
            "255.255.255.255.in-addr.arpa",
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
        ])
    func anywhere(_ name: String) throws {
        #expect(try way(name) == .anywhere)
        #expect(try way(name, .ptr) == .anywhere)
    }

    @Test(
        "reverse names of IPv6 addresses follow what the address is for",
        arguments: [
            ("::", false), ("fc00::1", false), ("fd12:3456::1", false), ("fe80::1", false), ("febf::1", false),
            ("fec0::1", true), ("2001:db8::1", true), ("ff02::1", true), ("::2", true),
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

    @Test("reverse names are those of RFC 1035 section 3.5 and RFC 3596 section 2.5")
    func reverseNames() throws {
        #expect(try #require(Address("192.0.2.17")).reverseName.description == "17.2.0.192.in-addr.arpa")
        #expect(try #require(Address("0.0.0.0")).reverseName.description == "0.0.0.0.in-addr.arpa")
        // The example of RFC 3596 section 2.5.
        #expect(
            try #require(Address("4321:0:1:2:3:4:567:89ab")).reverseName.description
                == "b.a.9.8.7.6.5.0.4.0.0.0.3.0.0.0.2.0.0.0.1.0.0.0.0.0.0.0.1.2.3.4.ip6.arpa")
    }
}
