// The file of the nameservers if resolv.conf names the daemon, on several kinds of machines.

import DNSWire
import Resolver
import TestSupport
import Testing

struct NameserverSourcesTests {
    private static let etc = "/etc/resolv.conf"
    private static let resolved = "/run/systemd/resolve/resolv.conf"
    private static let withoutStub = "/run/NetworkManager/no-stub-resolv.conf"
    private static let networkManager = "/run/NetworkManager/resolv.conf"
    private static let dhcpcd = "/run/dhcpcd/hook-state/resolv.conf/"
    private static let ours = "nameserver 127.0.0.1\nnameserver ::1\n"
    private static let stub = "nameserver 127.0.0.53\noptions edns0 trust-ad\nsearch .\n"

    private func sources(_ files: [String: String], configured: [Nameserver] = []) -> NameserverSources {
        let ourselves = ListenAddresses([(.v4(0x7F00_0001), 53), (.v6(high: 0, low: 1), 53)])
        return NameserverSources(
            configured: configured, resolvConf: NameserverSourcesTests.etc,
            contents: files.mapValues { Array($0.utf8) },
            without: ourselves)
    }

    private func servers(_ sources: NameserverSources) -> String {
        sources.list.servers.map(\.description).joined(separator: " ")
    }

    @Test("resolv.conf counts while it names another server, whatever other files contain")
    func resolvConfFirst() {
        let found = sources([
            Self.etc: "nameserver 127.0.0.1\nnameserver 192.0.2.1\n", Self.resolved: "nameserver 192.0.2.2\n",
        ])
        #expect(servers(found) == "192.0.2.1:53" && found.path == Self.etc)
    }

    @Test("a server on loopback other than the daemon is another server")
    func loopback() {
        let found = sources([Self.etc: "nameserver 127.0.0.2\n", Self.resolved: "nameserver 192.0.2.2\n"])
        #expect(servers(found) == "127.0.0.2:53" && found.path == Self.etc)
    }

    @Test(
        "if it names only the daemon, systemd-resolved's stub or no server, the first file with another server counts",
        arguments: [ours, stub, ours + stub, "nameserver 127.0.0.54\n", "", "search example.com\n"])
    func others(etc: String) {
        let rest = [
            Self.resolved: "nameserver 127.0.0.1\nnameserver 127.0.0.53\n",
            Self.withoutStub: "# made by NetworkManager\n", Self.networkManager: "nameserver 192.0.2.3\n",
            Self.dhcpcd: "nameserver 192.0.2.4\n",
        ]
        let found = sources(rest.merging([Self.etc: etc]) { $1 })
        #expect(servers(found) == "192.0.2.3:53" && found.path == Self.networkManager)
    }

    @Test("the files are asked in their order", arguments: NameserverSources.paths.indices)
    func order(first: Int) {
        let present = NameserverSources.paths.enumerated().dropFirst(first)
        var files = Dictionary(
            uniqueKeysWithValues: present.map { ($0.element, "nameserver 192.0.2.\($0.offset)\n") })
        files[Self.etc] = Self.ours
        let found = sources(files)
        #expect(servers(found) == "192.0.2.\(first):53" && found.path == NameserverSources.paths[first])
    }

    @Test("a copy's servers are taken without ourselves and without the stub, and it is said of both")
    func copies() {
        let found = sources([
            Self.etc: Self.stub, Self.resolved: "nameserver 127.0.0.1\nnameserver 127.0.0.53\nnameserver 192.0.2.2\n",
        ])
        #expect(servers(found) == "192.0.2.2:53" && found.path == Self.resolved)
        #expect(found.list.omitted.map(\.why) == [.ourselves, .resolvedStub])
    }

    @Test("the stub is used if no other server is named, and none if every server is the daemon itself")
    func lastResorts() {
        let stub = sources([Self.etc: Self.stub])
        #expect(servers(stub) == "127.0.0.53:53" && stub.path == Self.etc)
        let ours = sources([Self.etc: Self.ours, Self.resolved: Self.ours])
        #expect(servers(ours).isEmpty && ours.path == Self.etc)
        #expect(ours.list.omitted.map(\.why) == [.ourselves, .ourselves])
        let none = sources([:])
        #expect(servers(none).isEmpty && none.path == Self.etc)
    }

    @Test("servers of the settings count alone, and search domains come from the files all the same")
    func configured() {
        let found = sources(
            [Self.etc: "nameserver 192.0.2.1\nsearch office.example\n"], configured: [Nameserver(.v4(0xC000_0209))])
        #expect(servers(found) == "192.0.2.9:53" && found.path == nil)
        #expect(found.searchDomains == [Name("office.example")].compactMap { $0 })
    }

    @Test("search domains are those of the file that is used, or of resolv.conf")
    func searchDomains() throws {
        let office = try #require(Name("office.example"))
        let home = try #require(Name("home.example"))
        let both = sources([
            Self.etc: Self.ours + "search home.example\n",
            Self.resolved: "nameserver 192.0.2.2\nsearch Office.Example\n",
        ])
        #expect(both.searchDomains == [office])
        let one = sources([Self.etc: Self.ours + "search home.example\n", Self.resolved: "nameserver 192.0.2.2\n"])
        #expect(one.searchDomains == [home])
    }

    @Test("any bytes in any file are read without harm", arguments: 0..<30)
    func hostileBytes(seed: UInt64) {
        var randomness = SeededRandom(seed: seed)
        let parts = ["nameserver ", "search ", "domain ", "\n", "127.0.0.53", "::1", ".", "\u{0}", "é", "a.example"]
        var files: [String: String] = [:]
        for path in NameserverSources.paths + [Self.etc] {
            files[path] = (0..<200).map { _ in parts.randomElement(using: &randomness) ?? "" }.joined()
        }
        let found = sources(files)
        #expect(found.list.servers.count <= NameserverList.maxServers, "seed \(seed)")
        #expect(found.searchDomains.count <= ResolvConf.maxSearchDomains, "seed \(seed)")
    }
}

@Suite("Search domains of resolv.conf")
struct SearchDomainTests {
    private func domains(_ text: String) -> [String] {
        ResolvConf(Array(text.utf8)).searchDomains.map { "\($0)" }
    }

    private func names(_ texts: String...) -> [String] { texts.compactMap { Name($0) }.map { "\($0)" } }

    @Test("the last line counts, be it \"search\" or \"domain\"")
    func last() {
        #expect(domains("search a.example b.example\n") == names("a.example", "b.example"))
        #expect(domains("search a.example\ndomain b.example\n") == names("b.example"))
        #expect(domains("domain b.example c.example\nsearch a.example ; and no more\n") == names("a.example"))
        #expect(domains("search a.example\nsearch\n") == names("a.example"))
        #expect(domains("nameserver 192.0.2.1\n") == [])
    }

    @Test("capitals, repetitions, final dots, the root and what is no name make no difference")
    func spellings() {
        #expect(domains("search A.Example a.example. . a..b b.example\r\n") == names("a.example", "b.example"))
        #expect(domains("search .\n") == [])
    }

    @Test("more than 32 are not followed")
    func bound() {
        let all = (0..<100).map { "d\($0).example" }
        #expect(domains("search \(all.joined(separator: " "))\n").count == ResolvConf.maxSearchDomains)
        #expect(ResolvConf.maxSearchDomains == 32)
    }
}
