// Baidu's dialect in both versions: the raw exchange of providers.md 9.1, forms of replies, error texts, and the
// server's refusals.

import DNSWire
import HTTPDNS
import Testing

struct BaiduTests {
    private let dialect = Baidu(url: "http://180.76.76.200/v4/resolve", account: "100", secret: "1234567890")
    private let older = Baidu(url: "http://180.76.76.200/v3/resolve", account: "100", secret: "1234567890")
    private let asked: Question
    private let both: [Question]
    /// The time five minutes before the vector's expiry.
    private static let time = DialectContext(unixMilliseconds: 1_513_602_434_000, nonce: Array(0x10...0x1F))

    init() throws {
        asked = try question("www.baidu.com")
        both = [asked, try question("www.baidu.com", .aaaa)]
    }

    @Test("the raw exchange (B1)")
    func exchangeB1() throws {
        #expect(
            try dialect.request(for: both, in: BaiduTests.time).url
                == "http://180.76.76.200/v4/resolve?account_id=100&dn=www.baidu.com&t=1513602734"
                + "&sign=9d4eac35c33b8fa1610476ff1532643d&type=dual_stack")
        let body =
            #"{"msg":"ok","data":{"www.baidu.com":{"ipv4":{"ip":["192.0.2.10"],"ttl":60},"#
            + #""ipv6":{"ip":[],"ttl":60}}},"clientip":"203.0.113.7","timestamp":1513602700}"#
        let answers = try dialect.answers(from: reply(body), to: both).map { try $0.get() }
        #expect(answers.map(\.kind) == [.records, .ambiguousEmpty])
        #expect(answers[0].addresses.map(\.description) == ["192.0.2.10"])
        #expect(answers.map(\.ttlSeconds) == [60, 60])
    }

    @Test("one family and a subnet are said behind the signature; version 3 has no families")
    func parameters() throws {
        let context = DialectContext(
            unixMilliseconds: 1_513_602_434_000, nonce: Array(0x10...0x1F), clientSubnet: Prefix("203.0.113.0/24"))
        let four = try dialect.request(for: [both[0]], in: context).url
        let six = try dialect.request(for: [both[1]], in: context).url
        #expect(four.hasSuffix("&sign=9d4eac35c33b8fa1610476ff1532643d&type=ipv4&ip=203.0.113.0"))
        #expect(six.hasSuffix("&sign=9d4eac35c33b8fa1610476ff1532643d&type=ipv6&ip=203.0.113.0"))
        #expect(!older.supports(.aaaa) && !older.asksBothFamilies)
        #expect(
            try older.request(for: [asked], in: BaiduTests.time).url.hasSuffix(
                "/v3/resolve?account_id=100&dn=www.baidu.com&t=1513602734&sign=9d4eac35c33b8fa1610476ff1532643d"))
    }

    @Test("version 3's shape")
    func older3() throws {
        let body = #"{"clientip":"203.0.113.7","data":{"www.baidu.com":{"ttl":60,"ip":["1.2.3.4"]}},"msg":"ok"}"#
        let answer = try older.answer(from: reply(body), to: asked)
        #expect(answer.addresses.map(\.description) == ["1.2.3.4"] && answer.ttlSeconds == 60)
    }

    @Test("of several names each has its own answer, and a missing one is not believed to be empty")
    func several() throws {
        let questions = try ["a.baidu.com", "b.baidu.com", "c.baidu.com"].map { try question($0) }
        let body =
            #"{"msg":"ok","data":{"A.baidu.com.":{"ipv4":{"ip":["1.2.3.4","3.4.5.6"],"ttl":300}},"#
            + #""b.baidu.com":{"ipv6":{"ip":["240e::1"],"ttl":300}},"x.baidu.com":{"ipv4":{"ip":["6.6.6.6"]}}}}"#
        let answers = try dialect.answers(from: reply(body), to: questions).map { try $0.get() }
        #expect(answers.map(\.kind) == [.records, .ambiguousEmpty, .ambiguousEmpty])
        #expect(answers[0].addresses.map(\.description) == ["1.2.3.4", "3.4.5.6"] && answers[0].ttlSeconds == 300)
    }

    @Test(
        "texts that speak of time or signature are told apart, with whatever status they come",
        arguments: [
            (#"{"msg":"SignatureExpired"}"#, DialectError.clock), (#"{"msg":"signature expired"}"#, .clock),
            (#"{"msg":"Invalid timestamp"}"#, .clock),
            (#"{"msg":"sign error"}"#, .account("sign error")),
            (#"{"msg":"resolve timeout"}"#, .garbage("msg resolve timeout")),
            (#"{"msg":"design time over"}"#, .garbage("msg design time over")),
            (#"{"msg":"Account\nblocked"}"#, .account("Accountblocked")),
            (#"{"msg":"no such thing"}"#, .garbage("msg no such thing")),
            (#"{"msg":"ok"}"#, .garbage("JSON without data")), (#"{"data":{}}"#, .garbage("JSON without msg")),
        ])
    func messages(body: String, error: DialectError) {
        #expect(outcome(of: reply(body), to: asked, by: dialect).error == error)
        let said = outcome(of: reply(body, status: 403), to: asked, by: dialect).error
        #expect(said == (body.contains("\"ok\"") || body.contains("data") ? .status(403) : error))
    }

    @Test("a family with a message in the place of its list is empty, and the other one has its addresses")
    func familyWithoutList() throws {
        let body =
            #"{"msg":"ok","data":{"www.baidu.com":{"ipv4":{"ip":["192.0.2.10"],"ttl":60,"msg":"ok"},"#
            + #""ipv6":{"msg":"no record","ttl":90}}}}"#
        let answers = try dialect.answers(from: reply(body), to: both).map { try $0.get() }
        #expect(answers.map(\.kind) == [.records, .ambiguousEmpty] && answers.map(\.ttlSeconds) == [60, 90])
    }

    @Test(
        "a family without a list of addresses is empty, and the other one has its addresses",
        arguments: ["{}", #"{"ttl":60}"#, "null", "[]", #"{"ip":null,"ttl":60}"#, #"{"ip":null,"msg":"none"}"#])
    func familyWithoutAddresses(family: String) throws {
        let body =
            #"{"msg":"ok","data":{"www.baidu.com":{"ipv4":{"ip":["192.0.2.10"],"ttl":60},"ipv6":\#(family)}}}"#
        let answers = try dialect.answers(from: reply(body), to: both).map { try $0.get() }
        #expect(answers.map(\.kind) == [.records, .ambiguousEmpty] && answers[1].ttlSeconds == 60)
        let alone = #"{"msg":"ok","data":{"www.baidu.com":{"ipv4":\#(family)}}}"#
        #expect(try dialect.answer(from: reply(alone), to: asked).kind == .ambiguousEmpty)
    }

    @Test("an address that is listed twice is answered once, in the order of the list (RFC 2181 section 5)")
    func duplicates() throws {
        let body =
            #"{"msg":"ok","data":{"www.baidu.com":{"ipv4":{"ip":["192.0.2.2","192.0.2.1","192.0.2.2"],"ttl":60}}}}"#
        let answer = try dialect.answer(from: reply(body), to: asked)
        #expect(answer.addresses.map(\.description) == ["192.0.2.2", "192.0.2.1"])
    }

    @Test("the body's timestamp is the provider's time if there is no readable Date header")
    func timestamp() {
        let wall: Int64 = 1_513_595_500_000
        func offset(_ reply: HTTPReply) -> Int64 {
            var clock = ServerClock()
            clock.learn(from: reply, in: dialect, wallMilliseconds: wall)
            return clock.offsetMilliseconds
        }
        let body = #"{"msg":"SignatureExpired","timestamp":1513602700}"#
        #expect(offset(reply(body)) == 7_200_000)
        #expect(offset(reply(body, [("Date", "Mon, 18 Dec 2017 12:11:40 GMT")])) == 3_600_000)
        for unreadable in ["", "x", "Mon, 31 Feb 2017 12:11:40 GMT"] {
            #expect(offset(reply(body, [("Date", unreadable)])) == 7_200_000)
        }
        for wrong in ["", "{}", #"{"timestamp":"x"}"#, #"{"timestamp":9223372036854775807}"#, #"{"timestamp":-1}"#] {
            #expect(offset(reply(wrong)) == 0)
        }
    }

    @Test(
        "what proves nothing is a failure and never emptiness",
        arguments: [
            "", "[]", #"{"msg":"ok","data":[]}"#, #"{"msg":"ok","data":{"www.baidu.com":[]}}"#,
            #"{"msg":"ok","data":{"www.baidu.com":{"ipv4":"1.2.3.4"}}}"#,
            #"{"msg":"ok","data":{"www.baidu.com":{"ipv4":["1.2.3.4"]}}}"#,
            #"{"msg":"ok","data":{"www.baidu.com":{"ipv4":{"ip":["2001:db8::1"]}}}}"#,
        ])
    func garbage(body: String) {
        #expect(outcome(of: reply(body), to: asked, by: dialect).isGarbage)
    }

    @Test("the server takes ten names that were signed for the future, and nothing else")
    func server() throws {
        let ten = try (0..<10).map { try question("n\($0).baidu.com") }
        let url = try dialect.request(for: ten, in: BaiduTests.time).url
        #expect(try dialect.questions(from: HTTPRequest(url: url), in: BaiduTests.time) == ten)
        for (old, new) in [("=100&", "=101&"), ("n0.", "n."), ("1513602734", "1513602735"), ("sign=", "sign=0")] {
            let changed = url.replacing(old, with: new)
            #expect(throws: DialectError.self) {
                try dialect.questions(from: HTTPRequest(url: changed), in: BaiduTests.time)
            }
        }
        let late = DialectContext(unixMilliseconds: 1_513_602_734_000, nonce: Array(0x10...0x1F))
        #expect(throws: DialectError.clock) { try dialect.questions(from: HTTPRequest(url: url), in: late) }
        #expect(throws: DialectError.garbage("either dn or tag")) {
            try dialect.questions(from: HTTPRequest(url: url + "&tag=x"), in: BaiduTests.time)
        }
        #expect(outcome(of: dialect.reply(to: .clock), to: asked, by: dialect).error == .clock)
        #expect(
            outcome(of: dialect.reply(to: .account("sign")), to: asked, by: dialect).error == .account("sign error"))
    }
}
