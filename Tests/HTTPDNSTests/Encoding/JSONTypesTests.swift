// The JSON dialect with types whose text differs from vendor to vendor, and with names of arbitrary bytes.

import DNSWire
import HTTPDNS
import Testing

struct JSONTypesTests {
    let dialect = JSONDialect(url: "https://dns.alidns.com/resolve")

    @Test(
        "names with any bytes are asked in presentation form, percent-encoded, and known again in the reply",
        arguments: [
            ("*.Example.com", "%2A.example.com", "*.example.com."),
            ("a\\032b.example", "a%20b.example", "a b.example."),
            ("a\\.b.example", "a%5C.b.example", #"a\\.b.example."#),
            ("a\\\\b\\255.example", "a%5C%5Cb%5C255.example", #"a\\\\b\\255.example"#),
        ])
    func strangeNames(name: String, text: String, echo: String) throws {
        let dialect = JSONDialect(url: "https://dns.google/resolve")
        let asked = try question(name, .mx)
        let request = try dialect.request(for: asked)
        #expect(request.url == "https://dns.google/resolve?name=\(text)&type=MX")
        #expect(try dialect.question(from: request) == asked)
        let body = """
            {"Status":0,"Question":[{"name":"\(echo)","type":15}],
            "Answer":[{"name":"\(echo)","type":15,"TTL":60,"data":"10 mx.example."}]}
            """
        #expect(try dialect.answer(from: reply(body), to: asked).records.count == 1)
    }

    @Test(
        "the types that vendors write in several ways become the same records",
        arguments: [
            (RecordType.https, "1 . alpn=h2,h3 port=8443 ipv4hint=192.0.2.1,192.0.2.2 ipv6hint=2001:db8::1"),
            (.https, #"1 . ipv6hint="2001:db8::1" port=8443 alpn="h2,h3" ipv4hint="192.0.2.1,192.0.2.2""#),
            (
                .https,
                "\\\\# 51 00 01 00 00 01 00 06 02 68 32 02 68 33 00 03 00 02 20 fb 00 04 00 08 c0 00 02 01 c0 00 02 02 "
                    + "00 06 00 10 20 01 0d b8 00 00 00 00 00 00 00 00 00 00 00 01"
            ),
        ])
    func serviceBindings(type: RecordType, data: String) throws {
        let asked = try question("www.example.com", type)
        let escaped = data.replacing("\"", with: "\\\"")
        let body = """
            {"Status":0,"Answer":[{"name":"www.example.com.","type":\(type.rawValue),"TTL":60,"data":"\(escaped)"}]}
            """
        let answer = try dialect.answer(from: reply(body), to: asked)
        let expected: [UInt8] =
            [0, 1, 0, 0, 1, 0, 6, 2, 0x68, 0x32, 2, 0x68, 0x33, 0, 3, 0, 2, 0x20, 0xFB, 0, 4, 0, 8, 192, 0, 2, 1, 192]
            + [0, 2, 2, 0, 6, 0, 16, 0x20, 1, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
        #expect(answer.records.map(\.data) == [expected])
    }

    @Test(
        "broken data of these types is garbage",
        arguments: [
            (RecordType.https, "1"), (.https, "x ."), (.https, "1 . alpn=h2 alpn=h3"), (.https, "1 . port=99999"),
            (.https, "1 . ipv4hint=2001:db8::1"), (.https, "1 . nonsense=1"), (.svcb, "1 . ipv4hint=192.0.2.1,"),
            (.https, "1 . mandatory=port alpn=h2"), (.https, "1 . mandatory=mandatory"), (.https, "1 . alpn"),
            (.https, "1 . mandatory=alpn,alpn alpn=h2"), (.https, "1 . no-default-alpn=h2"), (.https, "1 . port="),
            (.https, "1 . ohttp=1"), (.https, "1 . key8=1 key8=2"), (.https, "1 . key65536=1"), (.https, "1 . keyx=1"),
            (.https, #"1 . alpn=\"h2"#), (.https, #"1 . alpn=h2\\2"#), (.https, #"1 . alpn=a\\256"#),
            (.https, "1 . alpn=h2,,h3"), (.https, "1 . tls-supported-groups=x"),
            // The TargetName is compressed or truncated.
            (.svcb, "\\\\# 4 0001c00c"), (.https, "\\\\# 3 000103"), (.dname, "\\\\# 2 c00c"),
            (.caa, "0"), (.caa, "0 is-sue x"), (.caa, #"0 issue \"x"#), (.caa, "256 issue \\\"ca.example\\\""),
            (.https, "\\\\# 3 0001"),
            (.caa, "\\\\# x 00"), (.a, "\\\\# 3 0a0000"), (.mx, "\\\\# 4 000ac00c"),
            // The RDATA exceeds 65,535 bytes, from 12 KB of text.
            (.https, "1 . ipv6hint=" + Array(repeating: "::", count: 4096).joined(separator: ",")),
        ])
    func brokenTypes(type: RecordType, data: String) throws {
        let body = #"{"Status":0,"Answer":[{"name":"www.example.com.","type":\#(type.rawValue),"data":"\#(data)"}]}"#
        #expect(outcome(of: reply(body), to: try question("www.example.com", type), by: dialect).isGarbage)
    }

    @Test(
        "CAA records are read as Google and as Cloudflare write them",
        arguments: [
            #"0 issue \"ca.example\""#, "0 issue ca.example", #"0 issue \"ca.example\" "#, #"0 issue ca\\.example"#,
            #"0 issue \"ca\\046example\""#, "\\\\# 17 00 05 69 73 73 75 65 63 61 2e 65 78 61 6d 70 6c 65",
        ])
    func authorization(data: String) throws {
        let asked = try question("www.example.com", .caa)
        let body = #"{"Status":0,"Answer":[{"name":"www.example.com.","type":257,"TTL":60,"data":"\#(data)"}]}"#
        let answer = try dialect.answer(from: reply(body), to: asked)
        #expect(answer.records.map(\.data) == [[0, 5] + Array("issueca.example".utf8)])
    }

    @Test(
        "CAA values without quotes may be empty, and keep spaces and semicolons",
        arguments: [("0 issue", ""), ("0 issue ;", ";"), ("128 issue ca.example; a=b", "ca.example; a=b")])
    func authorizationWithoutQuotes(data: String, value: String) throws {
        let read = try #require(try rdata(.caa, data))
        #expect(Array(read.dropFirst()) == [5] + Array("issue\(value)".utf8))
    }

    @Test(
        "parameters of later registrations, by name and by number, and escapes (RFC 9460 appendix D)",
        arguments: [
            ("1 foo.example.com. key667=hello", "0001 fooC 029b0005 68656c6c6f"),
            (#"1 foo.example.com. key667=\"hello\\210qoo\""#, "0001 fooC 029b0009 68656c6c6fd2716f6f"),
            (
                #"16 foo.example.org. alpn=\"f\\\\\\\\oo\\\\,bar,h2\""#,
                "0010 fooO 0001000c 08665c6f6f2c626172 026832"
            ),
            (#"16 foo.example.org. alpn=f\\\\\\092oo\\092,bar,h2"#, "0010 fooO 0001000c 08665c6f6f2c626172 026832"),
            (
                "16 foo.example.org. alpn=h2,h3-19 mandatory=ipv4hint,alpn ipv4hint=192.0.2.1",
                "0010 fooO 0000000400010004 0001000902683205 68332d3139 00040004c0000201"
            ),
            ("1 . ohttp key65280=x tls-supported-groups=29,23", "0001 00 00080000 00090004001d0017 ff00000178"),
            ("1 . docpath=dns,q pvd", "0001 00 000a0006 03646e73 0171 000b0000"),
            ("1 . docpath alpn=co", "0001 00 0001000302636f 000a0000"),
            ("0 foo.example.com.", "0000 fooC"),
            (#"1 . dohpath=/q{?dns}   alpn=\"h2\"  "#, "0001 00 0001 0003026832 0007 0008 2f717b3f646e737d"),
        ])
    func laterParameters(data: String, hex: String) throws {
        let hex = hex.replacing("fooC", with: "03666f6f076578616d706c6503636f6d00")
            .replacing("fooO", with: "03666f6f076578616d706c65036f726700").filter { $0 != " " }
        let read = try #require(try rdata(.svcb, data))
        #expect(read.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() == hex)
    }

    @Test("TXT in one pair of quotes or none: long texts are cut into strings, escapes are decoded")
    func texts() throws {
        let long = String(repeating: "x", count: 300)
        let cut = [255] + Array(repeating: UInt8(ascii: "x"), count: 255) + [45] + Array(repeating: 0x78, count: 45)
        #expect(try rdata(.txt, long) == cut)
        #expect(try rdata(.txt, #"\"\#(long)\""#) == cut)
        #expect(try rdata(.txt, #"\"\#(long)\" \"y\""#) == cut + [1, UInt8(ascii: "y")])
        for text in [#"\"a\\;b\\\"c\\009\""#, #"a\\;b\\\"c\\009"#, #"a;b\"c\\009"#, #"a;b\"c\t"#] {
            #expect(try rdata(.txt, text) == [6] + Array("a;b\"c\t".utf8), "\(text)")
        }
        // An invalid escape stays as it is if nothing else shows that the text is escaped.
        #expect(try rdata(.txt, #"a\\999"#) == [5] + Array(#"a\999"#.utf8))
        #expect(try rdata(.txt, #"a\\"#) == [2] + Array(#"a\"#.utf8))
        #expect(try rdata(.txt, "") == [0])
        #expect(try rdata(.txt, #"\"\""#) == [0])
        #expect(try rdata(.txt, #"\"caf\u00e9\""#) == [5] + Array("café".utf8))
    }

    @Test("types are numbers, digits or mnemonics, and unknown mnemonics are of no question")
    func types() throws {
        let asked = try question("www.example.com")
        for type in ["1", "\"1\"", "\"A\"", "\"a\"", "\"TYPE1\""] {
            let body = """
                {"Status":0,"Question":[{"name":"www.example.com.","type":\(type)}],"Answer":[
                {"name":"www.example.com.","type":"NAPTR","TTL":60,"data":"x"},
                {"name":"www.example.com.","type":\(type),"TTL":60,"data":"192.0.2.1"}]}
                """
            #expect(try dialect.answer(from: reply(body), to: asked).addresses.map(\.description) == ["192.0.2.1"])
        }
        for type in ["28", "\"AAAA\"", "\"NAPTR\"", "\"\""] {
            let body = #"{"Status":0,"Question":[{"name":"www.example.com.","type":\#(type)}]}"#
            #expect(outcome(of: reply(body), to: asked, by: dialect).error == .wrongQuestion, "\(type)")
        }
    }

    @Test("of members with the same name the first counts")
    func repeatedNames() throws {
        let answer = #"[{"name":"www.example.com.","type":1,"TTL":60,"data":"192.0.2.1"}]"#
        let asked = try question("www.example.com")
        let read = try dialect.answer(
            from: reply(#"{"Status":0,"Answer":\#(answer),"Status":2,"Answer":"x"}"#), to: asked)
        #expect(read.addresses == [.v4(0xC000_0201)])
        #expect(throws: DialectError.self) {
            try dialect.answer(from: reply(#"{"Status":null,"Status":0,"Answer":\#(answer)}"#), to: asked)
        }
    }

    @Test("a DNAME record stays before the CNAME record that it makes")
    func redirections() throws {
        let body = """
            {"Status":0,"Answer":[{"name":"old.example.","type":39,"TTL":60,"data":"new.example."},
            {"name":"www.old.example.","type":"CNAME","TTL":60,"data":"www.new.example."},
            {"name":"www.new.example.","type":"A","TTL":60,"data":"192.0.2.1"}]}
            """
        let answer = try dialect.answer(from: reply(body), to: try question("www.old.example"))
        #expect(answer.records.map(\.type) == [.dname, .cname, .a])
    }

    /// The RDATA of the only record; nil if the reply is invalid.
    private func rdata(_ type: RecordType, _ data: String) throws -> [UInt8]? {
        let asked = try question("www.example.com", type)
        let body = #"{"Status":0,"Answer":[{"name":"www.example.com.","type":\#(type.rawValue),"data":"\#(data)"}]}"#
        return try? dialect.answer(from: reply(body), to: asked).records.first?.data
    }
}
