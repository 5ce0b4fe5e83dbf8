// The dialect of DNSPod: golden requests and replies, and invalid replies.

import DNSWire
import HTTPDNS
import Testing

struct DNSPodTests {
    let dialect = DNSPod(url: "http://119.29.29.29/d")
    let asked: Question

    init() throws {
        asked = try question("www.example.com")
    }

    @Test("the request is a GET with the name in lower case and the wish for a TTL")
    func request() throws {
        let request = try dialect.request(for: try question("WWW.Example.com"))
        #expect(request == HTTPRequest(url: "http://119.29.29.29/d?dn=www.example.com&ttl=1"))
    }

    @Test("the raw exchange of the free service, with the clients' subnet (T0)")
    func exchangeT0() throws {
        let context = DialectContext(
            unixMilliseconds: 0, nonce: Array(0x10...0x1F), clientSubnet: Prefix("203.0.113.7/32"))
        let asked = try question("www.qq.com")
        #expect(
            try dialect.request(for: [asked], in: context).url
                == "http://119.29.29.29/d?dn=www.qq.com&ttl=1&ip=203.0.113.7")
        let answer = try dialect.answer(from: reply("192.0.2.10;192.0.2.11,120"), to: asked)
        #expect(answer.addresses.map(\.description) == ["192.0.2.10", "192.0.2.11"])
        #expect(answer.ttlSeconds == 120)
        #expect(try dialect.answer(from: reply(""), to: asked).kind == .ambiguousEmpty)
    }

    @Test("an account is sent as id, safely encoded, after parameters that the URL has already")
    func account() throws {
        let dialect = DNSPod(url: "http://127.0.0.1/d?a=b", account: "12 &=é")
        #expect(
            try dialect.request(for: asked).url
                == "http://127.0.0.1/d?a=b&dn=www.example.com&ttl=1&id=12%20%26%3D%C3%A9")
    }

    @Test("other types, the root and names with strange bytes are left to other upstreams")
    func unsupported() throws {
        #expect(!dialect.supports(.aaaa))
        for asked in [try question("www.example.com", .aaaa), Question(.root, .a), try question("a\\&dn=b.example")] {
            #expect(throws: DialectError.unsupported) { try dialect.request(for: asked) }
        }
    }

    @Test(
        "addresses are read in every form that servers write",
        arguments: [
            ("192.0.2.10;192.0.2.11,120", ["192.0.2.10", "192.0.2.11"], 120),
            ("192.0.2.10;192.0.2.11", ["192.0.2.10", "192.0.2.11"], 60),
            ("192.0.2.10;,120", ["192.0.2.10"], 120),
            ("192.0.2.10,", ["192.0.2.10"], 60),
            ("192.0.2.10,120|203.0.113.7", ["192.0.2.10"], 120),
            ("192.0.2.10,120|2001:db8::7", ["192.0.2.10"], 120),
            ("www.example.com.:192.0.2.10,120|203.0.113.7", ["192.0.2.10"], 120),
            ("WWW.example.com:192.0.2.10,120", ["192.0.2.10"], 120),
            ("a.example.:192.0.2.1,1\nwww.example.com.:192.0.2.10,120", ["192.0.2.10"], 120),
            ("\r\n 192.0.2.10,120 \r\n", ["192.0.2.10"], 120),
            ("192.0.2.10;300.1.1.1;x;2001:db8::1;192.0.2.11,120", ["192.0.2.10", "192.0.2.11"], 120),
            ("192.0.2.10,120-2001:db8::1,90", ["192.0.2.10"], 120),
            ("192.0.2.10,0", ["192.0.2.10"], 60),
            ("192.0.2.10,-5", ["192.0.2.10"], 60),
            ("192.0.2.10,99999999999999999999", ["192.0.2.10"], 0x7FFF_FFFF),
        ])
    func addresses(body: String, addresses: [String], ttl: UInt32) throws {
        let answer = try dialect.answer(from: reply(body), to: asked)
        #expect(answer.kind == .records)
        #expect(answer.addresses.map(\.description) == addresses)
        #expect(answer.ttlSeconds == ttl)
        #expect(answer.records.allSatisfy { $0.owner == asked.name })
    }

    @Test(
        "emptiness is not believed alone, in every form that servers write",
        arguments: [
            "", "\n", "0", "0,60", "0|203.0.113.7", "|203.0.113.7", "www.example.com.:0|203.0.113.7",
            "www.example.com.:0-0|203.0.113.7",
        ])
    func empty(body: String) throws {
        #expect(try dialect.answer(from: reply(body), to: asked).kind == .ambiguousEmpty)
    }

    @Test(
        "text that holds no address is garbage and never emptiness",
        arguments: [
            "<html>login</html>", "404", "192.0.2", ";;;", "192.0.2.10,12x", "2001:db8", "\u{1}",
            "\0", "\0192.0.2.10,120", "192.0.2.10,120\0", "192.0.2.10;\0,120", "192.0.2.10,120\n\0", "0\0",
        ])
    func garbage(body: String) throws {
        let outcome = outcome(of: reply(body), to: asked, by: dialect)
        #expect(outcome.isGarbage || outcome.error == .wrongQuestion, "\(outcome)")
    }

    @Test("a line about another name is not an answer")
    func foreignName() {
        #expect(outcome(of: reply("a.example.:192.0.2.1,60"), to: asked, by: dialect).error == .wrongQuestion)
    }

    @Test("bytes that are no text, and more addresses than a name has, are garbage")
    func hostileBytes() {
        #expect(outcome(of: HTTPReply(body: [0xFF, 0xFE, 0x31]), to: asked, by: dialect).isGarbage)
        let many = Array(repeating: "192.0.2.1", count: 600).joined(separator: ";")
        #expect(outcome(of: reply(many), to: asked, by: dialect).isGarbage)
    }

    @Test("every cut of a body is an answer, emptiness or a failure, and never an address that was not sent")
    func cuts() throws {
        let body = "www.example.com.:192.0.2.10;192.0.2.11,120|203.0.113.7"
        for length in 0...body.count {
            guard case .success(let answer) = outcome(of: reply(String(body.prefix(length))), to: asked, by: dialect)
            else { continue }
            #expect(answer.addresses.allSatisfy { $0.description.hasPrefix("192.0.2.1") }, "cut at \(length)")
        }
    }

    @Test("the server reads the name and answers in the vendor's bytes")
    func server() throws {
        let request = HTTPRequest(url: "/d?ttl=1&dn=www%2Eexample.com.&id=1")
        #expect(try dialect.question(from: request) == asked)
        let answer = Answer(records: [
            try record("www.example.com", .cname, 300, "edge.example.net"),
            try record("edge.example.net", .a, 120, "192.0.2.10"),
            try record("edge.example.net", .a, 120, "192.0.2.11"),
        ])
        #expect(dialect.reply(to: asked, with: answer).body == Array("192.0.2.10;192.0.2.11,120".utf8))
        #expect(dialect.reply(to: asked, with: Answer(negative: .noSuchName)).body.isEmpty)
        #expect(dialect.refusal(of: asked, as: .refused) == reply("", [("Content-Type", "text/plain")]))
    }

    @Test("a request without a name is refused", arguments: ["/d", "/d?dn=", "/d?dn=%zz", "/d?dn=a..b", "/d?x=dn"])
    func badRequest(url: String) {
        #expect(throws: DialectError.self) { try dialect.question(from: HTTPRequest(url: url)) }
    }
}
