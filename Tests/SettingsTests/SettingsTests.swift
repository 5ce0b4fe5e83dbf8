// The effect of each valid key. ComplaintTests cover invalid ones.

import DNSWire
import Settings
import Testing

func parse(_ text: String) throws -> Settings {
    try Settings.parse(bytes: Array(text.utf8), file: "test.toml")
}

@Suite("Settings")
struct SettingsTests {
    @Test("an empty file, a comment and a byte order mark give the defaults")
    func emptyFile() throws {
        for text in ["", "\n", "# nothing\r\n", "\u{FEFF}[log]\n"] {
            #expect(try parse(text) == .defaults)
        }
    }

    @Test("the defaults are loopback, four public providers dialled by address, and the system's nameservers")
    func defaults() {
        let settings = Settings.defaults
        #expect(settings.server.listen.map(\.description) == ["127.0.0.1:53", "[::1]:53"])
        #expect(settings.server.allow.map(\.description) == ["127.0.0.0/8", "::1/128"])
        #expect(
            settings.providers.map { "\($0.name) \($0.dialect) \($0.url) \($0.addresses)" } == [
                "alidns json https://dns.alidns.com/resolve [223.5.5.5, 223.6.6.6]",
                "dnspod doh https://doh.pub/dns-query [1.12.12.12, 120.53.53.53]",
                "google doh https://dns.google/dns-query [8.8.8.8, 8.8.4.4]",
                "cloudflare doh https://cloudflare-dns.com/dns-query [1.1.1.1, 1.0.0.1]",
            ])
        #expect(settings.systemResolver.resolvConf == "/etc/resolv.conf")
    }

    @Test("each key of each section changes its value and nothing else")
    func keys() throws {
        let cases: [(String, (inout Settings) -> Void)] = [
            ("[server]\nlisten = [\"0.0.0.0:0\"]", { $0.server.listen = [.address(.init(.v4(0), port: 0))] }),
            ("[server]\nthreads = 256", { $0.server.threads = 256 }),
            ("[server]\nuser = \"resolver\"", { $0.server.user = "resolver" }),
            ("[server]\nfilter-aaaa = \"no-route\"", { $0.server.filterAAAA = .noRoute }),
            ("[server]\ndns64 = \"auto\"", { $0.server.dns64 = .auto }),
            ("[server]\nallow = [\"10.0.0.0/8\", \"::1\"]", { $0.server.allow = prefixes("10.0.0.0/8", "::1/128") }),
            (
                "[system-resolver]\nservers = [\"192.0.2.1\", \"[2001:db8::1]:5353\", \"2001:db8::2\"]",
                { $0.systemResolver.servers = endpoints("192.0.2.1:53", "[2001:db8::1]:5353", "[2001:db8::2]:53") }
            ),
            ("[system-resolver]\nresolv-conf = \"/x\"", { $0.systemResolver.resolvConf = "/x" }),
            ("[system-resolver]\nstands-in = \"never\"", { $0.systemResolver.standsIn = .never }),
            ("[system-resolver]\norder = \"system-first\"", { $0.systemResolver.order = .systemFirst }),
            ("[system-resolver]\npatience = \"4s\"", { $0.systemResolver.patience = .seconds(4) }),
            ("[system-resolver]\npatience = \"0s\"", { $0.systemResolver.patience = .zero }),
            ("[cache]\nsize = \"1GiB\"", { $0.cache.sizeBytes = 1 << 30 }),
            ("[cache]\nsize = \"1048576B\"", { $0.cache.sizeBytes = 1 << 20 }),
            ("[cache]\nsize = \"1025KiB\"", { $0.cache.sizeBytes = 1025 << 10 }),
            ("[cache]\nmin-ttl = \"1800ms\"", { $0.cache.minTTL = .milliseconds(1800) }),
            ("[cache]\nmax-ttl = \"168h\"", { $0.cache.maxTTL = .seconds(604_800) }),
            ("[cache]\nnegative-max-ttl = \"5m\"", { $0.cache.negativeMaxTTL = .seconds(300) }),
            ("[cache]\nstore = \"\"", { $0.cache.store = nil }),
            ("[cache]\nstore = \"/tmp/c.db\"", { $0.cache.store = "/tmp/c.db" }),
            ("[prefetch]\nenabled = false", { $0.prefetch.enabled = false }),
            ("[prefetch]\nnames = [\"WWW.a.example.\"]", { $0.prefetch.names = names("www.a.example") }),
            ("[stale]\nmax-age = \"0s\"", { $0.stale.maxAge = .zero }),
            ("[stale]\nmax-age = \"30d\"", { $0.stale.maxAge = .seconds(2_592_000) }),
            ("[stale]\nanswer-ttl = \"1h\"", { $0.stale.answerTTL = .seconds(3600) }),
            ("[stale]\nclient-timeout = \"4s\"", { $0.stale.clientTimeout = .seconds(4) }),
            ("[stale]\nclient-timeout = \"0ms\"", { $0.stale.clientTimeout = .zero }),
            ("[stale]\nrecheck = \"1s\"", { $0.stale.recheck = .seconds(1) }),
            ("[probe]\nenabled = false", { $0.probe.enabled = false }),
            ("[probe]\nports = [8443, 443]", { $0.probe.ports = [8443, 443] }),
            ("[probe]\nports = [1, 2, 3, 4, 5, 6, 7, 65535]", { $0.probe.ports = [1, 2, 3, 4, 5, 6, 7, 65_535] }),
            ("[probe]\ntimeout = \"100ms\"", { $0.probe.timeout = .milliseconds(100) }),
            ("[probe]\ntimeout = \"10s\"", { $0.probe.timeout = .seconds(10) }),
            ("[probe]\nca-file = \"/etc/ca.pem\"", { $0.probe.caFile = "/etc/ca.pem" }),
            ("[probe]\nhttp = true", { $0.probe.http = true }),
            ("[network]\nwatch = false", { $0.network.watch = false }),
            ("[control]\nsocket = \"/tmp/s\"", { $0.control.socket = "/tmp/s" }),
            ("[control]\nsocket = \"\"", { $0.control.socket = nil }),
            ("[log]\nlevel = \"debug\"", { $0.log.level = .debug }),
            ("log.level = \"error\"", { $0.log.level = .error }),
            ("only-listed = true", { $0.onlyListed = true }),
            ("direct-only = true", { $0.directOnly = true }),
            ("local-zone = [\"lan\", \"168.in-addr.arpa\"]", { $0.localZones = names("lan", "168.in-addr.arpa") }),
            ("lease-files = \"/l\"", { $0.leaseFiles = ["/l"] }),
            ("blocked-answer = \"0.0.0.0\"", { $0.blockedAnswer = .unspecified }),
        ]
        for (text, change) in cases {
            var expected = Settings.defaults
            change(&expected)
            #expect(try parse(text) == expected, "\(text)")
            #expect(expected != .defaults)
        }
    }

    @Test("each key of a provider changes its value")
    func providerKeys() throws {
        let settings = try parse(
            """
            [[provider]]
            name = "a.b-c_1"
            dialect = "doh"
            url = "HTTPS://Doh.Example:8443/q"
            addresses = ["192.0.2.1", "2001:db8::1"]
            sni = "front.example"
            verify-name = "2001:DB8::1"
            host = "back.example:444"
            ca-file = "/etc/ca.pem"
            method = "POST"
            trust-ad = true
            filters = true
            budget = "10000/s"
            [[provider]]
            name = "free"
            dialect = "dnspod"
            url = "http://119.29.29.29/d"
            account = "1234"
            [[provider]]
            name = "paid"
            dialect = "dnspod-https"
            url = "http://127.0.0.1/d"
            key-file = "/etc/key"
            """)
        var first = Settings.Provider.builtIn[0]
        first.name = "a.b-c_1"
        first.dialect = .doh
        first.url = .init(host: .name("doh.example"), port: 8443, path: "/q")
        first.addresses = ["192.0.2.1", "2001:db8::1"].compactMap { Address($0) }
        first.sni = "front.example"
        first.verifyName = "2001:db8::1"
        first.host = "back.example:444"
        first.caFile = "/etc/ca.pem"
        first.method = .post
        (first.trustAD, first.filters) = (true, true)
        first.budgetPerSecond = 10_000
        var second = Settings.Provider.builtIn[0]
        second.name = "free"
        second.dialect = .dnspod
        second.url = .init(isSecure: false, host: .address(.v4(0x771D_1D1D)), port: 80, path: "/d")
        second.addresses = [.v4(0x771D_1D1D)]
        second.account = "1234"
        var third = second
        third.name = "paid"
        third.dialect = .dnspodHTTPS
        third.url = .init(isSecure: false, host: .address(.v4(0x7F00_0001)), port: 80, path: "/d")
        third.addresses = [.v4(0x7F00_0001)]
        third.account = nil
        third.keyFile = "/etc/key"
        third.serviceNodes = true
        #expect(settings.providers == [first, second, third])
    }

    @Test("each key of a rule changes its value, and rules keep their order")
    func ruleKeys() throws {
        let settings = try parse(
            """
            [[rule]]
            match = ["corp.example", "LAN"]
            resolver = "alidns"
            stands-in = "any-failure"
            order = "system-first"
            allow-private = false
            stale = true
            stale-negative = false
            prefetch = false
            probe = false
            probe-ports = [8443, 1]
            min-ttl = "1500ms"
            max-ttl = "7d"
            fallback-addresses = ["192.0.2.1", "2001:db8::1"]
            [[rule]]
            match = ["."]
            prefetch = true
            [[rule]]
            match = ["a.example"]
            probe = true
            family = "prefer-ipv4"
            connect = 8080
            [[rule]]
            match = ["b.example"]
            probe-ports = [65535]
            """)
        var first = Settings.Rule(match: names("corp.example", "lan"))
        first.terms.standsIn = .anyFailure
        first.terms.order = .systemFirst
        first.resolver = .provider("alidns")
        first.terms.allowPrivate = false
        first.terms.stale = true
        first.terms.staleNegative = false
        first.terms.prefetch = false
        first.terms.probe = false
        first.terms.probePorts = [8443, 1]
        first.terms.minTTL = .milliseconds(1500)
        first.terms.maxTTL = .seconds(7 * 24 * 3600)
        first.terms.fallbackAddresses = ["192.0.2.1", "2001:db8::1"].compactMap { Address($0) }
        var second = Settings.Rule(match: [.root])
        second.terms.prefetch = true
        var third = Settings.Rule(match: names("a.example"))
        third.terms.probe = true
        third.terms.family = .preferIPv4
        third.terms.connect = 8080
        var fourth = Settings.Rule(match: names("b.example"))
        fourth.terms.probePorts = [65_535]
        #expect(settings.rules == [first, second, third, fourth])
    }

    @Test("a rule says what genuine answers are like, inline or as a table of its own, in part or not at all")
    func expectations() throws {
        let settings = try parse(
            """
            [[rule]]
            match = ["c.example"]
            expect = {cname = true, max-ttl = "1h", within = ["192.0.2.0/24", "2001:db8::1"]}
            [[rule]]
            match = ["d.example"]
            [rule.expect]
            cname = false
            [[rule]]
            match = ["e.example"]
            expect = {}
            """)
        let expecting = ["c.example", "d.example", "e.example"].map { Settings.Rule(match: names($0)) }
        var (inline, table, empty) = (expecting[0], expecting[1], expecting[2])
        inline.terms.expectation = RuleExpectation()
        inline.terms.expectation?.hasAlias = true
        inline.terms.expectation?.maxTTL = .seconds(3600)
        inline.terms.expectation?.networks = ["192.0.2.0/24", "2001:db8::1"].compactMap { Prefix($0) }
        table.terms.expectation = RuleExpectation()
        table.terms.expectation?.hasAlias = false
        empty.terms.expectation = RuleExpectation()
        #expect(settings.rules == [inline, table, empty])
    }

    @Test("two providers may share an address and SNI and differ in what the certificate must say")
    func sharedAddress() throws {
        let provider = { (name: String, verify: String) in
            "[[provider]]\nname = \"\(name)\"\ndialect = \"json\"\nurl = \"https://[2001:db8::1]\"\n"
                + "sni = \"s.example\"\nverify-name = \"\(verify)\"\n"
        }
        let settings = try parse(provider("a", "a.example") + provider("b", "b.example"))
        #expect(settings.providers.map(\.verifyName) == ["a.example", "b.example"])
        #expect(settings.providers.map(\.url.description) == ["https://[2001:db8::1]/", "https://[2001:db8::1]/"])
    }

    @Test("a restart is needed for sockets, threads, access, and size and store of the cache, and for nothing else")
    func restart() throws {
        let old = Settings.defaults
        var new = old
        new.providers.removeLast()
        new.log.level = .debug
        new.cache.maxTTL = .seconds(60)
        new.prefetch.enabled = false
        new.stale.maxAge = .zero
        new.probe.enabled = false
        new.probe.ports = [1]
        new.probe.timeout = .seconds(1)
        new.probe.caFile = "/etc/ca.pem"
        new.probe.http = true
        new.rules = [Settings.Rule(match: [.root])]
        #expect(new.changesNeedingRestart(from: old) == [])
        new.server.listen.removeLast()
        new.server.threads = 2
        new.server.allow = []
        new.server.clientRate = nil
        new.server.prefixRate = nil
        new.cache.sizeBytes = 1 << 20
        new.cache.store = nil
        new.control.socket = nil
        #expect(
            new.changesNeedingRestart(from: old)
                == [
                    "server.listen", "server.threads", "server.allow", "server.client-rate", "server.prefix-rate",
                    "cache.size", "cache.store", "control.socket",
                ])
    }

    @Test("a prefix contains what its bits say, of its own family only")
    func prefixContains() throws {
        let cases: [(String, String, Bool)] = [
            ("127.0.0.0/8", "127.255.0.1", true), ("127.0.0.0/8", "128.0.0.0", false),
            ("192.0.2.128/25", "192.0.2.128", true), ("192.0.2.128/25", "192.0.2.127", false),
            ("0.0.0.0/0", "8.8.8.8", true), ("0.0.0.0/0", "::1", false), ("::/0", "::1", true),
            ("fd00::/9", "fd7f::1", true), ("fd00::/9", "fd80::1", false), ("::1/128", "::1", true),
        ]
        for (prefix, address, expected) in cases {
            let prefix = try #require(Prefix(prefix))
            #expect(prefix.contains(try #require(Address(address))) == expected, "\(prefix) \(address)")
        }
    }

    private func prefixes(_ texts: String...) -> [Prefix] { texts.compactMap { Prefix($0) } }
    private func names(_ texts: String...) -> [Name] { texts.compactMap { Name($0) } }
    private func endpoints(_ texts: String...) -> [SocketAddress] { texts.compactMap { SocketAddress($0) } }
}
