// IPv4 addresses embedded in a NAT64 prefix, and the discovery of the prefix.

import DNSWire
import TestSupport
import Testing

@Suite("NAT64 prefixes")
struct NAT64PrefixTests {
    /// The vectors of RFC 6052 section 2.4, and the well-known prefix.
    private static let vectors = [
        ("2001:db8::/32", "2001:db8:c000:221::"), ("2001:db8:100::/40", "2001:db8:1c0:2:21::"),
        ("2001:db8:122::/48", "2001:db8:122:c000:2:2100::"), ("2001:db8:122:300::/56", "2001:db8:122:3c0:0:221::"),
        ("2001:db8:122:344::/64", "2001:db8:122:344:c0:2:2100::"),
        ("2001:db8:122:344::/96", "2001:db8:122:344::c000:221"),
    ]

    private func prefix(_ text: String) throws -> NAT64Prefix {
        try #require(Prefix(text).flatMap { NAT64Prefix($0) }, "\(text)")
    }

    private func address(_ text: String) throws -> Address { try #require(Address(text), "\(text)") }

    @Test("the examples of RFC 6052 come out, and lead back", arguments: vectors)
    func examples(prefixText: String, translated: String) throws {
        let prefix = try prefix(prefixText)
        let inner = try address("192.0.2.33")
        #expect(prefix.embed(inner) == (try address(translated)))
        #expect(prefix.extract(try address(translated)) == inner)
    }

    @Test("every address that is embedded is extracted again, and keeps bits 64 to 71 zero")
    func roundTrip() throws {
        var random = SeededRandom(seed: 6052)
        for length in NAT64Prefix.lengths {
            for _ in 0..<200 {
                let outer = Address.v6(high: random.next(), low: length == 96 ? random.next() >> 8 : 0)
                let prefix = try prefix("\(try #require(Prefix(cutting: "\(outer)/\(length)")))")
                let inner = Address.v4(UInt32(truncatingIfNeeded: random.next()))
                let embedded = try #require(prefix.embed(inner))
                #expect(prefix.extract(embedded) == inner, "\(prefix) \(inner)")
                #expect(embedded.bytes[8] == 0 && prefix.prefix.contains(embedded))
            }
        }
    }

    @Test("only the lengths of RFC 6052, without the bits 64 to 71, are prefixes")
    func shapes() throws {
        for text in ["2001:db8::/33", "::/0", "::/128", "10.0.0.0/8", "10.1.2.3/32", "64:ff9b:0:0:100::/96"] {
            #expect(NAT64Prefix(try #require(Prefix(text))) == nil, "\(text)")
        }
        #expect(NAT64Prefix.wellKnown.description == "64:ff9b::/96")
        #expect(try prefix("2001:db8::/32").extract(address("2001:db9:c000:221::")) == nil)
        #expect(try prefix("2001:db8:122:344::/64").extract(address("2001:db8:122:344:1c0:2:2100::")) == nil)
        #expect(try prefix("2001:db8::/32").embed(address("2001:db8::1")) == nil)
    }

    @Test("the well-known prefix carries hosts of the public Internet only")
    func wellKnown() throws {
        for text in ["10.0.0.1", "192.168.1.1", "127.0.0.1", "100.64.0.1", "169.254.1.1", "224.0.0.1", "0.0.0.0"] {
            #expect(NAT64Prefix.wellKnown.embed(try address(text)) == nil, "\(text)")
            #expect(try prefix("2001:db8::/96").embed(address(text)) != nil, "\(text)")
        }
        #expect(NAT64Prefix.wellKnown.embed(try address("8.8.8.8")) == (try address("64:ff9b::808:808")))
    }

    @Test("what a resolver says of ipv4only.arpa announces its prefix, whatever its length", arguments: vectors)
    func discovery(prefixText: String, _: String) throws {
        let prefix = try prefix(prefixText)
        let announced = try ["192.0.0.170", "192.0.0.171"].map { try #require(prefix.embed(address($0))) }
        #expect(NAT64Prefix.discovered(from: announced) == [prefix])
        #expect(NAT64Prefix.discovered(from: [announced[1]]) == [prefix])
    }

    @Test("several prefixes are all taken, in their order, and what announces none is left out")
    func several() throws {
        let texts = ["64:ff9b::c000:aa", "2001:db8:c000:ab::", "64:ff9b::c000:ab", "2001:db8::1", "192.0.0.170"]
        let found = NAT64Prefix.discovered(from: try texts.map(address))
        #expect(found.map(\.description) == ["64:ff9b::/96", "2001:db8::/32"])
    }

    @Test(
        "an address that could announce two prefixes announces none, and so does one with bits 64 to 71 set")
    func ambiguous() throws {
        for text in ["2001:db8:c000:aa:0:0:c000:aa", "2001:db8:c000:aa:100::", "2001:db8:c000:ac::", "c000:aa::"] {
            #expect(NAT64Prefix(announcedBy: try address(text)) == nil, "\(text)")
        }
    }
}
