// Volcengine's dialect: the raw exchange and the signatures of providers.md 3 and 9.1, every form of a reply, and the
// server's refusals.

import DNSWire
import Testing

@testable import HTTPDNS

struct VolcengineTests {
    private let dialect = Volcengine(url: "/resolve", account: "1023", secret: "QlgAuFMwNUwN")
    private let asked: Question
    private let both: [Question]
    /// The time five minutes before the vectors' expiry.
    private static let time = DialectContext(
        unixMilliseconds: 1_566_808_087_000, nonce: Array(0x10...0x1F), clientSubnet: Prefix("1.2.3.4/32"))

    init() throws {
        asked = try question("www.a.com")
        both = [try question("www.a.com", .aaaa), asked]
    }

    @Test("the raw exchange (V1)")
    func exchangeV1() throws {
        #expect(
            try dialect.request(for: [asked], in: VolcengineTests.time).url
                == "/resolve?domain=www.a.com&ip=1.2.3.4&type=1&account_id=1023&timestamp=1566808387000"
                + "&sign=85c31b4998f9fd3d6eadc43804178869")
        let body = #"{"cip":"1.2.3.4","host":"www.a.com","ips":["192.0.2.10"],"ttl":52}"#
        let answer = try dialect.answer(from: reply(body), to: asked)
        #expect(answer.addresses.map(\.description) == ["192.0.2.10"])
        #expect(answer.ttlSeconds == 52)
    }

    @Test(
        "the vendor's signatures",
        arguments: [
            ("www.a.com,www.b.com", "", "", "4b00a808d49a334991b7e50d324a9287"),
            ("www.a.com", "1.2.3.4", "1", "85c31b4998f9fd3d6eadc43804178869"),
            ("www.a.com", "1.2.3.4", "28", "240acb3250fb808f3726ffd833f8dc43"),
        ])
    func signatures(domain: String, ip: String, type: String, expected: String) throws {
        #expect(try dialect.signature(domain: domain, timestamp: "1566808387000", ip: ip, type: type) == expected)
    }

    @Test("both families are asked by leaving the type out, and are told apart by how they are written")
    func families() throws {
        let request = try dialect.request(for: both, in: VolcengineTests.time)
        #expect(request.url.hasPrefix("/resolve?domain=www.a.com&ip=1.2.3.4&account_id=1023&timestamp=1566808387000&"))
        let body = #"{"host":"www.a.com","ips":["fec0::1","220.194.234.254","101.75.228.67"],"ttl":52}"#
        let answers = try dialect.answers(from: reply(body), to: both).map { try $0.get() }
        #expect(
            answers.map { $0.addresses.map(\.description) } == [["fec0::1"], ["220.194.234.254", "101.75.228.67"]])
        let oneFamily = #"{"host":"www.a.com","ips":["192.0.2.1"],"ttl":52}"#
        let kinds = try dialect.answers(from: reply(oneFamily), to: both).map { try $0.get().kind }
        #expect(kinds == [.ambiguousEmpty, .records])
    }

    @Test(
        "every shape in which a name's answer may come",
        arguments: [
            #"[{"host":"www.b.com","ips":["192.0.2.2"]},{"host":"WWW.a.com.","ips":["192.0.2.1"],"ttl":"60"}]"#,
            #"{"dns":[{"host":"www.a.com","ips":["192.0.2.1"]}]}"#,
            #"{"results":[{"host":"www.a.com","ips":["192.0.2.1",7,"x"],"ttl":0}]}"#,
            #"{"hosts":[{"host":"www.a.com","ips":["192.0.2.1"],"ttl":null}]}"#,
        ])
    func shapes(body: String) throws {
        let answer = try dialect.answer(from: reply(body), to: asked)
        #expect(answer.addresses.map(\.description) == ["192.0.2.1"])
        #expect(answer.ttlSeconds == 60)
    }

    @Test("an empty array is not believed alone, and lasts as long as it says")
    func empty() throws {
        let answer = try dialect.answer(from: reply(#"{"host":"www.a.com","ips":[],"ttl":300}"#), to: asked)
        #expect(answer.kind == .ambiguousEmpty && answer.ttlSeconds == 300)
    }

    @Test(
        "what proves nothing is a failure and never emptiness",
        arguments: [
            "", "{}", "[]", "null", "\"x\"", #"{"ips":["192.0.2.1"]}"#, #"{"host":"www.a.com"}"#,
            #"{"host":"www.a.com","ips":null}"#, #"{"host":"www.a.com","ips":{}}"#,
            #"{"host":"www.a.com","ips":["x"]}"#,
        ])
    func garbage(body: String) {
        #expect(outcome(of: reply(body), to: asked, by: dialect).isGarbage)
    }

    @Test("an answer about another name is none")
    func otherName() {
        let body = #"{"host":"www.b.com","ips":["192.0.2.1"],"ttl":52}"#
        #expect(outcome(of: reply(body), to: asked, by: dialect).error == .wrongQuestion)
    }

    @Test("403 concerns the name or the clock, which the caller compares; throttling does not")
    func statuses() {
        #expect(outcome(of: reply("", status: 403), to: asked, by: dialect).error == .forbidden)
        let throttled = reply("", status: 403, [("Retry-After", "9")])
        #expect(outcome(of: throttled, to: asked, by: dialect).error == .throttled(retryAfterSeconds: 9))
    }

    @Test("the server takes what was signed for the future and nothing else, all with 403")
    func server() throws {
        let url = try dialect.request(for: [asked], in: VolcengineTests.time).url
        #expect(try dialect.questions(from: HTTPRequest(url: url), in: VolcengineTests.time) == [asked])
        let changes = [
            ("1023", "1024"), ("www.a.com", "www.b.com"), ("type=1", "type=28"), ("ip=1.2.3.4", "ip=1.2.3.5"),
            ("1566808387000", "1566808387001"), ("sign=85", "sign=86"), ("&sign=", "&sing="),
        ]
        for (old, new) in changes {
            let changed = url.replacing(old, with: new)
            #expect(throws: DialectError.self) {
                try dialect.questions(from: HTTPRequest(url: changed), in: VolcengineTests.time)
            }
        }
        let expiry = DialectContext(unixMilliseconds: 1_566_808_387_000, nonce: Array(0x10...0x1F))
        #expect(throws: DialectError.clock) { try dialect.questions(from: HTTPRequest(url: url), in: expiry) }
        #expect(throws: DialectError.status(405)) {
            try dialect.questions(from: HTTPRequest(method: .post, url: url), in: VolcengineTests.time)
        }
        #expect(dialect.reply(to: .clock).status == 403 && dialect.reply(to: .garbage("")).status == 403)
    }
}
