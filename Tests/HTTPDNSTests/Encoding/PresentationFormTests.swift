// Record data as text and back.

import DNSWire
import HTTPDNS
import Testing

struct PresentationFormTests {
    @Test(
        "text becomes bytes and text again",
        arguments: [
            (RecordType.a, "192.0.2.1"), (.aaaa, "2001:db8::1"), (.cname, "a.example."), (.ns, "."),
            (.mx, "10 mx.example."),
            (.srv, "1 2 443 host.example."), (.soa, "ns.example. admin.example. 1 7200 900 1209600 4294967295"),
            (.txt, #""one" "t\"w\\o \000\255" """#),
        ])
    func roundTrip(type: RecordType, text: String) throws {
        let bytes = try #require(PresentationForm.bytes(of: text, as: type))
        let record = ResourceRecord(owner: .root, type: type, ttlSeconds: 1, data: bytes)
        #expect(PresentationForm.text(of: record) == text)
    }

    @Test(
        "text of another form is refused",
        arguments: [
            (RecordType.a, "2001:db8::1"), (.a, "192.0.2.1 192.0.2.2"), (.aaaa, "192.0.2.1"), (.cname, ""),
            (.cname, "a b"),
            (.mx, "mx.example"), (.mx, "65536 mx.example"), (.mx, "-1 mx.example"), (.srv, "1 2 mx.example"),
            (.soa, "a b 1 2 3 4"), (.soa, "a b 1 2 3 4 5 6"), (.soa, "a b 1 2 3 4 4294967296"), (.txt, #""open"#),
            (.txt, #""\25""#), (.txt, #""\256""#), (.txt, #""a" b"#), (.hinfo, "x"),
        ])
    func refused(type: RecordType, text: String) {
        #expect(PresentationForm.bytes(of: text, as: type) == nil)
    }

    @Test("text without quotes is one string, cut to strings of 255 bytes")
    func unquoted() {
        #expect(PresentationForm.bytes(of: "v=spf1 -all", as: .txt) == [11] + Array("v=spf1 -all".utf8))
        let long = String(repeating: "x", count: 300)
        #expect(PresentationForm.bytes(of: long, as: .txt)?.count == 302)
    }

    @Test("data that is not of its type has no text")
    func brokenData() {
        for (type, data) in [
            (RecordType.a, [1, 2, 3]), (.mx, [0]), (.cname, [1]), (.cname, [0, 0]), (.txt, [5, 1]), (.txt, []),
        ] {
            let record = ResourceRecord(owner: .root, type: type, ttlSeconds: 1, data: data.map(UInt8.init))
            #expect(PresentationForm.text(of: record) == nil, "\(type) \(data)")
        }
    }
}
