// The announcements of links in the formats of the reporting programs.

import DNSWire
import LinkDNS
import Testing

@Suite struct LinkReportTests {
    private let tunnel = LinkReport(
        interface: "tun0", servers: [.init(Address("10.8.0.1")!)],
        domains: [Name("corp.example")!, Name("10.in-addr.arpa")!])

    private func joined(_ reports: [LinkReport]) -> [LinkReport] {
        LinkReport.joined(reports) { $0.hasPrefix("tun") }
    }

    private func entry(_ key: String, _ value: BusValue) -> BusValue { .list([.text(key), value]) }

    private func texts(_ texts: String...) -> BusValue { .list(texts.map(BusValue.text)) }

    @Test("NetworkManager names servers and domains, with ~ before those for routing alone") func ofNetworkManager() {
        let value = BusValue.list([
            .list([
                entry("nameservers", texts("10.8.0.1", "dns+tls://192.0.2.1", "127.0.0.1", "10.8.0.1")),
                entry("domains", texts("~Corp.Example", "10.in-addr.arpa", "~.", "a..b")),
                entry("interface", .text("tun0")), entry("priority", .integer(50)), entry("vpn", .integer(1)),
            ]),
            .list([entry("nameservers", texts("192.0.2.53"))]),
        ])
        #expect(LinkReport.reports(networkManager: value) == [tunnel.of(.vpn)])
        #expect(LinkReport.reports(networkManager: .text("?")) == [])
    }

    @Test("systemd-resolved names them by the index of the link; 0 is no link") func ofResolved() {
        func server(_ link: Int64, _ bytes: [Int64], port: Int64) -> BusValue {
            .list([.integer(link), .integer(2), .list(bytes.map(BusValue.integer)), .integer(port), .text("")])
        }
        let servers = BusValue.list([
            server(0, [192, 0, 2, 1], port: 0), server(7, [10, 8, 0, 1], port: 0),
            server(8, [10, 9, 0, 1], port: 5353),
            server(7, [1, 2, 3], port: 0), server(9, [10, 0, 0, 1], port: 0), .list([.integer(7)]),
        ])
        let domains = BusValue.list([
            .list([.integer(7), .text("corp.example"), .integer(1)]),
            .list([.integer(7), .text("10.in-addr.arpa"), .integer(0)]),
            .list([.integer(8), .text("."), .integer(1)]),
        ])
        let reports = LinkReport.reports(resolvedServers: servers, domains: domains) { [7: "tun0", 8: "tun1"][$0] }
        let other = LinkReport(interface: "tun1", servers: [.init(Address("10.9.0.1")!, port: 5353)], domains: [])
        #expect(reports == [tunnel, other])
        #expect(joined(reports) == [tunnel], "a link without domains answers for no name")
    }

    @Test("systemd-networkd writes them into a file") func ofNetworkd() {
        let text = """
            # This is private data. Do not parse.
            OPER_STATE=routable
            DNS=10.8.0.1 [2001:db8::53]:5353 fe80::1%3#dns.example nonsense
            DOMAINS=corp.example
            ROUTE_DOMAINS=10.in-addr.arpa ~. .
            DNS
            """
        let report = LinkReport(networkd: Array(text.utf8), interface: "tun0")
        #expect(report.domains == tunnel.domains)
        #expect(
            report.servers == [
                .init(Address("10.8.0.1")!), .init(Address("2001:db8::53")!, port: 5353), .init(Address("fe80::1")!),
            ])
    }

    @Test("servers of systemd-networkd that must be asked over TLS are left out") func tlsOfNetworkd() {
        for (mode, count) in [("yes", 0), ("opportunistic", 1), ("no", 1)] {
            let text = "DNS=10.8.0.1\nDOMAINS=corp.example\nDNS_OVER_TLS=\(mode)\n"
            #expect(LinkReport(networkd: Array(text.utf8), interface: "tun0").servers.count == count)
        }
    }

    @Test("a VPN over the interface of a network is a link of its own, without the servers of that network")
    func sharedInterface() {
        let below = LinkReport(interface: "wlan0", servers: [.init(Address("192.0.2.53")!)], domains: [Name("lan")!])
        let vpn = LinkReport(interface: "wlan0", servers: tunnel.servers, domains: tunnel.domains)
        let mixed = LinkReport(
            interface: "wlan0", servers: vpn.servers + below.servers, domains: vpn.domains + below.domains)
        #expect(joined([below.of(.ordinary), vpn.of(.vpn), mixed]) == [below.of(.ordinary), vpn.of(.vpn)])
        #expect(joined([vpn.of(.vpn), mixed, below.of(.ordinary)]) == [vpn.of(.vpn), below.of(.ordinary)])
        #expect(joined([below.of(.ordinary), mixed]).count == 1, "without a VPN, programs add to each other")
        #expect(joined([tunnel.of(.vpn), tunnel]) == [tunnel.of(.vpn)], "an interface of its own")
    }

    @Test("reports of two programs for one link are one report") func joined() {
        let other = LinkReport(
            interface: "tun0", servers: [.init(Address("10.8.0.1")!), .init(Address("10.8.0.2")!)],
            domains: [Name("corp.example")!, Name("dept.example")!])
        let joined = joined([tunnel, other])
        #expect(joined.count == 1)
        #expect(joined[0].servers.map(\.address.description) == ["10.8.0.1", "10.8.0.2"])
        #expect(joined[0].domains.map(\.description) == ["corp.example", "10.in-addr.arpa", "dept.example"])
    }
}

extension LinkReport {
    fileprivate func of(_ connection: Connection) -> LinkReport {
        LinkReport(interface: interface, servers: servers, domains: domains, connection: connection)
    }
}
