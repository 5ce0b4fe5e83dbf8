// The JSON dialect with types whose text differs from vendor to vendor, and with names of any bytes.

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
            (.caa, "0 issue ca.example"), (.caa, "256 issue \\\"ca.example\\\""), (.https, "\\\\# 3 0001"),
            (.caa, "\\\\# x 00"), (.a, "\\\\# 3 0a0000"), (.mx, "\\\\# 4 000ac00c"),
            // More than 65,535 octets of RDATA, from 12 KB of text.
            (.https, "1 . ipv6hint=" + Array(repeating: "::", count: 4096).joined(separator: ",")),
        ])
    func brokenTypes(type: RecordType, data: String) throws {
        let body = #"{"Status":0,"Answer":[{"name":"www.example.com.","type":\#(type.rawValue),"data":"\#(data)"}]}"#
        #expect(outcome(of: reply(body), to: try question("www.example.com", type), by: dialect).isGarbage)
    }

    @Test(
        "CAA records are read as Google and as Cloudflare write them",
        arguments: [
            #"0 issue \"ca.example\""#, "\\\\# 17 00 05 69 73 73 75 65 63 61 2e 65 78 61 6d 70 6c 65",
        ])
    func authorization(data: String) throws {
        let asked = try question("www.example.com", .caa)
        let body = #"{"Status":0,"Answer":[{"name":"www.example.com.","type":257,"TTL":60,"data":"\#(data)"}]}"#
        let answer = try dialect.answer(from: reply(body), to: asked)
        #expect(answer.records.map(\.data) == [[0, 5] + Array("issueca.example".utf8)])
    }
}
