// Lists of providers' addresses: the times of their requests, and the choice of a list.

import Control
import DNSWire
import HTTPClient
import HTTPDNS
import LinuxIO
import Resolver
import Settings
import Testing

@testable import Daemon
@testable import Upstreams

struct AddressListsTests {
    private let stand: ResolvingStand
    private let now = Clock.now()
    private let note = "nodes of ali"
    private let scope = "alicloud/139450/global/http://192.0.2.1:80/public"
    private let inAnHour = Clock.wallMilliseconds() + 3_600_000

    init() throws {
        stand = try ResolvingStand()
    }

    private func providers(region: String = "global", at host: String = "192.0.2.1") throws -> [Settings.Provider] {
        let text = """
            [[provider]]
            name = "ali"
            dialect = "alicloud"
            url = "http://\(host)/"
            account = "139450"
            region = "\(region)"
            """
        return try Settings.parse(bytes: Array(text.utf8), file: "test").providers
    }

    /// A provider whose answers carry its list.
    private func baidu() throws -> [Settings.Provider] {
        let text = """
            [[provider]]
            name = "baidu"
            dialect = "baidu"
            url = "http://192.0.2.1/"
            account = "1"
            key-file = "/k"
            service-nodes = true
            """
        return try Settings.parse(bytes: Array(text.utf8), file: "test").providers
    }

    private var dialled: [String] {
        stand.resolving.upstreams.providers.providers.flatMap { $0.endpoints.map(\.address) }
    }

    @Test("without a store a list is asked for at once; nothing else would tell what is kept")
    func memoryOnly() throws {
        let lists = stand.resolving.upstreams.lists
        try stand.setProviders(providers(), now: now)
        lists.begin(now: now)
        #expect(lists.nextDeadline == now)
    }

    @Test("while no provider is to be asked, none is asked for its list either")
    func paused() throws {
        let lists = stand.resolving.upstreams.lists
        try stand.setProviders(providers(), now: now)
        lists.begin(now: now)
        lists.isPaused = true
        #expect(lists.nextDeadline == nil)
        lists.timePassed(now: now)
        lists.isPaused = false
        #expect(lists.nextDeadline == now)
    }

    @Test("a kept list is used and not asked for again, until the provider's name is given to another region")
    func kept() throws {
        let lists = stand.resolving.upstreams.lists
        try stand.setProviders(providers(region: "cn"), now: now)
        lists.begin([note: "\(inAnHour) alicloud/139450/cn/http://192.0.2.1:80/public 203.0.113.1"], now: now)
        #expect(dialled == ["203.0.113.1", "192.0.2.1"], "the settings' address stands behind the list")
        #expect(try #require(lists.nextDeadline) > now + .seconds(3500))
        try stand.setProviders(providers(region: "sg"), now: now)
        lists.begin(now: now)
        #expect(dialled == ["192.0.2.1"])
        #expect(lists.nextDeadline == now)
    }

    @Test(
        "a kept list of another service or of a private network is not used",
        arguments: [
            "alicloud/139450/global/http://192.0.2.9:80/public", "alicloud/139450/global/https://192.0.2.1:443/public",
            "alicloud/139450/global/http://192.0.2.1:80/private", "alicloud/139450/global", "-",
        ])
    func keptForAnother(scope: String) throws {
        let lists = stand.resolving.upstreams.lists
        try stand.setProviders(providers(), now: now)
        lists.begin([note: "\(inAnHour) \(scope) 203.0.113.1"], now: now)
        #expect(dialled == ["192.0.2.1"])
        #expect(lists.nextDeadline == now)
    }

