// Tencent's dialect with a token: golden requests and replies (providers.md 1.2, 1.4 and 9.1), several names in one
// request, and invalid replies.

import DNSWire
import HTTPDNS
import Testing

struct DNSPodHTTPSTests {
    private let dialect = DNSPodHTTPS(url: "https://119.29.29.99/d", account: "1234", token: "567890")
    private let three: [Question]

    init() throws {
        three = try ["cloud.tencent.com", "www.qq.com", "www.dnspod.cn"].map { try question($0) }
    }

    /// The parsed result for each question: the addresses, "empty", or the failure.
    private func heard(_ body: String, _ questions: [Question]) -> [String] {
        dialect.answers(from: reply(body), to: questions).map { result in
            switch result {
            case .success(let answer) where answer.kind == .records:
                answer.addresses.map(\.description).joined(separator: " ") + " \(answer.ttlSeconds)"
            case .success(let answer): answer.kind == .ambiguousEmpty ? "empty" : "\(answer.kind)"
            case .failure(.garbage): "garbage"
            case .failure(let error): "\(error)"
            }
        }
    }

    // MARK: requests

    @Test("the request is the vendor's, with the type where it is not A")
    func request() throws {
        #expect(
            try dialect.request(for: try question("WWW.dnspod.cn")).url
                == "https://119.29.29.99/d?dn=www.dnspod.cn&clientip=1&ttl=1&query=1&id=1234&token=567890")
        #expect(
            try dialect.request(for: try question("www.dnspod.cn", .aaaa)).url
                == "https://119.29.29.99/d?dn=www.dnspod.cn&clientip=1&ttl=1&query=1&id=1234&type=aaaa&token=567890")
        let withoutAccount = DNSPodHTTPS(url: "/d", token: "a &b")
        #expect(
            try withoutAccount.request(for: three).url
                == "/d?dn=cloud.tencent.com,www.qq.com,www.dnspod.cn&clientip=1&ttl=1&query=1&token=a%20%26b")
    }

    @Test("the raw exchange for both families (T1)")
    func exchangeT1() throws {
        let both = [try question("www.dnspod.cn", .aaaa), three[2]]
        #expect(
            try dialect.request(for: both).url == "https://119.29.29.99/d?dn=www.dnspod.cn&clientip=1&ttl=1&query=1"
                + "&id=1234&type=addrs&token=567890")
        #expect(
            heard("www.dnspod.cn.:192.0.2.10;192.0.2.11,120-2001:db8::10,90|203.0.113.7", both)
                == ["2001:db8::10 90", "192.0.2.10 192.0.2.11 120"])
    }

    @Test("names that expire end in a time, ten minutes ahead, and a subnet in its first address")
    func expiring() throws {
        let dialect = DNSPodHTTPS(url: "/d", account: "1234", token: "567890", expires: true)
        let context = DialectContext(
            unixMilliseconds: 1_755_525_250_999, nonce: Array(0x10...0x1F), clientSubnet: Prefix("2001:db8::/32"))
        #expect(
            try dialect.request(for: [three[1]], in: context).url
                == "/d?dn=www.qq.com;1755525850&clientip=1&ttl=1&query=1&id=1234&token=567890&ip=2001%3Adb8%3A%3A")
    }

    @Test("other types, the root and names with strange bytes are left to other upstreams")
    func unsupported() throws {
        #expect(dialect.supports(.aaaa) && !dialect.supports(.https))
        let strange = [try question("www.example.com", .mx), Question(.root, .a), try question("a,b.example")]
        for asked in strange {
            #expect(!dialect.supports(asked))
            #expect(throws: DialectError.unsupported) { try dialect.request(for: asked) }
        }
        #expect(throws: DialectError.unsupported) { try dialect.request(for: [three[0], strange[2]]) }
    }

    // MARK: replies

    @Test(
        "the vendor's own replies to one name",
        arguments: [
            ("2.3.3.4;2.3.3.5;2.3.3.6", "2.3.3.4 2.3.3.5 2.3.3.6 60"),
            ("2.3.3.4;2.3.3.5;2.3.3.6,120", "2.3.3.4 2.3.3.5 2.3.3.6 120"),
            ("2.3.3.4;2.3.3.5;2.3.3.6,120|1.2.3.4", "2.3.3.4 2.3.3.5 2.3.3.6 120"),
            ("cloud.tencent.com.:2.3.3.4;2.3.3.5,120|1.2.3.4", "2.3.3.4 2.3.3.5 120"),
            ("cloud.tencent.com.:2.3.4.5;3.3.3.3-0|1.2.3.4", "2.3.4.5 3.3.3.3 60"),
            ("CLOUD.tencent.COM:2.3.3.4,120|2001:db8::7", "2.3.3.4 120"),
            ("", "empty"), ("0", "empty"), ("cloud.tencent.com.:0|1.2.3.4", "empty"),
            ("cloud.tencent.com.:0-0|1.2.3.4", "empty"), ("cloud.tencent.com.:0,60|1.2.3.4\r\n", "empty"),
        ])
    func single(body: String, expected: String) {
        #expect(heard(body, [three[0]]) == [expected])
    }

    @Test(
        "IPv6 addresses, whose colons are not those behind a name",
        arguments: [
            ("2001:db8::10;2001:db8::11,90|1.2.3.4", "2001:db8::10 2001:db8::11 90"),
            ("www.dnspod.cn.:2001:db8::10,90|2001:db8::7", "2001:db8::10 90"),
            (
                "www.dnspod.cn.:192.0.2.10;192.0.2.11,120-2001:db8::10,90|203.0.113.7", "2001:db8::10 90"
            ),
            ("www.dnspod.cn.:192.0.2.10,120-0|203.0.113.7", "empty"),
            ("www.dnspod.cn.:192.0.2.10,120|203.0.113.7", "garbage"),
        ])
    func addressesOfTheOtherFamily(body: String, expected: String) throws {
        #expect(heard(body, [try question("www.dnspod.cn", .aaaa)]) == [expected])
    }

    @Test(
        "the vendor's own replies to several names, with the client's address once or on every line",
        arguments: [
            (
                "cloud.tencent.com.:2.3.3.4;2.3.3.5,120\nwww.qq.com.:3.3.3.4,180\nwww.dnspod.cn.:4.3.3.4,60|1.2.3.4",
                ["2.3.3.4 2.3.3.5 120", "3.3.3.4 180", "4.3.3.4 60"]
            ),
            (
                "cloud.tencent.com.:0\nwww.qq.com.:3.3.3.4,180\nwww.dnspod.cn.:4.3.3.4,60|1.2.3.4",
                ["empty", "3.3.3.4 180", "4.3.3.4 60"]
            ),
            (
                "www.dnspod.cn.:4.3.3.4,60|1.2.3.4\r\nWWW.qq.com:3.3.3.4,180|1.2.3.4\r\n"
                    + "cloud.tencent.com.:2.3.3.4,120|1.2.3.4\r\n",
                ["2.3.3.4 120", "3.3.3.4 180", "4.3.3.4 60"]
            ),
        ])
    func several(body: String, expected: [String]) {
        #expect(heard(body, three) == expected)
    }

    @Test(
        "what is wrong with one name is that name's failure only",
        arguments: [
            // The body has no line for the name.
            ("cloud.tencent.com.:2.3.3.4,120\nwww.dnspod.cn.:4.3.3.4,60", "wrongQuestion"),
            // The body has the line of another name instead.
            ("cloud.tencent.com.:2.3.3.4,120\nx.qq.com.:6.6.6.6,9\nwww.dnspod.cn.:4.3.3.4,60", "wrongQuestion"),
            // A line has no name.
            ("cloud.tencent.com.:2.3.3.4,120\n6.6.6.6,180\nwww.dnspod.cn.:4.3.3.4,60", "wrongQuestion"),
            ("6.6.6.6\ncloud.tencent.com.:2.3.3.4,120\nwww.dnspod.cn.:4.3.3.4,60", "wrongQuestion"),
            // The line is garbled.
            ("cloud.tencent.com.:2.3.3.4,120\nwww.qq.com.:<html>\nwww.dnspod.cn.:4.3.3.4,60", "garbage"),
            ("cloud.tencent.com.:2.3.3.4,120\nwww.qq.com.:\nwww.dnspod.cn.:4.3.3.4,60", "garbage"),
            ("cloud.tencent.com.:2.3.3.4,120\nwww.qq.com.:3.3.3.4,x\nwww.dnspod.cn.:4.3.3.4,60", "garbage"),
            // The name has two lines; the first one counts.
            (
                "cloud.tencent.com.:2.3.3.4,120\nwww.qq.com.:3.3.3.4,180\nwww.qq.com.:6.6.6.6,1\n"
                    + "www.dnspod.cn.:4.3.3.4,60",
                "3.3.3.4 180"
            ),
        ])
    func oneOfSeveral(body: String, second: String) {
        #expect(heard(body, three) == ["2.3.3.4 120", second, "4.3.3.4 60"])
    }

    @Test(
        "how long emptiness lasts is what the reply says of it, by family",
        arguments: [
            ("www.qq.com.:0,45|1.2.3.4", ["ambiguousEmpty 45"]), ("www.qq.com.:0,0", ["ambiguousEmpty 60"]),
            ("www.qq.com.:0", ["ambiguousEmpty 60"]), ("www.qq.com.:0,x", ["garbage"]),
            ("www.qq.com.:0,45-0,30", ["ambiguousEmpty 45", "ambiguousEmpty 30"]),
            ("www.qq.com.:3.3.3.4,180-0,30", ["3.3.3.4 180", "ambiguousEmpty 30"]),
        ])
    func lifetimeOfEmptiness(body: String, expected: [String]) throws {
        let asked = [three[1], try question("www.qq.com", .aaaa)].prefix(expected.count)
        #expect(dialect.heard(body, Array(asked)) == expected)
    }

    @Test("an empty reply to several names is about none of them", arguments: ["", "\n\n", "0", "|1.2.3.4"])
    func emptyForSeveral(body: String) {
        #expect(heard(body, three) == Array(repeating: "wrongQuestion", count: 3))
    }

    @Test("a reply that fails as a whole fails for each name")
    func wholeFailure() {
        for (status, error) in [(401, DialectError.account("401")), (429, .throttled(retryAfterSeconds: nil))] {
            let results = dialect.answers(from: reply("cloud.tencent.com.:2.3.3.4", status: status), to: three)
            #expect(results == Array(repeating: .failure(error), count: 3))
        }
    }

    @Test("every cut of a reply leaves each name its own addresses or none")
    func cuts() {
        let body = "cloud.tencent.com.:2.3.3.4,120|1.2.3.4\nwww.qq.com.:3.3.3.4,180|1.2.3.4\nwww.dnspod.cn.:4.3.3.4,60"
        for length in 0...body.count {
            let results = dialect.answers(from: reply(String(body.prefix(length))), to: three)
            for (own, result) in zip(["2.3.3.4", "3.3.3.4", "4.3.3.4"], results) {
                guard case .success(let answer) = result else { continue }
                #expect(answer.addresses.allSatisfy { own.hasPrefix($0.description) }, "cut at \(length)")
            }
        }
    }

    @Test("ten thousand lines about others hide nothing and give nothing")
    func manyLines() {
        let others = Array(repeating: "x.y:1\n", count: 10_000).joined()
        #expect(heard(others, three) == Array(repeating: "wrongQuestion", count: 3))
        #expect(heard(others + "www.qq.com.:3.3.3.4,180", three)[1] == "3.3.3.4 180")
    }

    @Test("a name that is asked twice in one request is answered twice")
    func twice() {
        #expect(heard("www.qq.com.:3.3.3.4,180", [three[1], three[1]]) == ["3.3.3.4 180", "3.3.3.4 180"])
    }

    // MARK: the server's side

    @Test("the server reads what clients send")
    func serverReads() throws {
        let url = "/d?dn=cloud.tencent.com%2CWWW.qq.com.,www.dnspod.cn&clientip=1&ttl=1&query=1&token=567890"
        #expect(try dialect.questions(from: HTTPRequest(url: url)) == three)
        let ofTheOtherFamily = try dialect.questions(from: HTTPRequest(url: "/d?token=567890&dn=www.qq.com&type=AAAA"))
        #expect(ofTheOtherFamily == [try question("www.qq.com", .aaaa)])
    }

    @Test(
        "requests without the token are 401, those that can't be read are refused",
        arguments: [
            ("/d?dn=a.example", DialectError.account("token")), ("/d?dn=a.example&token=", .account("token")),
            ("/d?dn=a.example&token=567891", .account("token")),
            ("/d?token=567890", .garbage("no parameter dn")), ("/d?token=567890&dn=", .garbage("not a name")),
            ("/d?token=567890&dn=a.example,", .garbage("not a name")),
            ("/d?token=567890&dn=a.example,.", .garbage("not a name")),
            ("/d?token=567890&dn=a,b,c,d,e,f,g,h,i", .garbage("more than 8 names")),
            ("/d?token=567890&dn=a.example&type=ns", .garbage("type is neither absent nor aaaa nor addrs")),
            ("/d?token=567890&dn=a.example;", .garbage("dn ends in no time")),
            ("/d?token=567890&dn=a.example;1755525850;1", .garbage("dn ends in no time")),
            ("/d?token=567890&dn=a.example;1755525250", .clock), ("/d?token=567890&dn=a.example;1755526000", .clock),
        ])
    func serverRefuses(url: String, error: DialectError) {
        #expect(throws: error) { try dialect.questions(from: HTTPRequest(url: url)) }
    }

    @Test("the vendor's statuses for what was refused")
    func errors() {
        #expect(dialect.reply(to: .account("token")).status == 401)
        #expect(dialect.reply(to: .clock).status == 401)
        #expect(dialect.reply(to: .garbage("dn")).status == 400)
    }

    @Test("the server answers in the vendor's bytes, each line whole for the vendor's own clients")
    func serverAnswers() throws {
        let answer = Answer(records: [
            try record("www.qq.com", .a, 120, "192.0.2.10"), try record("www.qq.com", .a, 120, "192.0.2.11"),
        ])
        let reply = dialect.reply(
            to: three, with: [.answer(Answer(negative: .noSuchName)), .answer(answer), .refusal(.refused)])
        #expect(
            String(decoding: reply.body, as: UTF8.self) == """
                cloud.tencent.com.:0|203.0.113.7
                www.qq.com.:192.0.2.10;192.0.2.11,120|203.0.113.7
                www.dnspod.cn.:0|203.0.113.7
                """)
    }

    @Test("eight names at once come back as they were said, over seeded random answers")
    func roundTrip() throws {
        var random = SeededBytes(seed: 3)
        for round in 0..<100 {
            let type: RecordType = round.isMultiple(of: 2) ? .a : .aaaa
            let asked = try (0..<8).map { _ in Question(try random.name(), type) }
            guard Set(asked).count == 8 else { continue }
            #expect(try dialect.questions(from: try dialect.request(for: asked)) == asked)
            let answers = try asked.map { try random.answer(to: $0) }
            let heard = dialect.answers(from: dialect.reply(to: asked, with: answers.map { .answer($0) }), to: asked)
            for (said, result) in zip(answers, heard) {
                let answer = try result.get()
                #expect(answer.addresses == said.addresses, "seed 3, round \(round)")
                #expect(answer.kind == (said.kind == .records ? .records : .ambiguousEmpty), "seed 3, round \(round)")
            }
        }
    }
}
