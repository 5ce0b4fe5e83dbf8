// The list of clients that may ask.

import DNSWire
import Serving
import TestSupport
import Testing

struct AccessListTests {
    private func list(_ prefixes: String...) -> AccessList {
        AccessList(prefixes.compactMap { Prefix($0) })
    }

    @Test("an empty list allows no client")
    func empty() throws {
        #expect(!list().allows(try #require(Address("127.0.0.1"))))
    }

    @Test("the borders of a block are inside, their neighbours are not")
    func borders() throws {
        let access = list("10.0.0.0/8", "2001:db8::/32")
        for (text, isAllowed) in [
            ("10.0.0.0", true), ("10.255.255.255", true), ("9.255.255.255", false), ("11.0.0.0", false),
            ("2001:db8::", true), ("2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", true), ("2001:db9::", false),
            ("2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", false),
        ] {
            #expect(access.allows(try #require(Address(text))) == isAllowed, "\(text)")
        }
    }

    @Test("an IPv4 client of an IPv6 socket is judged as the IPv4 client it is")
    func mapped() throws {
        let client = try #require(Address("::ffff:10.1.2.3"))
        #expect(list("10.0.0.0/8").allows(client))
        #expect(!list("192.0.2.0/24").allows(client))
    }

    @Test("a block of all IPv4 addresses has no IPv6 address in it, and the other way round")
    func families() throws {
        #expect(!list("0.0.0.0/0").allows(try #require(Address("2001:db8::1"))))
        #expect(!list("2000::/3").allows(try #require(Address("192.0.2.1"))))
    }

    @Test("a client that is not on the list gets REFUSED with the reason, whatever is asked and cached")
    func refusal() throws {
        var stand = ServingStand(allow: [try #require(Prefix("10.0.0.0/8"))])
        let name = try #require(Name("www.example"))
        let address = try #require(Address("192.0.2.1"))
        stand.keep(
            Answer(records: [ResourceRecord(owner: name, address: address, ttlSeconds: 60)]), for: Question(name, .a))
        var packet = QueryPacket(name, .a, payloadSize: 1232)
        let stranger = try #require(Address("198.51.100.1"))
        let (outcome, reply) = stand.ask(packet.bytes, from: stranger)
        #expect(outcome == .refused(.refused))
        let message = try DecodedMessage(reply)
        #expect(message.responseCode == 5 && message.answers.isEmpty)
        // RFC 8914 section 4.19: Prohibited.
        #expect(
            message.optionRecord?.data[0...5] == [0, 15, 0, UInt8(message.optionRecord?.data.count ?? 0) - 4, 0, 18])
        packet.version = 1
        #expect(stand.ask(packet.bytes, from: stranger).outcome == .refused(.refused))
        #expect(stand.ask(packet.bytes, from: try #require(Address("10.0.0.1"))).outcome == .refused(.badVersion))
    }
}
