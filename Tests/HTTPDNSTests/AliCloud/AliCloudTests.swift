// Version 1 of Alibaba's service: the vectors and shapes of providers.md 2.2, and exchange A1 of 9.1.

import DNSWire
import HTTPDNS
import Testing

struct AliCloudTests {
    private let signed = AliCloud(url: "http://203.107.1.1/", account: "100000", secret: "IAmASecret")
    private let unsigned = AliCloud(url: "http://203.107.1.1", account: "100000", secret: nil)
    private let aliyun: [Question]
    private let taobao: [Question]

    init() throws {
        aliyun = [try question("www.aliyun.com"), try question("www.aliyun.com", .aaaa)]
        taobao = [try question("www.taobao.com"), try question("www.taobao.com", .aaaa)]
    }

    // MARK: requests

    @Test("the vendor's printed example: both families of one name, for a client, signed")
    func printedExample() throws {
        let context = try DialectContext.test(clientSubnet: "42.120.74.99/32", unixSeconds: 1_534_315_800)
        #expect(
            try signed.request(for: aliyun, in: context).url
                == "http://203.107.1.1/100000/sign_d?host=www.aliyun.com&query=4,6&ip=42.120.74.99&t=1534316400"
                + "&s=60c71e98b6d7fcbb366243e224eab457")
    }

    @Test("several names are signed as the list that they are sent as")
    func signedBatch() throws {
        let context = try DialectContext.test(unixSeconds: 1_534_315_800)
        #expect(
            try signed.request(for: [aliyun[0], taobao[0]], in: context).url
                == "http://203.107.1.1/100000/sign_resolve?host=www.aliyun.com,www.taobao.com&query=4&t=1534316400"
                + "&s=12a3f6b1b14a46ca813ca6439beb59a4")
    }

    @Test("without a secret nothing is signed; both families in any order are one question")
    func unsignedRequests() throws {
        let base = "http://203.107.1.1/100000/"
        #expect(try unsigned.request(for: [aliyun[1]]).url == base + "d?host=www.aliyun.com&query=6")
        let all = [taobao[1], aliyun[0], aliyun[1], taobao[0]]
        #expect(
            try unsigned.request(for: all).url == base + "resolve?host=www.taobao.com,www.aliyun.com&query=4,6")
        #expect(try unsigned.request(for: aliyun).method == .get)
    }

    @Test(
        "the client is the subnet's first address; a subnet of length 0 can't be said",
        arguments: [("1.2.3.0/24", "&ip=1.2.3.0"), ("2001:db8::/32", "&ip=2001%3Adb8%3A%3A"), ("0.0.0.0/0", "")])
    func clientSubnet(text: String, parameter: String) throws {
        let url = try unsigned.request(for: [aliyun[0]], in: .test(clientSubnet: text)).url
        #expect(url == "http://203.107.1.1/100000/d?host=www.aliyun.com&query=4" + parameter)
    }

    @Test("other types, the root and names with strange bytes are left to other upstreams")
    func unsupported() throws {
        #expect(unsigned.supports(.aaaa) && !unsigned.supports(.https))
        for asked in [try question("www.example.com", .mx), Question(.root, .a), try question("a,b.example")] {
            #expect(!unsigned.supports(asked))
            #expect(throws: DialectError.unsupported) { try unsigned.request(for: asked) }
        }
    }

    // MARK: replies

    @Test("raw exchange A1, byte for byte: the TTL is what is left, not the original one")
    func exchangeA1() throws {
        let body =
            #"{"host":"www.aliyun.com","ips":["192.0.2.10"],"ttl":57,"origin_ttl":120,"client_ip":"42.120.74.99"}"#
        #expect(body.utf8.count == 99)
        let target = "/100000/sign_d?host=www.aliyun.com&query=4&t=1755525850&s=e08d0e437db0573140c82b80ebc38496"
        let server = AliCloud(url: "", account: "100000", secret: "IAmASecret")
        #expect(try server.request(for: [aliyun[0]]) == HTTPRequest(url: target))
        #expect(try server.questions(from: HTTPRequest(url: target)) == [aliyun[0]])
        #expect(signed.heard(body, [aliyun[0]]) == ["192.0.2.10 57"])
        #expect(signed.heard(reply(#"{"code":"SignatureExpired"}"#, status: 403), [aliyun[0]]) == ["clock"])
    }

    @Test(
        "the vendor's own replies to one name in both families",
        arguments: [
            (
                #"{"host":"www.aliyun.com","ips":["192.0.2.10"],"ipsv6":["2001:db8::10"],"ttl":57,"origin_ttl":120}"#,
                ["192.0.2.10 57", "2001:db8::10 57"]
            ),
            (#"{"host":"www.aliyun.com","ips":[],"ttl":300}"#, ["ambiguousEmpty 300", "ambiguousEmpty 300"]),
            (
                #"{"host":"www.aliyun.com","ips":["192.0.2.10"],"ttl":57,"extra":"{&quot;k&quot;:&quot;v&quot;}"}"#,
                ["192.0.2.10 57", "ambiguousEmpty 57"]
            ),
            (
                #"{"host":"WWW.aliyun.com.","ips":["192.0.2.10","x","192.0.2.11"],"ipsv6":[],"ttl":"0"}"#,
                ["192.0.2.10 192.0.2.11 60", "ambiguousEmpty 60"]
            ),
            (#"{"host":"www.aliyun.com","ips":["192.0.2.10"],"ttl":-7}"#, ["192.0.2.10 60", "ambiguousEmpty 60"]),
            (#"{"host":"www.aliyun.com","ips":["192.0.2.10"],"ipsv6":null}"#, ["192.0.2.10 60", "ambiguousEmpty 60"]),
            (#"{"host":"www.aliyun.com","ips":["2001:db8::1"],"ttl":57}"#, ["garbage", "ambiguousEmpty 57"]),
            (#"{"host":"www.taobao.com","ips":["6.6.6.6"],"ttl":57}"#, ["wrongQuestion", "wrongQuestion"]),
            (#"{"host":"www.aliyun.com","ttl":57}"#, ["garbage", "garbage"]),
            (#"{"code":"success"}"#, ["garbage", "garbage"]),
        ])
    func single(body: String, expected: [String]) {
        #expect(signed.heard(body, aliyun) == expected)
    }

    @Test("a reply about IPv6 alone")
    func singleV6() {
        let body = #"{"host":"www.aliyun.com","ipsv6":["2001:db8::10"],"ttl":57,"origin_ttl":120,"client_ip":"x"}"#
        #expect(signed.heard(body, [aliyun[1]]) == ["2001:db8::10 57"])
    }

    @Test(
        "the vendor's own replies to several names, under either root key, in any order",
        arguments: ["dns", "results"])
    func batch(key: String) {
        let body = #"""
            {"\#(key)":[{"host":"www.taobao.com","client_ip":"x","ips":["192.0.2.2"],"type":1,"ttl":46,"origin_ttl":60},
            {"host":"www.taobao.com","client_ip":"x","ips":[],"type":28,"ttl":3600},
            {"host":"WWW.ALIYUN.COM","client_ip":"x","ips":["2001:db8::1"],"type":"28","ttl":106,"origin_ttl":120},
            {"host":"www.aliyun.com","client_ip":"x","ips":["192.0.2.1"],"ttl":106},
            {"host":"www.aliyun.com","client_ip":"x","ips":["6.6.6.6"],"type":1,"ttl":1},
            {"host":"not.asked.example","client_ip":"x","ips":["6.6.6.6"],"type":1,"ttl":1}]}
            """#
        #expect(
            signed.heard(body, aliyun + taobao)
                == ["192.0.2.1 106", "2001:db8::1 106", "192.0.2.2 46", "ambiguousEmpty 3600"])
    }

    @Test("a name or family that a list leaves out is that question's failure alone; ipsv6 counts there too")
    func missingFromBatch() {
        let body = #"""
            {"dns":[{"host":"www.aliyun.com","ips":["192.0.2.1"],"ttl":9},{"host":"a..b","ips":[]},
            {"host":"www.aliyun.com","ipsv6":["2001:db8::1"],"ttl":8}]}
            """#
        #expect(
            signed.heard(body, aliyun + taobao) == ["192.0.2.1 9", "2001:db8::1 8", "wrongQuestion", "wrongQuestion"])
        #expect(signed.heard(#"{"dns":[]}"#, aliyun) == ["wrongQuestion", "wrongQuestion"])
        #expect(signed.heard(#"{"dns":[{"host":"www.aliyun.com","ips":[],"type":1}]}"#, aliyun)[1] == "wrongQuestion")
    }

    @Test(
        "the vendor's error codes, each for what it means to us",
        arguments: [
            (403, "SignatureExpired", DialectError.clock), (403, "InvalidDuration", .clock),
            (400, "InvalidDuration", .clock),
            (403, "InvalidSignature", .account("InvalidSignature")),
            (403, "InvalidAccount", .account("InvalidAccount")),
            (403, "AccountNotExists", .account("AccountNotExists")),
            (403, "UnsignedInterfaceDisabled", .account("UnsignedInterfaceDisabled")),
            (403, "ServiceLevelDeny", .wrongNode), (400, "InvalidHost", .unsupported),
            (400, "MissingArgument", .status(400)),
            (400, "TooManyHosts", .status(400)), (400, "LimitExceeded", .status(400)),
            (400, "SdnsNotSupported", .status(400)),
            (405, "MethodNotAllowed", .status(405)), (500, "InternalError", .status(500)),
            (403, "Unheard", .status(403)),
            (429, "InvalidAccount", .throttled(retryAfterSeconds: nil)),
        ])
    func errors(status: Int, code: String, error: DialectError) {
        let reply = reply("{\"code\":\"\(code)\"}", status: status)
        #expect(signed.answers(from: reply, to: aliyun) == [.failure(error), .failure(error)])
    }

    // MARK: the server's side

    @Test("the server says what the vendor says")
    func serverAnswers() throws {
        let context = try DialectContext.test(clientSubnet: "42.120.74.99/32")
        let a = Resolution.answer(Answer(records: [try record("www.aliyun.com", .a, 57, "192.0.2.10")]))
        let aaaa = Resolution.answer(Answer(records: [try record("www.aliyun.com", .aaaa, 90, "2001:db8::10")]))
        let text = { (questions: [Question], resolutions: [Resolution]) in
            String(decoding: signed.reply(to: questions, with: resolutions, in: context).body, as: UTF8.self)
        }
        #expect(
            text([aliyun[0]], [a])
                == #"{"host":"www.aliyun.com","ips":["192.0.2.10"],"ttl":57,"origin_ttl":57,"#
                + #""client_ip":"42.120.74.99"}"#
        )
        #expect(
            text(aliyun, [a, aaaa])
                == #"{"host":"www.aliyun.com","ips":["192.0.2.10"],"ipsv6":["2001:db8::10"],"ttl":57,"origin_ttl":57,"#
                + #""client_ip":"42.120.74.99"}"#)
        #expect(text([aliyun[0]], [.refusal(.refused)]) == #"{"host":"www.aliyun.com","ips":[],"ttl":300}"#)
        let negative = Resolution.answer(Answer(negative: .noSuchName, ttlSeconds: 30))
        #expect(
            text([aliyun[0], taobao[1]], [a, negative])
                == #"{"dns":[{"host":"www.aliyun.com","client_ip":"42.120.74.99","ips":["192.0.2.10"],"type":1,"#
                + #""ttl":57,"origin_ttl":57},"#
                + #"{"host":"www.taobao.com","client_ip":"42.120.74.99","ips":[],"type":28,"ttl":30}]}"#
        )
    }

    @Test(
        "the server refuses as the vendor does",
        arguments: [
            ("/100001/d?host=a.example", 403, "AccountNotExists"), ("/100000/d", 400, "MissingArgument"),
            ("/100000/d?host=a.example,b.example", 400, "TooManyHosts"),
            ("/100000/resolve?host=a,b,c,d,e,f", 400, "LimitExceeded"), ("/100000/d?host=a..b", 400, "InvalidHost"),
            ("/100000/d?host=.", 400, "InvalidHost"), ("/100000/d?host=a.example&query=5", 400, "MissingArgument"),
            ("/100000/sign_d?host=a.example", 400, "MissingArgument"),
            ("/100000/sign_d?host=a.example&t=1755525850&s=0", 403, "InvalidSignature"),
        ])
    func serverRefuses(url: String, status: Int, code: String) throws {
        let error = #expect(throws: DialectError.self) { try signed.questions(from: HTTPRequest(url: url)) }
        let refusal = signed.reply(to: try #require(error))
        #expect(refusal.status == status)
        #expect(String(decoding: refusal.body, as: UTF8.self) == "{\"code\":\"\(code)\"}")
    }

    @Test(
        "a signature lives from now on, and a day at most",
        arguments: [
            (0, nil), (599, nil), (600, "SignatureExpired"), (100_000, "SignatureExpired"), (-85_800, nil),
            (-85_801, "InvalidDuration"), (-1_000_000, "InvalidDuration"),
        ] as [(Int64, String?)])
    func serverClock(lateSeconds: Int64, code: String?) throws {
        let request = try signed.request(for: aliyun)
        let late = try DialectContext.test(unixSeconds: 1_755_525_250 + lateSeconds)
        let outcome = Result { () throws(DialectError) in try signed.questions(from: request, in: late) }
        switch outcome {
        case .success(let questions): #expect(code == nil && questions == aliyun)
        case .failure(let error):
            let body = signed.reply(to: error).body
            #expect(try String(decoding: body, as: UTF8.self) == "{\"code\":\"\(#require(code))\"}")
            #expect(signed.heard(signed.reply(to: error), aliyun) == ["clock", "clock"])
        }
    }

    @Test("POST is 405, a signature without a secret can't be checked, a path of another call is 404")
    func serverOddities() throws {
        let errors: [(HTTPRequest, AliCloud, Int)] = [
            (HTTPRequest(method: .post, url: "/100000/d?host=a.example"), signed, 405),
            (HTTPRequest(url: "/100000/sign_d?host=a.example&t=1&s=1"), unsigned, 403),
            (HTTPRequest(url: "/100000/ss"), signed, 404), (HTTPRequest(url: "/d"), signed, 404),
        ]
        for (request, dialect, status) in errors {
            let error = #expect(throws: DialectError.self) { try dialect.questions(from: request) }
            #expect(dialect.reply(to: try #require(error)).status == status)
        }
        #expect(AliCloud.isPath("/100000/sign_resolve") && !AliCloud.isPath("/100000/ss") && !AliCloud.isPath("/d"))
    }
}
