// Zone files for the lab: valid files, and the line of each error.

import DNSWire
import HTTPDNS
import Testing
import httpdns_lab

struct ZoneTests {
    static let text = """
        ; a comment; with "quotes"
        $ORIGIN example.
        $TTL 300
        @     60 IN SOA ns.example. admin 1 2 3 4 30
        www   A    192.0.2.1
              A    192.0.2.2
              AAAA 2001:db8::1 ; trailing
        a 9   CNAME b
        b 8   CNAME www
        loop  CNAME pool
        pool  CNAME loop
        out   CNAME elsewhere.test.
        gone  CNAME nowhere
        x.y.z TXT "semi;colon" "two"
        *.any A    192.0.2.9
        here.any AAAA 2001:db8::9
        sub   SOA  ns admin 1 2 3 4 5
        """

    private func verdict(_ name: String, _ type: RecordType = .a) throws -> Resolution {
        try ZoneParser.zone(from: ZoneTests.text, file: "test.zone").resolve(try question(name, type))
    }

    private func answer(_ name: String, _ type: RecordType = .a) throws -> Answer {
        guard case .answer(let answer) = try verdict(name, type) else {
            throw DialectError.unsupported
        }
        return answer
    }

    @Test("records of the name and type, with the default TTL, in the order of the file")
    func records() throws {
        #expect(
            try answer("WWW.Example")
                == Answer(records: [
                    try record("www.example", .a, 300, "192.0.2.1"), try record("www.example", .a, 300, "192.0.2.2"),
                ]))
        #expect(try answer("x.y.z.example", .txt).records.first?.data == Array("\u{0A}semi;colon\u{03}two".utf8))
    }

    @Test("aliases are followed to their end")
    func chain() throws {
        let answer = try answer("a.example", .aaaa)
        #expect(answer.records.map(\.type) == [.cname, .cname, .aaaa])
        #expect(answer.ttlSeconds == 8)
        #expect(try self.answer("a.example", .cname).records.count == 1)
    }

    @Test("absent names are NXDOMAIN, names without the type or with names below them are NODATA")
    func negatives() throws {
        #expect(try answer("nope.example").kind == .noSuchName)
        #expect(try answer("nope.www.example").kind == .noSuchName)
        #expect(try answer("www.example", .mx).kind == .noData)
        #expect(try answer("y.z.example").kind == .noData)
        #expect(try answer("example").kind == .noData)
        let gone = try answer("gone.example")
        #expect(gone.kind == .noSuchName && gone.records.count == 1)
        #expect(gone.ttlSeconds == 30)
        #expect(try answer("nope.sub.example").authority?.owner == (try name("sub.example")))
    }

    @Test("a wildcard answers for names that do not exist, and only for them")
    func wildcard() throws {
        #expect(try answer("q.w.any.example").records.first?.owner == (try name("q.w.any.example")))
        #expect(try answer("here.any.example").kind == .noData)
        #expect(try answer("x.any.example", .mx).kind == .noData)
    }

    @Test("names of other zones are refused; loops and aliases to other zones are failures")
    func refusals() throws {
        #expect(try verdict("www.test") == .refusal(.refused))
        #expect(try verdict("loop.example") == .refusal(.serverFailure))
        #expect(try verdict("out.example") == .refusal(.serverFailure))
    }

    @Test("replacing a set leaves other types, and an emptied name exists still")
    func replace() throws {
        var zone = try ZoneParser.zone(from: ZoneTests.text, file: "test.zone")
        zone.replace(try name("www.example"), .a, with: [])
        guard case .answer(let answer) = zone.resolve(try question("www.example")) else {
            throw DialectError.unsupported
        }
        #expect(answer.kind == .noData)
        #expect(zone.records(try name("www.example"), .aaaa).count == 1)
    }

    @Test(
        "a mistake is reported with file, line, finding and remedy",
        arguments: [
            ("www A 192.0.2.1", "test.zone:3: no TTL; write seconds before the type, or $TTL at the top"),
            (
                "www 60 A 192.0.2",
                "test.zone:3: \"192.0.2\" is no data of type A; expected an IPv4 address, as in 192.0.2.1"
            ),
            (
                "www 60 AX 1",
                "test.zone:3: unknown type \"AX\"; one of A, AAAA, CNAME, NS, PTR, MX, TXT, SRV, SOA is allowed"
            ),
            ("www 60", "test.zone:3: no type; write one of A, AAAA, CNAME, NS, PTR, MX, TXT, SRV, SOA"),
            ("www 6x A 192.0.2.1", "test.zone:3: \"6x\" is no TTL; write seconds, as in 300"),
            ("www 2147483648 A 192.0.2.1", "test.zone:3: \"2147483648\" is no TTL; write seconds, as in 300"),
            (
                "a..b 60 A 192.0.2.1",
                "test.zone:3: \"a..b\" is no name; labels are 1 to 63 ASCII characters, names 255 at most"
            ),
            ("$INCLUDE x", "test.zone:3: unknown directive \"$INCLUDE\"; $ORIGIN and $TTL are known"),
            ("$TTL", "test.zone:3: $TTL without a value; write one behind it"),
            ("$TTL 1d", "test.zone:3: \"1d\" is no TTL; write seconds, as in 300"),
            ("www 60 TXT open", "test.zone:3: TXT data without quotes; write \"open\""),
            (
                "www.test. 60 A 192.0.2.1",
                "test.zone:3: www.test is in no zone; write a SOA record for it or for a name above it"
            ),
            ("@ 60 CNAME b", "test.zone:2: example has a CNAME record and others; an alias has no other records"),
        ])
    func mistakes(line: String, complaint: String) {
        let text = "$ORIGIN example.\n@ 60 SOA ns admin 1 2 3 4 5\n\(line)\n"
        #expect { try ZoneParser.zone(from: text, file: "test.zone") } throws: { "\($0)" == complaint }
    }

    @Test("a line that begins with a blank needs a name before it")
    func noOwner() {
        #expect { try ZoneParser.zone(from: "  60 A 192.0.2.1", file: "z") } throws: {
            "\($0)" == "z:1: no name before this line; start the line with a name"
        }
    }
}
