// The JSON dialect of AliDNS, Google and Cloudflare: requests, replies, and invalid replies.

import DNSWire
import HTTPDNS
import Testing

struct JSONDialectTests {
    let dialect = JSONDialect(url: "https://dns.alidns.com/resolve")
    let asked: Question

    init() throws {
        asked = try question("www.example.com")
    }

    private func answer(_ records: String, status: String = "0", extra: String = "") -> HTTPReply {
        reply("{\"Status\":\(status),\"Answer\":\(records)\(extra)}")
    }

    @Test("the request carries name and type and asks for JSON")
    func request() throws {
        let request = try dialect.request(for: try question("WWW.example.com", .aaaa))
        #expect(
            request
                == HTTPRequest(
                    url: "https://dns.alidns.com/resolve?name=www.example.com&type=AAAA",
                    headers: HTTPHeaders([.init("Accept", "application/dns-json")])))
    }

    @Test(
        "the clients' subnet is asked for, and nothing is said about it without one",
        arguments: [
            ("1.2.3.0/24", "&edns_client_subnet=1.2.3.0/24"), ("0.0.0.0/0", "&edns_client_subnet=0.0.0.0/0"),
            ("2001:db8::/32", "&edns_client_subnet=2001%3Adb8%3A%3A/32"),
        ])
    func clientSubnet(text: String, parameter: String) throws {
        let request = try dialect.request(for: [asked], in: .test(clientSubnet: text))
        #expect(request.url == "https://dns.alidns.com/resolve?name=www.example.com&type=A" + parameter)
        #expect(try dialect.question(from: request) == asked)
    }

    @Test("Cloudflare's own example: an address, with a list of comments")
    func cloudflare() throws {
        let dialect = JSONDialect(url: "https://cloudflare-dns.com/dns-query")
        let asked = try question("example.com", .aaaa)
        let request = try dialect.request(for: asked)
        #expect(request.url == "https://cloudflare-dns.com/dns-query?name=example.com&type=AAAA")
        #expect(request.headers["accept"] == "application/dns-json")
        let body = """
            {"Status":0,"TC":false,"RD":true,"RA":true,"AD":true,"CD":false,
            "Question":[{"name":"example.com.","type":28}],
            "Answer":[{"name":"example.com.","type":28,"TTL":1726,"data":"2001:db8::10"}],
            "Comment":["EDE(22): No Reachable Authority"]}
            """
        #expect(
            try dialect.answer(from: reply(body, [("Content-Type", "application/dns-json")]), to: asked)
                == Answer(records: [try record("example.com", .aaaa, 1726, "2001:db8::10")]))
        let refusal = reply(#"{"error":"Invalid CD flag"}"#, status: 400)
        #expect(outcome(of: refusal, to: asked, by: dialect).error == .status(400))
    }

    @Test("Google's own example: no such name, for as long as the SOA record's MINIMUM")
    func google() throws {
        let dialect = JSONDialect(url: "https://dns.google/resolve")
        let asked = try question("nope.example.com")
        #expect(try dialect.request(for: asked).url == "https://dns.google/resolve?name=nope.example.com&type=A")
        let body = """
            {"Status":3,"TC":false,"RD":true,"RA":true,"AD":false,"CD":false,
            "Question":[{"name":"nope.example.com.","type":1}],
            "Authority":[{"name":"example.com.","type":6,"TTL":900,
            "data":"ns1.example.com. admin.example.com. 1 7200 900 1209600 180"}],
            "Comment":"Response from 192.0.2.53."}
            """
        let heard = try dialect.answer(from: reply(body), to: asked)
        #expect(heard.kind == .noSuchName && heard.ttlSeconds == 180)
    }

    @Test(
        "an extended error is kept in each vendor's form; of several the first about the name counts, else the first",
        arguments: [
            (#""extended_dns_errors":[{"info_code":15,"extra_text":"malware"}]"#, 15, "malware"),
            (#""extended_dns_errors":[{"info_code":"17"}]"#, 17, ""),
            (#""extended_dns_errors":[{"info_code":3},{"info_code":16,"extra_text":"law"}]"#, 16, "law"),
            (#""extended_dns_errors":[{"info_code":70000},7,{"info_code":22,"extra_text":["x"]}]"#, 22, ""),
            (#""Comment":["EDE(16): Censored"]"#, 16, "Censored"),
            (#""Comment":["EDE(22): No Reachable Authority","EDE(9): DNSKEY Missing"]"#, 9, "DNSKEY Missing"),
            (#""Comment":["hello","EDE(3): Stale Answer","EDE(22)"]"#, 3, "Stale Answer"),
            (#""Comment":"EDE(15): Blocked\u001b[2J\u202e""#, 15, "Blocked[2J"),
            (#""extended_dns_errors":{},"Comment":["EDE(18): x"]"#, 18, "x"),
            (#""Comment":"Response from 192.0.2.53.""#, nil, ""),
            (#""Comment":["EDE(x): y"],"extended_dns_errors":[]"#, nil, ""),
        ] as [(String, UInt16?, String)])
    func extendedError(members: String, code: UInt16?, text: String) throws {
        let addresses = #","Answer":[{"name":"www.example.com.","type":1,"TTL":60,"data":"192.0.2.10"}]"#
        for start in [#"{"Status":0\#(addresses)"#, #"{"Status":0"#, #"{"Status":3"#] {
            let remark = try dialect.answer(from: reply("\(start),\(members)}"), to: asked).remark
            #expect(remark?.code == code && remark?.text ?? "" == text, "\(start)")
        }
        let failure = outcome(of: reply("{\"Status\":2,\(members)}"), to: asked, by: dialect).error
        guard case .serverFailure(.serverFailure, let remark) = failure else { Issue.record("\(members)"); return }
        #expect(code == nil || remark?.code == code)
    }

    @Test("an extended error survives the way from the lab's reply to the answer")
    func extendedErrorOfLab() throws {
        let address = Answer(records: [try record("www.example.com", .a, 9, "192.0.2.1")])
        for answer in [Answer(negative: .noSuchName), address] {
            let told = answer.remarked(ExtendedError(upstream: 15, text: "a filter".utf8))
            let read = try dialect.answer(from: dialect.reply(to: asked, with: told), to: asked)
            #expect(read == answer && read.remark == told.remark)
        }
    }

    @Test("types without a common text are left to other upstreams")
    func unsupported() throws {
        for asked in [try question("a.example", .any), try question("a.example", .hinfo)] {
            #expect(throws: DialectError.unsupported) { try dialect.request(for: asked) }
        }
        #expect(dialect.supports(.mx) && dialect.supports(.caa) && dialect.supports(.https))
    }

    @Test("a whole reply of the common shape is read")
    func wholeReply() throws {
        let body = """
            {"Status":0,"TC":false,"RD":true,"RA":true,"AD":false,"CD":false,
             "Question":[{"name":"www.example.com.","type":1}],
             "Answer":[{"name":"www.example.com.","type":5,"TTL":300,"data":"edge.example.net."},
                       {"name":"edge.example.net.","type":1,"TTL":60,"data":"192.0.2.10"}],
             "Additional":[],"edns_client_subnet":"203.0.113.0/24","Comment":["x"]}
            """
        #expect(
            try dialect.answer(from: reply(body), to: asked)
                == Answer(records: [
                    try record("www.example.com", .cname, 300, "edge.example.net"),
                    try record("edge.example.net", .a, 60, "192.0.2.10"),
                ]))
    }

    @Test(
        "differences in form are tolerated",
        arguments: [
            #"{"Status":"0","Answer":[{"name":"www.example.com","type":"1","TTL":"60","data":"192.0.2.10"}]}"#,
            #"""
            {"Status":0,"Question":{"name":"www.example.com","type":1},
            "Answer":[{"name":"WWW.example.COM.","type":1,"TTL":60,"data":"192.0.2.10"}]}
            """#,
            #"""
            {"Status":0,"Question":[],"TC":null,
            "Answer":[{"name":"www.example.com.","type":1,"data":"192.0.2.10"}]}
            """#,
            #"""
            {"Status":0,"Question":null,
            "Answer":[{"name":"www.example.com.","type":1,"TTL":null,"data":"192.0.2.10"}],
            "Authority":null}
            """#,
            #"""
            {"Status":0,
            "Answer":[{"name":"www.example.com.","type":1,"TTL":60,"data":"192.0.2.10"},
            {"name":"www.example.com.","type":1,"TTL":60,"data":"192.0.2.10"}]}
            """#,
            #"""
            {"Status":0,
            "Answer":[{"name":"evil.example.","type":1,"TTL":1,"data":"6.6.6.6"},
            {"name":"www.example.com.","type":1,"TTL":60,"data":"192.0.2.10"}]}
            """#,
            #"""
            {"Status":0,
            "Answer":[{"name":"..","type":46,"TTL":1,"data":"?"},
            {"name":"www.example.com.","type":1,"TTL":60,"data":"192.0.2.10"}]}
            """#,
        ])
    func tolerance(body: String) throws {
        let answer = try dialect.answer(from: reply(body), to: asked)
        #expect(answer.addresses.map(\.description) == ["192.0.2.10"])
        #expect(answer.ttlSeconds == 60)
    }

    @Test("a chain is followed by name, whatever the order, and what no link leads to is left out")
    func chainByName() throws {
        let records = """
            [{"name":"c.example","type":1,"TTL":9,"data":"192.0.2.3"},
             {"name":"evil.example","type":1,"TTL":1,"data":"6.6.6.6"},
             {"name":"b.example","type":5,"TTL":8,"data":"c.example"},
             {"name":"evil.example","type":5,"TTL":1,"data":"c.example"},
             {"name":"www.example.com","type":5,"TTL":7,"data":"b.example"}]
            """
        #expect(
            try dialect.answer(from: answer(records), to: asked)
                == Answer(records: [
                    try record("www.example.com", .cname, 7, "b.example"),
                    try record("b.example", .cname, 8, "c.example"),
                    try record("c.example", .a, 9, "192.0.2.3"),
                ]))
    }

    @Test("NODATA and NXDOMAIN live as their SOA record says, if its zone holds the name")
    func negatives() throws {
        let soa = { (zone: String, ttl: Int) in
            #"""
            {"name":"\#(zone)","type":6,"TTL":\#(ttl),"data":"ns.example.com. admin.example.com. 1 2 3 4 180"}
            """#
        }
        let cases: [(String, String, Answer.Kind, UInt32)] = [
            ("3", soa("example.com.", 900), .noSuchName, 180), ("3", soa("example.com.", 100), .noSuchName, 100),
            ("0", soa("example.com.", 900), .noData, 180), ("0", soa(".", 900), .noData, 180),
            ("3", soa("evil.example.", 9), .noSuchName, 60), ("0", soa("a.www.example.com.", 9), .noData, 60),
            ("3", soa("evil.example.", 9) + "," + soa("www.example.com.", 90), .noSuchName, 90),
            ("0", "", .noData, 60),
            ("3", #"{"name":"example.com","type":6,"TTL":9,"data":"six fields 1 2 3 4"}"#, .noSuchName, 60),
        ]
        for (status, authority, kind, ttl) in cases {
            let answer = try dialect.answer(
                from: answer("null", status: status, extra: ",\"Authority\":[\(authority)]"), to: asked)
            #expect(answer.kind == kind)
            #expect(answer.ttlSeconds == ttl, "\(authority)")
        }
    }

    @Test("NXDOMAIN at the end of a chain keeps the chain, and the SOA record of the last name's zone")
    func negativeBehindChain() throws {
        let body = #"[{"name":"www.example.com","type":5,"TTL":50,"data":"gone.example.net"}]"#
        let soa = #","Authority":[{"name":"example.net","type":6,"TTL":70,"data":". . 1 2 3 4 90"}]"#
        let answer = try dialect.answer(from: answer(body, status: "3", extra: soa), to: asked)
        #expect(answer.kind == .noSuchName)
        #expect(answer.records == [try record("www.example.com", .cname, 50, "gone.example.net")])
        #expect(answer.authority?.ttlSeconds == 70)
        #expect(answer.ttlSeconds == 50)
    }

    @Test(
        "replies to something else are not answers",
        arguments: [
            #"{"Status":0,"Question":[{"name":"a.example","type":1}],"Answer":[]}"#,
            #"{"Status":3,"Question":[{"name":"a.example","type":1}]}"#,
            #"{"Status":0,"Question":{"name":"www.example.com","type":28},"Answer":[]}"#,
            #"{"Status":0,"Question":[{"name":"","type":1}]}"#,
            #"{"Status":0,"Answer":[{"name":"a.example","type":1,"TTL":60,"data":"6.6.6.6"}]}"#,
            #"{"Status":0,"Answer":[{"name":"a.example","type":46,"TTL":60,"data":"x"}]}"#,
            #"""
            {"Status":0,
            "Answer":[{"name":"www.example.com","type":5,"TTL":6,"data":"b.example"},
            {"name":"a.example","type":1,"TTL":60,"data":"6.6.6.6"}]}
            """#,
        ])
    func foreign(body: String) {
        #expect(outcome(of: reply(body), to: asked, by: dialect).error == .wrongQuestion)
    }

    @Test("a referral to other servers is no word on the name; a SOA record beside it makes it one")
    func referrals() {
        let delegation = #"{"name":"com","type":2,"TTL":60,"data":"ns1.example."}"#
        let authority =
            #"{"name":"example.com","type":6,"TTL":180,"data":"ns1.example. admin.example. 1 7200 900 1209600 180"}"#
        let said = { (records: String) in #"{"Status":0,"Authority":[\#(records)]}"# }
        #expect(outcome(of: reply(said(delegation)), to: asked, by: dialect).isGarbage)
        #expect(dialect.heard(said("\(delegation),\(authority)"), [asked]) == ["noData 180"])
        #expect(dialect.heard(#"{"Status":3,"Authority":[\#(delegation)]}"#, [asked]) == ["noSuchName 60"])
    }

    @Test("other codes are the provider's failure", arguments: ["1", "2", "5", "\"2\"", "16", "65535"])
    func serverFailures(status: String) {
        guard case .serverFailure = outcome(of: answer("[]", status: status), to: asked, by: dialect).error else {
            Issue.record("status \(status) is not a failure")
            return
        }
    }

    @Test(
        "broken, contradictory and hostile bodies are garbage",
        arguments: [
            "", "null", "[]", "{}", "true", "<html>", "{\"Status\":0", #"{"Status":null}"#, #"{"Status":true}"#,
            #"{"status":0}"#, #"{"Status":0,"TC":true}"#, #"{"Status":0,"Answer":{}}"#, #"{"Status":"zero"}"#,
            #"{"Status":-1}"#, #"{"Status":65536}"#, #"{"Status":1e400}"#, #"{"Status":0.5}"#,
            #"{"Status":99999999999999999999999999}"#, #"["192.0.2.10"]"#, #"{"error":"Invalid CD flag"}"#,
            #"{"Status":0,"Answer":[{"name":"www.example.com","type":1,"TTL":60,"data":"192.0.2"}]}"#,
            #"{"Status":0,"Answer":[{"name":"www.example.com","type":1,"TTL":60,"data":"2001:db8::1"}]}"#,
            #"{"Status":0,"Answer":[{"name":"www.example.com","type":1,"TTL":60,"data":null}]}"#,
            #"{"Status":0,"Answer":[{"name":"www.example.com","type":1,"TTL":60,"data":7}]}"#,
            #"{"Status":0,"Answer":[{"name":"www.example.com","type":5,"TTL":60,"data":"a..b"}]}"#,
            #"{"Status":0,"Answer":[{"type":1,"TTL":60,"data":"192.0.2.1"}]}"#, #"{"Status":0,"Answer":[null]}"#,
            #"{"Status":3,"Answer":[{"name":"www.example.com","type":1,"TTL":60,"data":"192.0.2.1"}]}"#,
        ])
    func garbage(body: String) {
        let outcome = outcome(of: reply(body), to: asked, by: dialect)
        #expect(outcome.isGarbage, "\(outcome)")
    }

    @Test("a loop and a chain that is too long are garbage; a chain of 32 is not")
    func chains() throws {
        let link = { (from: String, to: String) in #"{"name":"\#(from)","type":5,"TTL":60,"data":"\#(to)"}"# }
        let loops = [
            [link("www.example.com", "www.example.com")],
            [link("www.example.com", "b.example"), link("b.example", "www.EXAMPLE.com")],
            [link("www.example.com", "b.example"), link("b.example", "c.example"), link("c.example", "b.example")],
        ]
        for loop in loops {
            #expect(outcome(of: answer("[\(loop.joined(separator: ","))]"), to: asked, by: dialect).isGarbage)
        }
        for count in [12, 32, 33] {
            let names = ["www.example.com"] + (1...count).map { "n\($0).example" }
            let links = zip(names, names.dropFirst()).map { link($0, $1) }
            let last = #"{"name":"n\#(count).example","type":1,"TTL":60,"data":"192.0.2.1"}"#
            let outcome = outcome(of: answer("[\((links + [last]).joined(separator: ","))]"), to: asked, by: dialect)
            #expect(outcome.isGarbage == (count == 33))
        }
    }

    @Test("nesting is judged before it is decoded, and brackets in strings don't count")
    func depth() throws {
        let nested = { (count: Int) in
            #"{"Status":3,"x":"# + String(repeating: "[", count: count) + String(repeating: "]", count: count) + "}"
        }
        #expect(
            outcome(of: reply(nested(30_000)), to: asked, by: dialect).error == .garbage("JSON deeper than 8 levels"))
        #expect(outcome(of: reply(nested(8)), to: asked, by: dialect).error == .garbage("JSON deeper than 8 levels"))
        #expect(try outcome(of: reply(nested(7)), to: asked, by: dialect).get().kind == .noSuchName)
        let brackets = #"{"Status":3,"Comment":"\"[[[[[[[[[[[[[[[[[[[["}"#
        #expect(try outcome(of: reply(brackets), to: asked, by: dialect).get().kind == .noSuchName)
    }

    @Test("more records than any name has are garbage")
    func manyRecords() {
        let one = #"{"name":"www.example.com","type":1,"TTL":6,"data":"1.1.1.1"}"#
        let many = "[" + Array(repeating: one, count: 513).joined(separator: ",") + "]"
        #expect(outcome(of: answer(many), to: asked, by: dialect).isGarbage)
    }

    @Test("a negative TTL is 0, a huge one is cut to 31 bits, and the time in HTTP caches comes off")
    func lifetimes() throws {
        let cases: [(String, String, UInt32)] = [
            ("-5", "0", 0), ("0", "0", 0), ("4294967296", "0", 0x7FFF_FFFF), ("600", "250", 350), ("60", "61", 0),
            ("60", "x", 60), ("60", "99999999999", 0),
        ]
        for (ttl, age, expected) in cases {
            let body = #"{"Status":0,"Answer":[{"name":"www.example.com","type":1,"TTL":\#(ttl),"data":"192.0.2.1"}]}"#
            let answer = try dialect.answer(from: reply(body, [("Age", age)]), to: asked)
            #expect(answer.ttlSeconds == expected)
        }
    }

    @Test("the server's reply has the vendor's shape")
    func server() throws {
        let request = HTTPRequest(url: "/resolve?name=www.example.com.&type=28")
        #expect(try dialect.question(from: request) == (try question("www.example.com", .aaaa)))
        #expect(try dialect.question(from: HTTPRequest(url: "/resolve?name=www.example.com")) == asked)
        let answer = Answer(records: [try record("www.example.com", .a, 60, "192.0.2.10")])
        let text = """
            {"Answer":[{"TTL":60,"data":"192.0.2.10","name":"www.example.com.","type":1}],\
            "Question":[{"name":"www.example.com.","type":1}],"RA":true,"RD":true,"Status":0,"TC":false}
            """
        #expect(
            dialect.reply(to: asked, with: answer) == reply(text, [("Content-Type", "application/dns-json")]))
    }

    @Test(
        "a request without a name or with a type that is none is refused",
        arguments: [
            "/resolve", "/resolve?name=", "/resolve?name=a..b", "/resolve?name=a&type=XYZ",
            "/resolve?name=a&type=70000",
        ])
    func badRequests(url: String) {
        #expect(throws: DialectError.self) { try dialect.question(from: HTTPRequest(url: url)) }
    }
}
