// The domains of links: the link that answers for a name, and the state that remains after its end.

import DNSWire
import Testing

@testable import Resolver

@Suite struct LinkDomainsTests {
    private func link(
        _ interface: String, _ domains: String..., isTunnel: Bool = false, hasDefaultRoute: Bool = false,
        server: String = "10.8.0.1"
    ) -> AnnouncingLink {
        AnnouncingLink(
            interface: interface, servers: [Nameserver(Address(server)!, interface: interface)],
            domains: domains.map { Name($0)! }, isTunnel: isTunnel, hasDefaultRoute: hasDefaultRoute)
    }

    private func owner(_ name: String, _ domains: LinkDomains) -> String? {
        let routes = LinkRoutes(domains) { $0 == "tun0" ? NameserverID(1) : NameserverID(2) }
        return routes.owner(of: Name(name)!).map { found in
            "\(found.owner.link) \(found.domain)\(found.owner.nameserver == nil ? " ended" : "")"
        }
    }

    @Test("the longest domain counts, and the root and unrelated names have no link") func longest() {
        var domains = LinkDomains()
        domains.set([link("tun0", "corp.example"), link("tun1", "dept.corp.example")])
        #expect(owner("corp.example", domains) == "tun0 corp.example")
        #expect(owner("a.b.dept.corp.example", domains) == "tun1 dept.corp.example")
        #expect(owner("notcorp.example", domains) == nil)
        #expect(owner(".", domains) == nil)
    }

    @Test("a tunnel precedes the network below it for the same domain") func precedence() {
        var domains = LinkDomains()
        domains.set([link("eth0", "corp.example", hasDefaultRoute: true), link("tun0", "corp.example", isTunnel: true)])
        #expect(owner("www.corp.example", domains) == "tun0 corp.example")
    }

    @Test("a domain stays with a tunnel that has ended, until another tunnel announces it or the operator forgets it")
    func ended() {
        var domains = LinkDomains()
        for hasDefaultRoute in [false, true] {
            domains.set([link("tun0", "corp.example", isTunnel: true, hasDefaultRoute: hasDefaultRoute)])
            domains.set([])
            #expect(owner("www.corp.example", domains) == "tun0 corp.example ended")
        }
        for other in [link("eth1", "corp.example"), link("eth1", "corp.example", hasDefaultRoute: true)] {
            domains.set([other])
            #expect(owner("www.corp.example", domains) == "tun0 corp.example ended", "a network is not trusted as much")
        }
        domains.set([link("tun1", "corp.example", isTunnel: true)])
        #expect(owner("www.corp.example", domains) == "tun1 corp.example")
        #expect(domains.ended.isEmpty)
        domains.set([link("tun1", "other.example", isTunnel: true)])
        #expect(owner("www.corp.example", domains) == "tun1 corp.example ended", "withdrawn by a link that stays")
        domains.forgetEnded()
        #expect(owner("www.corp.example", domains) == nil)
    }

    @Test("the domains of an uplink end with it, also if its default route goes first") func uplink() {
        var domains = LinkDomains()
        domains.set([link("eth0", "office.example", hasDefaultRoute: true)])
        domains.set([link("eth0", "office.example", hasDefaultRoute: false)])
        domains.set([])
        #expect(owner("www.office.example", domains) == nil)
    }

    @Test("a network takes no name from a tunnel by a longer domain, present or ended") func longerDomain() {
        var domains = LinkDomains()
        let hostile = link("wlan0", "vpn.corp.example", "example", "other.example", hasDefaultRoute: true)
        for links in [[hostile, link("tun0", "corp.example", isTunnel: true)], [hostile]] {
            domains.set(links)
            let end = links.count == 1 ? " ended" : ""
            #expect(owner("a.vpn.corp.example", domains) == "tun0 corp.example\(end)")
            #expect(owner("b.other.example", domains) == "wlan0 other.example")
            #expect(owner("c.example", domains) == "wlan0 example")
        }
        let routes = LinkRoutes(domains) { _ in NameserverID(1) }
        #expect(routes.ignored(of: hostile) == [Name("vpn.corp.example")!])
    }

    @Test("a public suffix belongs to no link; a network's own names do") func publicSuffixes() {
        var domains = LinkDomains()
        domains.set([link("tun0", "com", "co.uk", "in-addr.arpa", "lan", "home.arpa", "10.in-addr.arpa")])
        for name in ["www.bank.com", "a.co.uk", "8.8.8.8.in-addr.arpa"] { #expect(owner(name, domains) == nil) }
        #expect(owner("nas.lan", domains) == "tun0 lan")
        #expect(owner("nas.home.arpa", domains) == "tun0 home.arpa")
        #expect(owner("7.0.8.10.in-addr.arpa", domains) == "tun0 10.in-addr.arpa")
        domains.set([])
        #expect(owner("www.bank.com", domains) == nil)
    }

    @Test("a link whose default route comes after its domains keeps them") func lateRoute() {
        var domains = LinkDomains()
        domains.set([link("eth0", "office.example")])
        domains.set([link("eth0", "office.example", hasDefaultRoute: true)])
        #expect(owner("www.office.example", domains) == "eth0 office.example")
        domains.set([])
        #expect(owner("www.office.example", domains) == nil, "an uplink by now")
    }

    @Test("ended links have a bound, and the oldest of the least trusted goes first") func bound() {
        var domains = LinkDomains()
        domains.set([link("tun0", "corp.example", isTunnel: true)])
        for number in 0...LinkDomains.maxEnded {
            domains.set([link("eth1", "d\(number).example")])
        }
        domains.set([])
        #expect(domains.ended.count == LinkDomains.maxEnded)
        #expect(owner("corp.example", domains) == "tun0 corp.example ended")
        #expect(owner("d0.example", domains) == nil)
        #expect(owner("d\(LinkDomains.maxEnded).example", domains) != nil)
    }

    @Test("servers of links without a default route are not for other names, unless an uplink has them, too")
    func aside() {
        var domains = LinkDomains()
        domains.set([
            link("tun0", "corp.example"), link("tun1", "x.example", server: "10.9.0.1"),
            link("eth0", "lan", hasDefaultRoute: true, server: "10.9.0.1"),
        ])
        #expect(domains.serversAside == [Address("10.8.0.1")!])
    }

    @Test("a change of links touches the answers of its domains alone") func differing() {
        var domains = LinkDomains()
        var (old, new) = (Policy(), Policy())
        var rule = Rule(match: [Name("example")!])
        rule.upstreams = .link
        old.rules = RuleTable([rule])
        new.rules = old.rules
        domains.set([link("tun0", "corp.example"), link("tun1", "dept.example")])
        old.links = LinkRoutes(domains) { $0 == "tun0" ? NameserverID(1) : NameserverID(2) }
        domains.set([link("tun1", "dept.example")])
        new.links = LinkRoutes(domains) { _ in NameserverID(2) }
        #expect(
            new.answersDiffering(from: old) == [QuestionScope(Name("corp.example")!, includesDescendants: true)])
        #expect(new.mayDiffer(from: old, for: Name("www.corp.example")!))
        #expect(!new.mayDiffer(from: old, for: Name("www.dept.example")!))
        #expect(new.upstreams(for: Name("www.corp.example")!) == .link)
        #expect(new.upstreams(for: Name("www.dept.example")!) == .nameserver(NameserverID(2)))
    }
}
