// The exact output of `--check --explain` for a name in each situation.

import Control
import DNSWire
import LinuxIO
import Resolver
import Settings
import Testing

@testable import Daemon
@testable import Upstreams

struct FreshStartTests {
    private static let rules = """
        [[rule]]
        match = ["corp.example"]
        resolver = "system"
        stale = false
        [[rule]]
        match = ["apps.corp.example"]
        resolver = "alidns"
        probe = false
        [[rule]]
        match = ["nas.example"]
        probe = true
        probe-ports = [8443, 443]
        prefetch = false
        """

    private func text(
        _ name: String, _ type: RecordType = .a, settings text: String = rules, hosts: String = "",
        hasSystem: Bool = true
    ) throws -> String {
        let settings = try Settings.parse(bytes: Array(text.utf8), file: "f")
        let accounts = try settings.providers.map { try ProviderAccount($0) }
        let start = FreshStart(
            settings, accounts, HostsFiles([HostsTable(parsing: Array(hosts.utf8), path: "/etc/hosts")]),
            hasSystem: hasSystem, now: Clock.now())
        return start.report(of: Question(try #require(Name(name)), type)).text
    }

    @Test("a name without a rule goes to the providers in the order of the settings")
    func ordinary() throws {
        try expect(text("www.example.com"), isThatOf: "start-ordinary")
    }

    @Test("a rule sends a name to the system resolver, and a longer rule names under it to a provider")
    func rules() throws {
        try expect(text("wiki.corp.example"), isThatOf: "start-system")
        try expect(text("a.apps.corp.example", .aaaa), isThatOf: "start-provider")
    }

    @Test("probes and refreshes are those of the rule")
    func probes() throws {
        try expect(text("nas.example"), isThatOf: "start-probes")
        let off = try text("www.example.com", settings: "[probe]\nenabled = false\n[prefetch]\nenabled = false")
        #expect(off.contains("probe    none: probes are off\n") && off.contains("refresh  none: prefetch is off\n"))
    }

    @Test("with only-listed, a name without a rule goes to the system resolver")
    func onlyListed() throws {
        let listed = "only-listed = true\n[[rule]]\nmatch = [\"shop.example\"]\nresolver = \"httpdns\""
        try expect(text("www.example.com", settings: listed), isThatOf: "start-not-listed")
        #expect(try text("www.shop.example", settings: listed).contains("route    providers, by a rule\n"))
    }

    @Test("the daemon itself answers names of the hosts file and special names")
    func local() throws {
        try expect(text("nas.lan.example", hosts: "192.168.1.7 nas.lan.example"), isThatOf: "start-hosts")
        try expect(text("abc.onion"), isThatOf: "start-onion")
        try expect(text("printer.local"), isThatOf: "start-local")
        #expect(try text("printer").contains("route    the system resolver; local name\n"))
    }

    @Test("what is decided before the cache is told alone")
    func beforeCache() throws {
        let any =
            "www.example.com ANY\nroute    providers; no rule matches\nnext     minimal answer to ANY (RFC 8482)\n"
        #expect(try text("www.example.com", .any) == any)
    }

    @Test("a type that no provider supports goes to the system resolver")
    func types() throws {
        let only = "[[provider]]\nname = \"a\"\ndialect = \"dnspod\"\nurl = \"http://192.0.2.1/d\""
        let mail = try text("www.example.com", .mx, settings: only)
        #expect(mail.contains("route    the system resolver; no provider supports type MX\n"))
        #expect(!mail.contains("\nprobe "))
    }

    @Test("without a nameserver, nothing answers a name of the system resolver")
    func noNameserver() throws {
        let text = try text("wiki.corp.example", hasSystem: false)
        #expect(text.contains("next     SERVFAIL at once, with EDE 22: ") && !text.contains("\norder "))
        #expect(try self.text("www.example.com", hasSystem: false).contains("order    alidns, dnspod, google\n"))
    }

    @Test("a name that is resolved at the start is marked so")
    func namesOfStart() throws {
        let text = try text("www.example.com", settings: "[prefetch]\nnames = [\"www.example.com\"]")
        #expect(text.contains("refresh  resolved at the start ([prefetch] names); before each expiry"))
    }
}
