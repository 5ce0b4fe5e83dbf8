// Real-world resolv.conf files, and the servers in them that are the daemon itself.

import DNSWire
import Resolver
import TestSupport
import Testing

struct NameserverListTests {
    static let nowhere = ListenAddresses([])

    private func list(_ text: String, _ ourselves: ListenAddresses = nowhere) -> NameserverList {
        NameserverList(resolvConf: Array(text.utf8), without: ourselves)
    }

    private func address(_ text: String) throws -> Address { try #require(Address(text)) }

    @Test("nameserver lines count, all others are ignored")
    func lines() {
        let text = """
            # made by somebody
            ; and somebody else
            search example.com corp.example
            options edns0 trust-ad timeout:1
            nameserver 192.0.2.1
            nameserver\t 2001:db8::1   # the second
              nameserver 192.0.2.2 ; indented
            #nameserver 192.0.2.3
            nameservers 192.0.2.4
            nameserver
            """
        #expect(list(text).servers.map(\.description) == ["192.0.2.1:53", "[2001:db8::1]:53", "192.0.2.2:53"])
        #expect(list(text).unreadable.isEmpty)
    }

    @Test("a file with Windows line ends is read")
    func carriageReturns() {
        #expect(
            list("nameserver 192.0.2.1\r\nnameserver ::1\r\n").servers.map(\.description) == [
                "192.0.2.1:53", "[::1]:53",
            ])
    }

    @Test("a link-local server keeps its interface")
    func zone() {
        #expect(list("nameserver fe80::1%eth0").servers.map(\.description) == ["[fe80::1%eth0]:53"])
    }

    @Test("what is no address is told apart, and bounded")
    func unreadable() {
        let long = String(repeating: "x", count: 5000)
        let read = list("nameserver dns.example\nnameserver 192.0.2.1%eth0\nnameserver fe80::1%\nnameserver \(long)")
        #expect(read.servers.isEmpty)
        #expect(read.unreadable == ["dns.example", "192.0.2.1%eth0", "fe80::1%", String(long.prefix(64))])
        #expect(list(String(repeating: "nameserver x\n", count: 5000)).unreadable.count == NameserverList.maxServers)
    }

    @Test("repeated servers and those after the eighth are left out, and said to be")
    func bounds() throws {
        let text = "nameserver 192.0.2.1\n" + (1...10).map { "nameserver 192.0.2.\($0)\n" }.joined()
        let read = list(text)
        #expect(read.servers.count == 8)
        #expect(read.omitted.map(\.why) == [.repeated, .tooMany, .tooMany])
        #expect(read.omitted.first?.server == Nameserver(try address("192.0.2.1")))
    }

    @Test("our own address is left out, the same address at another port is not")
    func ourselves() throws {
        let text = "nameserver 127.0.0.1\nnameserver 127.0.0.53\nnameserver 192.0.2.1"
        let on53 = ListenAddresses([(try address("127.0.0.1"), 53)])
        #expect(list(text, on53).servers.map(\.description) == ["127.0.0.53:53", "192.0.2.1:53"])
        #expect(list(text, on53).omitted.map(\.why) == [.ourselves])
        #expect(list(text, ListenAddresses([(try address("127.0.0.1"), 5300)])).servers.count == 3)
    }

    @Test("a wildcard is all of loopback and every address of the machine, in its family")
    func wildcard() throws {
        let text = """
            nameserver 127.0.0.53
            nameserver 127.9.9.9
            nameserver 192.0.2.7
            nameserver 192.0.2.8
            nameserver ::1
            nameserver 2001:db8::7
            """
        let interfaces = [try address("192.0.2.7"), try address("2001:db8::7")]
        let v4 = ListenAddresses([(try address("0.0.0.0"), 53)], interfaces: interfaces)
        #expect(list(text, v4).servers.map(\.description) == ["192.0.2.8:53", "[::1]:53", "[2001:db8::7]:53"])
        let v6 = ListenAddresses([(try address("::"), 53)], interfaces: interfaces)
        #expect(list(text, v6).servers.count == 4)
    }

    @Test("other spellings of loopback are seen through", arguments: ["0.0.0.0", "::ffff:127.0.0.1"])
    func spellings(text: String) throws {
        let ourselves = ListenAddresses([(try address("127.0.0.1"), 53)])
        #expect(list("nameserver \(text)", ourselves).servers.isEmpty)
    }

    @Test("the unspecified address stands for loopback, as in glibc")
    func unspecified() {
        #expect(list("nameserver 0.0.0.0\nnameserver ::").servers.map(\.description) == ["127.0.0.1:53", "[::1]:53"])
    }

    @Test("any bytes are read without harm", arguments: 0..<50)
    func hostileBytes(seed: UInt64) {
        var randomness = SeededRandom(seed: seed)
        let parts = ["nameserver ", "\n", "127.0.0.1", "::", "%", "#", " ", "\u{0}", "é", "nameserver"]
        let text = (0..<200).map { _ in parts.randomElement(using: &randomness) ?? "" }.joined()
        #expect(list(text).servers.count <= NameserverList.maxServers, "seed \(seed)")
    }

    @Test("servers of the settings keep their port and pass the same rules")
    func configured() throws {
        let ourselves = ListenAddresses([(try address("127.0.0.1"), 5300)])
        let servers = [
            Nameserver(try address("127.0.0.1"), port: 5300), Nameserver(try address("127.0.0.1"), port: 5301),
        ]
        #expect(NameserverList(servers, without: ourselves).servers == [servers[1]])
    }
}
