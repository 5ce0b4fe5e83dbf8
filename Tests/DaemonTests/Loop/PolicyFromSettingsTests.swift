// The settings of probes and parameters as policies of the resolver and parameters of dialects.

import DNSWire
import Resolver
import Serving
import Settings
import TestSupport
import Testing

@testable import Daemon
@testable import Upstreams

@Suite("Conversions")
struct PolicyFromSettingsTests {
    /// The key of the partition without its network, and the parameters of requests for the name.
    private func keyAndParameters(
        _ lines: String, rules: String = "", name: String = "www.corp.example"
    ) throws -> (Partition, Settings.RequestParameters) {
        let text = """
            [[provider]]
            name = "emas"
            dialect = "alicloud-v2"
            url = "https://192.0.2.1"
            account = "1"
            key-file = "/k"
            \(lines)
            \(rules)
            """
        let providers = try Settings.parse(bytes: Array(text.utf8), file: "f").providers
        let sets = ParameterSets(providers[0].parameters, ofNames: providers[0].parametersOfNames)
        return (Partition(nil, providers), sets[sets.number(for: try #require(Name(name)))])
    }

    private func rule(_ match: String, _ line: String) -> String {
        "[[rule]]\nmatch = [\"\(match)\"]\nresolver = \"emas\"\n\(line)\n"
    }

    @Test("each set of parameters of a provider and of its rules is another part of the cache")
    func parametersInKey() throws {
        let variants = [
            ("", ""), (#"query = {"sdns-a" = "1"}"#, ""), (#"query = {"sdns-a" = "2"}"#, ""), (#"tags = ["a"]"#, ""),
            ("", rule("corp.example", #"tags = ["a"]"#)), ("", rule("example", #"tags = ["a"]"#)),
            ("", rule("corp.example", #"tags = ["b"]"#)),
        ]
        let keys = try variants.map { try keyAndParameters($0.0, rules: $0.1).0 }
        #expect(Set(keys).count == variants.count)
        let other = try keyAndParameters("", rules: rule("corp.example", "stale = false")).0
        #expect(other == keys[0])
    }

    private static func viewSettings(_ blocked: String, _ games: String) -> String {
        """
        [server]
        allow = ["192.168.0.0/16"]
        [[provider]]
        name = "a"
        dialect = "json"
        url = "https://192.0.2.1/"
        [[provider]]
        name = "b"
        dialect = "json"
        url = "https://192.0.2.2/"
        views-only = true
        [[provider]]
        name = "c"
        dialect = "json"
        url = "https://192.0.2.3/"
        names = ["account.example"]
        [[provider]]
        name = "d"
        dialect = "json"
        url = "https://192.0.2.4/"
        names = ["private.example"]
        exclusive = true
        [[view]]
        name = "guests"
        clients = ["192.168.7.0/24"]
        providers = ["b"]
        [[view]]
        name = "children"
        clients = ["192.168.8.0/24"]
        [[rule]]
        match-file = ["\(blocked)"]
        answer = "nxdomain"
        [[rule]]
        match = ["ads.example", "b.www.example"]
        view = "guests"
        resolver = "httpdns"
        [[rule]]
        match = ["www.example"]
        resolver = "system"
        [[rule]]
        match-file = ["\(games)"]
        view = "children"
        answer = "refused"
        [[rule]]
        match = ["www.example"]
        view = "children"
        resolver = "a"
        """
    }

    @Test("a view's rules precede the others at the same name, lists of others included, and its providers replace all")
    func views() throws {
        let folder = TemporaryFolder()
        folder.write(Array("0.0.0.0 ads.example\n".utf8), to: folder("blocked"))
        folder.write(Array("games.example\n".utf8), to: folder("games"))
        let text = PolicyFromSettingsTests.viewSettings(folder("blocked"), folder("games"))
        let settings = try Settings.parse(bytes: Array(text.utf8), file: "f")
        let providers = try settings.providers.enumerated().map {
            Provider(id: ProviderID($0), try ProviderAccount($1), seed: 1)
        }
        let policy = Policy(settings, providers, lists: NameLists.read(for: settings, nil).lists)
        let all = [policy] + policy.views.map(\.policy)
        let upstreams = { (name: String) in all.map { $0.upstreams(for: Name(name)!) } }
        let guests = NameUpstreams.owners([ProviderID(1)], isExclusive: true)
        #expect(upstreams("other.example") == [.providers, guests, .providers])
        #expect(upstreams("a.www.example") == [.system, .system, .provider(ProviderID(0))])
        #expect(upstreams("b.www.example") == [.system, guests, .provider(ProviderID(0))])
        let account = NameUpstreams.owners([ProviderID(2)], isExclusive: false)
        #expect(upstreams("account.example") == [account, guests, account])
        let exclusive = NameUpstreams.owners([ProviderID(3)], isExclusive: true)
        #expect(upstreams("private.example") == [exclusive, exclusive, exclusive])
        let answers = { (name: String) in all.map { $0.ruleAnswer(for: Name(name)!) != nil } }
        #expect(answers("ads.example") == [true, false, true])
        #expect(answers("games.example") == [false, false, true])
        #expect(policy.views.map(\.name) == ["guests", "children"])
    }

    @Test("another rule of a view removes the answers of its names")
    func changedViews() throws {
        func policy(_ rule: String) throws -> Policy {
            let text = """
                [server]
                allow = ["192.168.0.0/16"]
                [[view]]
                name = "guests"
                clients = ["192.168.7.0/24"]
                [[rule]]
                match = ["www.example"]
                view = "guests"
                \(rule)
                """
            return Policy(try Settings.parse(bytes: Array(text.utf8), file: "f"), [])
        }
        let before = try policy("stale = false")
        let other = try policy("answer = \"nxdomain\"")
        #expect(
            other.answersDiffering(from: before) == [QuestionScope(Name("www.example")!, includesDescendants: true)])
        #expect(other.mayDiffer(from: before, for: Name("www.example")!))
        #expect(!other.mayDiffer(from: before, for: Name("example")!))
        #expect(before.mayDiffer(from: other, for: Name("www.example")!))
        #expect(try policy("stale = false").answersDiffering(from: before).isEmpty)
    }

    @Test("a view that a reload changes gets a number that none had before, and the others keep theirs")
    func numbersOfViews() throws {
        func settings(_ views: (name: String, clients: Int, subnet: Int)...) throws -> Settings {
            let tables = views.map { view in
                """
                [[view]]
                name = "\(view.name)"
                clients = ["192.168.\(view.clients).0/24"]
                client-subnet = "203.0.\(view.subnet).0/24"
                """
            }
            let text = "[server]\nallow = [\"192.168.0.0/16\"]\n" + tables.joined(separator: "\n")
            return try Settings.parse(bytes: Array(text.utf8), file: "f")
        }
        var inForce = try settings((name: "a", clients: 1, subnet: 1), (name: "b", clients: 2, subnet: 2))
        var numbers = ViewNumbers(inForce)
        func reload(_ new: Settings) -> [UInt32] {
            var new = new
            numbers.assign(to: &new, after: inForce)
            #expect(new.providers.map(\.endpoint) == inForce.providers.map(\.endpoint), "connections are kept")
            inForce = new
            return new.views.map(\.number)
        }
        #expect(inForce.views.map(\.number) == [1, 2])
        #expect(try reload(settings((name: "b", clients: 2, subnet: 2), (name: "a", clients: 1, subnet: 9))) == [2, 3])
        #expect(inForce.providers[0].clientSubnetOfView.keys.sorted() == [2, 3])
        #expect(try reload(settings()).isEmpty && inForce.providers[0].clientSubnetOfView.isEmpty)
        #expect(try reload(settings((name: "a", clients: 1, subnet: 1))) == [4])
        #expect(Policy(inForce, []).views.map(\.number) == [4])
    }

    @Test("an announced domain yields to what the operator decided, except to a tunnel's longer one")
    func announcedDomains() throws {
        let folder = TemporaryFolder()
        let list = folder("list")
        folder.write(Array("listed.example\n".utf8), to: list)
        let text = """
            local-zone = ["lan"]
            [[nameserver]]
            name = "corp"
            servers = ["192.0.2.53"]
            names = ["corp.example"]
            [[rule]]
            match = ["blocked.example"]
            answer = "nxdomain"
            [[rule]]
            match-file = ["\(list)"]
            resolver = "system"
            [[rule]]
            match = ["open.example"]
            stale = false
            [[rule]]
            resolver = "link"
            """
        let settings = try Settings.parse(bytes: Array(text.utf8), file: "f")
        let lists = NameLists.read(for: settings, nil).lists
        let corp = NamedServer(id: NameserverID(0), settings.nameservers[0])
        let domains = [
            "a.corp.example", "corp.example", "a.blocked.example", "a.listed.example", "a.lan", "a.open.example",
        ].map { Name($0)! }
        func claimed(isTunnel: Bool) -> [String] {
            var links = LinkDomains()
            let link = AnnouncingLink(
                interface: "wlan0", servers: [], domains: domains, isTunnel: isTunnel, hasDefaultRoute: true)
            links.set([link])
            let server = NamedServer(id: NameserverID(1), link)
            let policy = Policy(settings, [], [corp, server], lists: lists, links: links)
            return domains.filter { policy.upstreams(for: $0) == .nameserver(server.id) }.map(\.description)
        }
        #expect(claimed(isTunnel: false) == ["a.open.example"])
        #expect(
            claimed(isTunnel: true) == ["a.corp.example", "a.blocked.example", "a.listed.example", "a.open.example"])
    }

    @Test("the digest of expectations depends on the names of listed files, and not on when they were read")
    func listedExpectations() throws {
        let folder = TemporaryFolder()
        let text = "[[rule]]\nmatch-file = [\"\(folder("list"))\"]\nexpect = {cname = true}\n"
        let settings = try Settings.parse(bytes: Array(text.utf8), file: "f")
        let digest = { (names: String) in
            folder.write(Array(names.utf8), to: folder("list"))
            let lists = NameLists.read(for: settings, nil).lists
            var policy = Policy()
            policy.rules = RuleTable(settings.rules.map { Rule($0, [:], lists) })
            return try #require(policy.acceptanceDigest { _ in "" })
        }
        let old = try digest("a.example\nb.example\n")
        #expect(try digest("a.example\nb.example\n") == old)
        #expect(try digest("a.example\nc.example\n") != old)
    }

    @Test("a rule's parameters are added to those of the provider and of rules for names above")
    func parametersOfNames() throws {
        let rules =
            rule("www.corp.example", #"query = {"sdns-b" = "w"}"#)
            + rule("corp.example", "query = {\"sdns-b\" = \"c\", \"sdns-c\" = \"c\"}\ntags = [\"t\"]")
            + rule("corp.example", #"query = {"sdns-c" = "late", "sdns-d" = "late"}"#)
        let own = #"query = {"sdns-a" = "o", "sdns-b" = "o"}"#
        let parameters = { (name: String) in try keyAndParameters(own, rules: rules, name: name).1 }
        let text = { (parameters: Settings.RequestParameters) in
            (parameters.sortedQuery.map { "\($0.name)=\($0.value)" } + parameters.tags).joined(separator: " ")
        }
        #expect(text(try parameters("other.example")) == "sdns-a=o sdns-b=o")
        #expect(text(try parameters("corp.example")) == "sdns-a=o sdns-b=c sdns-c=c sdns-d=late t")
        #expect(text(try parameters("a.b.corp.example")) == "sdns-a=o sdns-b=c sdns-c=c sdns-d=late t")
        #expect(text(try parameters("x.www.corp.example")) == "sdns-a=o sdns-b=w sdns-c=c sdns-d=late t")
    }

    @Test("whether and where probes go is the settings' word")
    func probes() {
        var settings = Settings.defaults
        #expect(Policy(settings, []).probes.isEnabled && Policy(settings, []).probes.ports == [443])
        settings.probe.enabled = false
        settings.probe.ports = [8443, 443]
        #expect(!Policy(settings, []).probes.isEnabled && Policy(settings, []).probes.ports == [8443, 443])
    }

    @Test("what a rule says of probes arrives, and nothing where it is silent", arguments: [true, false, nil])
    func rules(probe: Bool?) throws {
        let match = [try #require(Name("corp.example"))]
        var rule = Settings.Rule(match: match)
        var expected = Rule(match: match)
        #expect(Rule(rule, [:]) == expected)
        rule.terms.probe = probe
        rule.terms.probePorts = [853, 1]
        expected.terms.probe = probe
        expected.terms.probePorts = [853, 1]
        #expect(Rule(rule, [:]) == expected)
    }

    @Test("names go to their nameserver, as do those of rules that name it; the longest match counts")
    func nameservers() throws {
        let text = """
            [[nameserver]]
            name = "corp"
            servers = ["192.0.2.53", "tls://[2001:db8::54]#dns.example", "tls://192.0.2.55:8853"]
            names = ["corp.example", "10.in-addr.arpa"]
            ca-file = "/ca.pem"
            [[rule]]
            match = ["lan"]
            resolver = "corp"
            [[rule]]
            match = ["www.corp.example"]
            resolver = "httpdns"
            """
        let settings = try Settings.parse(bytes: Array(text.utf8), file: "f")
        let server = NamedServer(id: NameserverID(0), settings.nameservers[0])
        #expect(server.servers.map(\.description) == ["192.0.2.53:53", "[2001:db8::54]:853", "192.0.2.55:8853"])
        let authorities: [String?] = ["dns.example", "192.0.2.55"]
        #expect(server.servers.map { $0.tls?.certificateName } == [nil] + authorities)
        #expect(server.servers.compactMap { $0.tls?.caFile } == ["/ca.pem", "/ca.pem"])
        let policy = Policy(settings, [], [server])
        for (name, upstreams) in [
            ("corp.example", .nameserver(server.id)), ("a.b.corp.example", .nameserver(server.id)),
            ("1.0.0.10.in-addr.arpa", .nameserver(server.id)), ("nas.lan", .nameserver(server.id)),
            ("a.www.corp.example", .providers), ("notcorp.example", .providers),
        ] as [(String, NameUpstreams)] {
            #expect(policy.upstreams(for: try #require(Name(name))) == upstreams, "\(name)")
        }
        #expect(policy.namesWithAcceptanceTerms.count == 3)
        let note = try #require(AcceptanceNote(policy, [server]))
        #expect(AcceptanceNote(note.text) == note)
        var others = settings.nameservers[0]
        others.servers.removeLast()
        let other = AcceptanceNote(policy, [NamedServer(id: server.id, others)])
        #expect(!AcceptanceNote.accepts(other, answersOf: note) && other?.names == note.names)
        #expect(AcceptanceNote(Policy(), []) == nil && !AcceptanceNote.accepts(nil, answersOf: note))
    }

    @Test("what a rule expects of answers arrives, in whole seconds, and so does the empty expectation")
    func expectation() throws {
        var rule = Settings.Rule(match: [try #require(Name("corp.example"))])
        rule.terms.expectation = RuleExpectation()
        #expect(Rule(rule, [:]).terms.expectation.map { "\($0)" } == "{}")
        rule.terms.expectation?.hasAlias = false
        rule.terms.expectation?.maxTTL = .seconds(7 * 24 * 3600)
        rule.terms.expectation?.networks = [try #require(Prefix("2001:db8::/32"))]
        let words = Rule(rule, [:]).terms.expectation.map { "\($0)" }
        #expect(words == "{cname = false, max-ttl = 604800s, within = [2001:db8::/32]}")
    }
}