    @Test("the first answer is read for its list: the store may be loaded later")
    func listsInAnswers() throws {
        try stand.setProviders(baidu(), now: now)
        #expect(stand.resolving.upstreams.providers.providers.map(\.wantsNodes) == [true])
        try stand.setProviders(providers(), now: now)
        #expect(
            stand.resolving.upstreams.providers.providers.map(\.wantsNodes) == [false], "this list has its own request")
    }

    @Test("a list that comes with answers is read again at the end of its time, from the first answer after that")
    func listsInLaterAnswers() throws {
        let lists = stand.resolving.upstreams.lists
        try stand.setProviders(baidu(), now: now)
        let scope = "baidu/1//http://192.0.2.1:80/public"
        lists.begin(["nodes of baidu": "\(inAnHour) \(scope) 203.0.113.1"], now: now)
        let provider = try #require(stand.resolving.upstreams.providers.providers.first)
        provider.wantsNodes = false
        let due = try #require(lists.nextDeadline)
        #expect(due > now + .seconds(3500))
        lists.timePassed(now: due)
        #expect(provider.wantsNodes && lists.nextDeadline == nil, "no request is sent, so nothing is due")
        lists.cameWithAnswer(HTTPReply(body: Array("{}".utf8)), of: provider.id, now: due)
        let second = try #require(lists.nextDeadline)
        #expect(second > due, "a reply without a list is no reason to read each reply")
        lists.timePassed(now: second)
        let reply = HTTPReply(body: Array(#"{"serverip": {"ipv4": ["203.0.113.7"]}}"#.utf8))
        lists.cameWithAnswer(reply, of: provider.id, now: second)
        #expect(dialled == ["203.0.113.7", "192.0.2.1"])
    }

    @Test("a kept list that asks not to be used holds for a provider that is new, until the list's time ends")
    func disabled() throws {
        let lists = stand.resolving.upstreams.lists
        try stand.setProviders(providers(), now: now)
        lists.begin([note: "\(inAnHour - 3_540_000) \(scope) disable"], now: now)
        let provider = try #require(stand.resolving.upstreams.providers.providers.first)
        stand.carryOut(now: now)
        #expect(stand.resolving.state(of: provider, now: now) == .throttled)
        #expect(stand.resolving.state(of: provider, now: now + .seconds(61)) == .unmeasured)
    }

    @Test("a list that allows the use again ends the pause")
    func enabledAgain() throws {
        let reply = "HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n{\"service_ip\":[\"203.0.113.1\"]}"
        let server = try ProbedServer(.answers(Array(reply.utf8)), stand.resolving.loop)
        let host = "127.0.0.1:\(server.port)"
        let lists = stand.resolving.upstreams.lists
        try stand.setProviders(providers(at: host), now: now)
        let scope = "alicloud/139450/global/http://\(host)/private"
        lists.begin([note: "\(inAnHour) \(scope) disable"], now: now)
        let provider = try #require(stand.resolving.upstreams.providers.providers.first)
        stand.carryOut(now: now)
        #expect(stand.resolving.state(of: provider, now: now) == .throttled)
        lists.networkChanged(now: now)
        lists.timePassed(now: now)
        let deadline = Clock.now() + .seconds(20)
        while stand.resolving.state(of: provider, now: now) == .throttled, Clock.now() < deadline {
            try stand.resolving.loop.turn(until: Clock.now() + .milliseconds(5))
            stand.settle(now: now)
        }
        #expect(stand.resolving.state(of: provider, now: now) == .unmeasured)
        #expect(dialled == ["203.0.113.1", "127.0.0.1"])
    }

    // MARK: providers by host name

    private func byName(_ names: String...) throws -> [Settings.Provider] {
        let text = names.map { name in
            """
            [[provider]]
            name = "\(name)"
            dialect = "doh"
            url = "https://dns.example/\(name)"

            """
        }
        return try Settings.parse(bytes: Array(text.joined().utf8), file: "test").providers
    }

    @Test("a provider without an address is unresolved and not asked, and its host name is asked for at once")
    func unresolved() throws {
        let lists = stand.resolving.upstreams.lists
        try stand.setProviders(byName("a", "b"), now: now)
        lists.begin(now: now)
        #expect(lists.nextDeadline == now)
        let providers = stand.resolving.upstreams.providers
        #expect(providers.providers.allSatisfy { stand.resolving.state(of: $0, now: now) == .unresolved })
        #expect(providers.unreachable == Set(providers.providers.map { .provider($0.id) }))
        // There are neither nameservers nor other providers. The daemon logs that once and tries again.
        lists.timePassed(now: now)
        let waiting = "waits for an address: neither nameservers nor other providers have one for dns.example"
        #expect(stand.logged().map(\.line.text) == ["provider a \(waiting)", "provider b \(waiting)"])
        #expect(try #require(lists.nextDeadline) > now)
    }

    @Test("kept addresses of a host name are used by every provider with this name, for the certificate of the name")
    func keptAddresses() throws {
        let lists = stand.resolving.upstreams.lists
        try stand.setProviders(byName("a", "b"), now: now)
        lists.begin(["addresses of dns.example": "\(inAnHour) - 203.0.113.1 2001:db8::1"], now: now)
        #expect(dialled == ["203.0.113.1", "2001:db8::1", "203.0.113.1", "2001:db8::1"])
        let providers = stand.resolving.upstreams.providers
        #expect(providers.providers.allSatisfy { $0.endpoints.allSatisfy { $0.host == "dns.example" } })
        #expect(providers.unreachable.isEmpty)
        #expect(stand.logged().count == 2)
        #expect(try #require(lists.nextDeadline) > now + .seconds(3500))
        lists.networkChanged(now: now)
        #expect(lists.nextDeadline == now, "another network, and the addresses are used until there are others")
        #expect(dialled.count == 4)
        try stand.setProviders(byName("b", "c"), now: now)
        lists.begin(now: now)
        #expect(dialled.count == 4)
    }

    @Test("a kept list of names is used as soon as their addresses are known, each with its own certificate")
    func namesInLists() throws {
        let lists = stand.resolving.upstreams.lists
        try stand.setProviders(volcengine(), now: now)
        lists.begin(
            [
                "nodes of volc":
                    "\(inAnHour) volcengine/1023//https://httpdns.example:443/public node.example:8443 203.0.113.9",
                "addresses of node.example": "\(inAnHour) - 203.0.113.1",
                "addresses of httpdns.example": "\(inAnHour) - 203.0.113.2",
            ], now: now)
        let endpoints = try #require(stand.resolving.upstreams.providers.providers.first).endpoints
        #expect(
            endpoints.map { "\($0.address):\($0.port) \($0.host)" } == [
                "203.0.113.1:8443 node.example", "203.0.113.9:443 httpdns.example", "203.0.113.2:443 httpdns.example",
            ])
    }

    private func volcengine(addresses: String = "") throws -> [Settings.Provider] {
        let text = """
            [[provider]]
            name = "volc"
            dialect = "volcengine"
            url = "https://httpdns.example/resolve"
            account = "1023"
            key-file = "/k"
            service-nodes = true
            \(addresses)
            """
        return try Settings.parse(bytes: Array(text.utf8), file: "test").providers
    }

    @Test("a name in a vendor's list leads to no private address, unless the service is in a private network")
    func privateAddressesOfNames() throws {
        let lists = stand.resolving.upstreams.lists
        let service = "https://httpdns.example:443"
        let addresses = "\(inAnHour) - 127.0.0.1 10.0.0.7 fd00::7 203.0.113.1"
        for (own, network, expected) in [
            ("192.0.2.1", "public", ["203.0.113.1", "192.0.2.1"]),
            ("10.0.0.1", "private", ["127.0.0.1", "10.0.0.7", "fd00::7", "203.0.113.1", "10.0.0.1"]),
        ] {
            try stand.setProviders(volcengine(addresses: "addresses = [\"\(own)\"]"), now: now)
            lists.begin(
                [
                    "nodes of volc": "\(inAnHour) volcengine/1023//\(service)/\(network) node.example",
                    "addresses of node.example": addresses,
                ], now: now)
            #expect(dialled == expected)
        }
    }

    @Test("the addresses of a host name from the settings may be private")
    func privateAddressesOfHostName() throws {
        let lists = stand.resolving.upstreams.lists
        try stand.setProviders(byName("a"), now: now)
        lists.begin(["addresses of dns.example": "\(inAnHour) - 10.0.0.7"], now: now)
        #expect(dialled == ["10.0.0.7"])
    }

    @Test("notes of lists that no provider has any more are forgotten, and those of other parts stay")
    func formerNotes() throws {
        let lists = stand.resolving.upstreams.lists
        try stand.setProviders(byName("a"), now: now)
        lists.begin(
            [
                "addresses of dns.example": "\(inAnHour) - 203.0.113.1", "nodes of gone": "1 - disable",
                "addresses of gone.example": "\(inAnHour) - 203.0.113.2", "billed by a": "x",
            ], now: now)
        #expect(lists.notes.map { Array($0.keys) } == ["addresses of dns.example"])
        try stand.setProviders(providers(), now: now)
        lists.begin(now: now)
        #expect(lists.notes == [:])
    }

    @Test(
        "a kept text that nothing was written as is left out",
        arguments: [
            "", "x", "1 -", "1 - x y", "9223372036854775807 - <html>", "-9223372036854775808 - 203.0.113.1",
        ])
    func wrongNotes(text: String) throws {
        let lists = stand.resolving.upstreams.lists
        try stand.setProviders(byName("a"), now: now)
        lists.begin(["addresses of dns.example": text], now: now)
        #expect(dialled == (text.hasSuffix("203.0.113.1") ? ["203.0.113.1"] : []))
        #expect(lists.nextDeadline == now)
    }
}
