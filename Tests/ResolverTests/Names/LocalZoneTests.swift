// Names of hosts files, leases and local zones: the source that answers, and that no upstream is asked for the rest.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

struct LocalZoneTests {
    private let now = Instant.testStart
    private let corp = NameserverID(0)

    private func name(_ text: String) throws -> Name { try #require(text == "." ? .root : Name(text)) }

    private func rule(_ name: String, to upstreams: NameUpstreams) throws -> Rule {
        var rule = Rule(match: [try self.name(name)])
        rule.upstreams = upstreams
        return rule
    }

    private func rule(_ name: String, _ answer: RuleAnswer) throws -> Rule {
        var rule = Rule(match: [try self.name(name)])
        rule.answer = answer
        return rule
    }

    /// A resolver with a provider, a nameserver and a system resolver.
    private func resolver(
        zones: [String] = ["lan"], hosts: [String] = [""], leases: String = "", rules: [Rule] = []
    ) throws -> Resolver {
        var (resolver, actions) = (Resolver(seed: 1), [Action]())
        let upstreams = [
            ProviderTraits(id: RankedID(0), types: .any), ProviderTraits(id: .nameserver(corp), types: .any),
        ]
        var policy = Policy()
        let localZones = LocalZones(try zones.map(name))
        policy.localZones = localZones
        policy.rules = RuleTable(rules)
        let tables = hosts.enumerated().map {
            HostsTable(parsing: Array($0.element.utf8), path: "/h\($0.offset)", zones: localZones)
        }
        let file = try #require(LeaseFile(parsing: Array(leases.utf8)))
        let table = LeaseTable(file, path: "/leases", zones: localZones)
        for event in [
            Event.upstreamsChanged(providers: upstreams, hasSystem: true), .policyChanged(policy),
            .hostsChanged(HostsFiles(tables)),
            .leasesChanged(Leases([table], epoch: epoch), new: table.names(missingIn: nil, at: 0)),
        ] { resolver.handle(event, now: now, actions: &actions) }
        return resolver
    }

    /// A time in 2001, in seconds; dnsmasq's smaller numbers may be lengths.
    private let start = 1_000_000_000
    /// The instant of 1970, so that the wall clock shows `start` plus 10,000 s at `now`.
    private var epoch: Instant { now - .seconds(start + 10_000) }

    /// - Parameter end: the end in seconds after `start`; nil: never.
    private func lease(_ label: String, _ address: String, until end: Int? = 10_060) -> String {
        "\(end.map { start + $0 } ?? 0) 52:54:00:aa:bb:01 \(address) \(label) *\n"
    }

    /// The reply as "ADDRESS ... TTL", "NODATA", "NXDOMAIN", "PTR NAME TTL", or the kind of the upstream that is asked.
    private func reply(
        _ text: String, _ type: RecordType = .a, _ resolver: Resolver, after delay: Duration = .zero
    ) throws -> String {
        var (resolver, actions) = (resolver, [Action]())
        let question = Question(try name(text), type)
        resolver.handle(.asked(question, Waiter(1)), now: now + delay, actions: &actions)
        for action in actions {
            switch action {
            case .reply(_, let answer, .local):
                switch answer.kind {
                case .noData, .ambiguousEmpty: return "NODATA"
                case .noSuchName: return "NXDOMAIN"
                case .records where type == .ptr:
                    let target = try #require(answer.records.first.flatMap { Name(wire: $0.data) })
                    return "PTR \(target) \(answer.ttlSeconds)"
                case .records where answer.addresses.isEmpty: return "\(answer.records[0].type)"
                case .records:
                    return answer.addresses.map(\.description).joined(separator: " ") + " \(answer.ttlSeconds)"
                }
            case .fetch(_, _, let upstream, _):
                return upstream == .system ? "system" : upstream == .nameserver(corp) ? "corp" : "provider"
            default: continue
            }
        }
        return "nothing"
    }

    // MARK: zones

    @Test("a name in a local zone has local data or does not exist, and no rule for a shorter name sends it out")
    func zone() throws {
        let hosts = "192.168.7.2 nas.lan\n192.168.7.3 a.b.c.lan\nfd00:7::4 six.LAN\n"
        let rules = try [
            rule(".", to: .provider(ProviderID(0))), rule("lan", to: .nameserver(corp)),
            rule("n", .noSuchName(.blockedByRule)),
        ]
        for rules in [[], rules] {
            let resolver = try resolver(hosts: [hosts], rules: rules)
            for (name, type, expected) in [
                ("nas.lan", .a, "192.168.7.2 10"), ("NAS.Lan", .aaaa, "NODATA"), ("nas.lan", .mx, "NODATA"),
                ("nas.lan", .https, "NODATA"), ("six.lan", .aaaa, "fd00:7::4 10"), ("six.lan", .a, "NODATA"),
                ("x.lan", .a, "NXDOMAIN"), ("x.nas.lan", .a, "NXDOMAIN"), ("x.y.z.lan", .txt, "NXDOMAIN"),
                ("a.b.c.lan", .a, "192.168.7.3 10"), ("b.c.lan", .a, "NODATA"), ("c.lan", .aaaa, "NODATA"),
                ("b.lan", .a, "NXDOMAIN"), ("lan", .a, "NODATA"), ("lan", .ns, "NODATA"), ("lan", .soa, "SOA"),
            ] as [(String, RecordType, String)] {
                #expect(try reply(name, type, resolver) == expected, "\(name) \(type)")
            }
            #expect(try reply("lan.example", .a, resolver) == "provider")
            #expect(try reply("plan", .a, resolver) != "NXDOMAIN")
        }
        #expect(try reply("x.lan", .a, resolver(zones: [], hosts: [hosts])) == "provider")
    }

    @Test("a negative answer has the zone's SOA record, whose minimum is its TTL")
    func authority() throws {
        var (resolver, actions) = (try resolver(), [Action]())
        let question = Question(try name("x.y.lan"), .a)
        resolver.handle(.asked(question, Waiter(1)), now: now, actions: &actions)
        guard case .reply(_, let answer, .local) = actions.first else {
            Issue.record("\(actions)")
            return
        }
        let zone = try name("lan")
        #expect(answer.authority?.owner == zone && answer.authority?.type == .soa)
        #expect(answer.authority?.startOfAuthorityMinimum == 10 && answer.ttlSeconds == 10)
    }

    @Test("a rule for a name below the zone sends it to an upstream, as the operator is more specific there")
    func exemption() throws {
        let rules = try [rule("corp.lan", to: .nameserver(corp)), rule("ads.lan", .noSuchName(.blockedByRule))]
        let resolver = try resolver(
            hosts: ["192.168.7.2 nas.corp.lan"], leases: lease("corp", "192.168.7.9"), rules: rules)
        #expect(try reply("wiki.corp.lan", .a, resolver) == "corp")
        #expect(try reply("corp.lan", .a, resolver) == "corp", "a client of DHCP does not take the name")
        #expect(try reply("nas.corp.lan", .a, resolver) == "192.168.7.2 10")
        #expect(try reply("ads.lan", .a, resolver) == "NXDOMAIN")
        #expect(try reply("wiki.lan", .a, resolver) == "NXDOMAIN")
    }

    @Test("a list of names sends no name of a local zone to an upstream")
    func lists() throws {
        var builder = NameList.Builder()
        builder.add(try name("corp.lan").digest, .tree, line: 1)
        var rule = Rule(match: [])
        rule.lists = [RuleList(path: "/l", names: NameList(builder))]
        rule.upstreams = .nameserver(corp)
        #expect(try reply("x.corp.lan", .a, resolver(rules: [rule])) == "NXDOMAIN")
        #expect(try reply("x.corp.lan", .a, resolver(zones: [], rules: [rule])) == "corp")
    }

    @Test("of zones within zones the longest counts, and a reverse zone is one like any other")
    func severalZones() throws {
        let resolver = try resolver(
            zones: ["lan", "guest.lan", "168.192.in-addr.arpa"], hosts: ["192.168.7.2 nas.lan"],
            leases: lease("tv", "192.168.9.20"))
        #expect(try reply("2.7.168.192.in-addr.arpa", .ptr, resolver) == "PTR nas.lan 10")
        #expect(try reply("2.7.168.192.in-addr.arpa", .txt, resolver) == "NODATA")
        #expect(try reply("7.168.192.in-addr.arpa", .ptr, resolver) == "NODATA")
        #expect(try reply("20.9.168.192.in-addr.arpa", .ptr, resolver) == "PTR tv.lan 10")
        #expect(try reply("9.168.192.in-addr.arpa", .ns, resolver) == "NODATA")
        #expect(try reply("3.7.168.192.in-addr.arpa", .ptr, resolver) == "NXDOMAIN")
        #expect(try reply("tv.guest.lan", .a, resolver) == "192.168.9.20 10")
        #expect(try reply("guest.lan", .a, resolver) == "NODATA")
        #expect(try reply("1.1.16.172.in-addr.arpa", .ptr, resolver) == "system")
    }

    @Test("names that a change brings into a local zone are no longer asked for; those that leave it are")
    func changes() throws {
        var (resolver, actions) = (try resolver(zones: []), [Action]())
        let question = Question(try name("x.lan"), .a)
        resolver.handle(.asked(question, Waiter(1)), now: now, actions: &actions)
        var policy = Policy()
        let zone = try name("lan")
        policy.localZones = LocalZones([zone])
        let old = Policy()
        #expect(policy.mayDiffer(from: old, for: question.name) && old.mayDiffer(from: policy, for: question.name))
        #expect(policy.answersDiffering(from: old) == [QuestionScope(zone, includesDescendants: true)])
        resolver.handle(.policyChanged(policy), now: now, actions: &actions)
        #expect(!resolver.lookups.contains { $0?.isObsolete == false })
        #expect(try reply("x.lan", .a, resolver) == "NXDOMAIN")
    }

    // MARK: hosts files

    @Test("a name has the addresses of all files, and an address the name that the first file has first")
    func severalFiles() throws {
        let resolver = try resolver(
            zones: [],
            hosts: ["192.0.2.1 a.example first\n", "192.0.2.2 a.example\n192.0.2.1 second\n192.0.2.1 a.example"])
        #expect(try reply("a.example", .a, resolver) == "192.0.2.1 192.0.2.2 10")
        #expect(try reply("second", .a, resolver) == "192.0.2.1 10")
        #expect(try reply("1.2.0.192.in-addr.arpa", .ptr, resolver) == "PTR a.example 10")
        #expect(try reply("2.2.0.192.in-addr.arpa", .ptr, resolver) == "PTR a.example 10")
        func origin(_ text: String) throws -> LocalOrigin? {
            let question = Question(try name(text), .a)
            return resolver.routing.routed(question, now: now).localOrigin
        }
        #expect(try origin("second") == .hosts(FilePlace(path: "/h1", line: 2)))
        #expect(try origin("first") == .hosts(FilePlace(path: "/h0", line: 1)))
        #expect(try origin("a.example") == .hosts(FilePlace(path: "/h0", line: 1)))
        #expect(try origin("b.example") == nil)
    }

    // MARK: leases

    @Test("a client's name is answered in the zone and alone, until its lease ends")
    func leases() throws {
        let resolver = try resolver(
            leases: lease("tv", "192.168.7.20", until: 10_005) + lease("TV", "fd00:7::20", until: 10_060)
                + lease("nas", "192.168.7.21", until: nil) + lease("old", "192.168.7.22", until: 10_000))
        for name in ["tv.lan", "tv", "Tv.LAN"] {
            #expect(try reply(name, .a, resolver) == "192.168.7.20 5")
            #expect(try reply(name, .aaaa, resolver) == "fd00:7::20 5")
            #expect(try reply(name, .https, resolver) == "NODATA")
            #expect(try reply(name, .aaaa, resolver, after: .seconds(10)) == "fd00:7::20 10")
            #expect(try reply(name, .a, resolver, after: .seconds(10)) == "NODATA")
        }
        #expect(try reply("20.7.168.192.in-addr.arpa", .ptr, resolver) == "PTR tv.lan 5")
        #expect(try reply("20.7.168.192.in-addr.arpa", .ptr, resolver, after: .milliseconds(4500)) == "system")
        let six = try #require(Address("fd00:7::20")).reverseName.description
        #expect(try reply(six, .ptr, resolver) == "PTR TV.lan 10")
        #expect(try reply("tv.lan", .a, resolver, after: .seconds(60)) == "NXDOMAIN")
        #expect(try reply("tv.lan", .mx, resolver) == "NODATA")
        #expect(try reply("tv", .mx, resolver) == "system")
        #expect(try reply("nas.lan", .a, resolver, after: .seconds(1_000_000)) == "192.168.7.21 10")
        #expect(try reply("old.lan", .a, resolver) == "NXDOMAIN")
        #expect(try reply("x.tv.lan", .a, resolver) == "NXDOMAIN")
        let question = Question(try name("tv.lan"), .aaaa)
        let origin = LocalOrigin.lease(FilePlace(path: "/leases", line: 1), endsAt: now + .seconds(5))
        #expect(resolver.routing.routed(question, now: now).localOrigin == origin)
    }

    @Test("without a local zone a client has its label alone")
    func leasesWithoutZone() throws {
        let resolver = try resolver(zones: [], leases: lease("tv", "192.168.7.20"))
        #expect(try reply("tv", .a, resolver) == "192.168.7.20 10")
        #expect(try reply("20.7.168.192.in-addr.arpa", .ptr, resolver) == "PTR tv 10")
        #expect(try reply("tv.lan", .a, resolver) == "provider")
        #expect(try reply("tv", .ns, resolver) == "system")
    }

    @Test("a client takes no name outside the zone, and none that hosts files or rules have")
    func hostileClients() throws {
        let names = ["www.bank.example", "bank", "nas", "lan", "corp", "ads", "example", "localhost", "why"]
        let leases = names.enumerated().map { lease($0.element, "192.168.7.\(100 + $0.offset)") }.joined()
        let resolver = try resolver(
            hosts: ["192.168.7.2 nas.lan\nfd00:7::5 bank"], leases: leases,
            rules: [rule("corp", to: .nameserver(corp)), rule("ads.lan", .noData(.blockedByRule))])
        #expect(try reply("www.bank.example", .a, resolver) == "provider")
        #expect(try reply("bank.example", .a, resolver) == "provider")
        #expect(try reply("nas.lan", .a, resolver) == "192.168.7.2 10")
        #expect(try reply("nas", .a, resolver) == "system", "the hosts file has nas.lan")
        #expect(try reply("bank", .a, resolver) == "NODATA", "the hosts file has it with IPv6 alone")
        #expect(try reply("bank.lan", .a, resolver) == "NXDOMAIN")
        #expect(try reply("102.7.168.192.in-addr.arpa", .ptr, resolver) == "system")
        #expect(try reply("lan", .a, resolver) == "NODATA")
        #expect(try reply("corp", .a, resolver) == "corp")
        #expect(try reply("ads.lan", .a, resolver) == "NODATA")
        #expect(try reply("localhost", .a, resolver) == "127.0.0.1 10800")
        #expect(try reply("why.httpdnsd", .a, resolver) == "NODATA")
        #expect(try reply("www.lan", .a, resolver) == "192.168.7.100 10", "its label, as with dnsmasq")
    }

    @Test("an address belongs to its last lease, and clients with one name share it, up to a bound")
    func sharedNames() throws {
        let many = (0..<40).map { lease("many", "192.168.8.\($0)") }.joined()
        let resolver = try resolver(
            leases: lease("a", "192.168.7.20") + lease("b", "192.168.7.20") + lease("tv", "192.168.7.21")
                + lease("tv", "192.168.7.22") + many)
        #expect(try reply("a.lan", .a, resolver) == "NXDOMAIN")
        #expect(try reply("b.lan", .a, resolver) == "192.168.7.20 10")
        #expect(try reply("20.7.168.192.in-addr.arpa", .ptr, resolver) == "PTR b.lan 10")
        #expect(try reply("tv.lan", .a, resolver) == "192.168.7.21 192.168.7.22 10")
        #expect(try reply("many.lan", .a, resolver).split(separator: " ").count == 17)
    }

    @Test("of many addresses of one client, the latest in the file are kept")
    func latestAddresses() throws {
        let many = (1...20).map { lease("tv", "192.168.7.\($0)") }.joined()
        let expected = (5...20).map { "192.168.7.\($0)" }.joined(separator: " ")
        #expect(try reply("tv.lan", .a, resolver(leases: many)) == expected + " 10")
    }

    @Test("a lease is new if there was none, or one that had ended")
    func newNames() throws {
        func table(_ text: String) throws -> LeaseTable {
            LeaseTable(try #require(LeaseFile(parsing: Array(text.utf8))), path: "/leases")
        }
        let before = try table(lease("tv", "192.168.7.1", until: 100) + lease("nas", "192.168.7.2", until: 300))
        let after = try table(lease("tv", "192.168.7.1", until: 400) + lease("nas", "192.168.7.2", until: 400))
        #expect(after.names(missingIn: before, at: Int64(start) + 50).isEmpty)
        let later = Int64(start) + 200
        #expect(
            after.names(missingIn: before, at: later) == [try name("tv"), try name("1.7.168.192.in-addr.arpa")])
        #expect(after.names(missingIn: nil, at: later).count == 4)
        let leases = Leases([before], epoch: now - .seconds(later))
        #expect(leases.namesWithoutLease(now: now) == [try name("tv"), try name("1.7.168.192.in-addr.arpa")])
    }

    @Test("rules of an equal name, and lists, do not answer names of a local zone; rules of longer names do")
    func rulesInZone() throws {
        var builder = NameList.Builder()
        builder.add(try name("ads.lan").digest, .tree, line: 1)
        var list = Rule(match: [])
        list.lists = [RuleList(path: "/l", names: NameList(builder))]
        list.answer = .noData(.blockedByRule)
        let hosts = "192.168.7.2 nas.lan\n192.168.7.3 x.ads.lan"
        let rules = try [rule("lan", .refused(.blockedByRule)), rule("tv.lan", .noData(.blockedByRule)), list]
        let resolver = try resolver(hosts: [hosts], rules: rules)
        #expect(try reply("nas.lan", .a, resolver) == "192.168.7.2 10")
        #expect(try reply("lan", .a, resolver) == "NODATA")
        #expect(try reply("missing.lan", .a, resolver) == "NXDOMAIN")
        #expect(try reply("y.ads.lan", .a, resolver) == "NXDOMAIN")
        #expect(try reply("x.tv.lan", .a, resolver) == "NODATA")
    }

    @Test("the address of a client has its name in the first zone that is no reverse zone, unless a rule has the name")
    func pointers() throws {
        let leases = lease("tv", "192.168.7.20") + lease("ads", "192.168.7.21")
        let resolver = try resolver(
            zones: ["168.192.in-addr.arpa", "lan"], leases: leases,
            rules: [rule("ads.lan", to: .nameserver(corp))])
        #expect(try reply("20.7.168.192.in-addr.arpa", .ptr, resolver) == "PTR tv.lan 10")
        #expect(try reply("21.7.168.192.in-addr.arpa", .ptr, resolver) == "NXDOMAIN")
    }

    @Test("the wall clock may be set: leases end by it")
    func wallClock() throws {
        var (resolver, actions) = (try resolver(leases: lease("tv", "192.168.7.20")), [Action]())
        #expect(try reply("tv.lan", .a, resolver) == "192.168.7.20 10")
        let file = try #require(LeaseFile(parsing: Array(lease("tv", "192.168.7.20").utf8)))
        let later = Leases([LeaseTable(file, path: "/leases")], epoch: epoch - .seconds(100))
        resolver.handle(.leasesChanged(later, new: []), now: now, actions: &actions)
        #expect(try reply("tv.lan", .a, resolver) == "NXDOMAIN")
    }

    @Test("a lookup under way for a name that a lease then has is not cached")
    func newLease() throws {
        var (resolver, actions) = (try resolver(zones: []), [Action]())
        resolver.handle(
            .asked(Question(try name("tv"), .a), Waiter(1)), now: now, actions: &actions)
        #expect(!resolver.lookups.contains { $0?.isObsolete == true })
        let file = try #require(LeaseFile(parsing: Array(lease("tv", "192.168.7.20").utf8)))
        let table = LeaseTable(file, path: "/leases")
        resolver.handle(
            .leasesChanged(Leases([table], epoch: epoch), new: table.names(missingIn: nil, at: 0)), now: now,
            actions: &actions)
        #expect(!resolver.lookups.contains { $0?.isObsolete == false })
    }
}
