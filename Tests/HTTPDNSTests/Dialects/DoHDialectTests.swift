// DNS over HTTPS (RFC 8484): requests by GET and POST, and replies whose age is subtracted from the TTLs.

import DNSWire
import HTTPDNS
import Testing

struct DoHDialectTests {
    let dialect = DoHDialect(url: "https://dns.example/dns-query")
    let asked: Question

    init() throws {
        asked = try question("www.example.com")
    }

    private var addresses: Answer {
        get throws {
            Answer(records: [
                try record("www.example.com", .cname, 300, "edge.example.net"),
                try record("edge.example.net", .a, 600, "192.0.2.10"),
            ])
        }
    }

    private func reply(_ body: [UInt8], _ headers: [(String, String)] = []) -> HTTPReply {
        HTTPReply(headers: HTTPHeaders(headers.map { HTTPHeaders.Field($0.0, $0.1) }), body: body)
    }

    @Test("a GET carries the message in the URL, with id 0, and begins as RFC 8484 section 4.1.1 shows")
    func get() throws {
        let request = try dialect.request(for: try question("WWW.example.com"))
        let prefix = "https://dns.example/dns-query?dns=AAABAAABAAAAAAABA3d3dwdleGFtcGxlA2NvbQAAAQAB"
        #expect(request.method == .get && request.body.isEmpty)
        #expect(request.url == prefix + "AAApBNAAAAAAAAA", "the question, then EDNS with 1232 bytes")
        #expect(request.headers == HTTPHeaders([.init("Accept", "application/dns-message")]))
    }

    @Test("a POST carries the message in the body, padded to blocks of 128 bytes")
    func post() throws {
        let dialect = DoHDialect(url: "https://dns.example/dns-query", method: .post)
        let lengths = try [
            "a.example", "www.example.com",
            "\(String(repeating: "x", count: 63)).\(String(repeating: "y", count: 63)).example",
        ]
        .map { try dialect.request(for: try question($0)).body.count }
        #expect(lengths == [128, 128, 256])
        let request = try dialect.request(for: asked)
        #expect(request.method == .post && request.url == "https://dns.example/dns-query")
        #expect(request.headers["content-type"] == "application/dns-message")
        #expect(request.body.prefix(12) == [0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1])
    }

    @Test("a client subnet goes along, in both methods, and nothing about it without one (RFC 7871)")
    func clientSubnet() throws {
        let context = try DialectContext.test(clientSubnet: "203.0.113.0/24")
        let get = try dialect.request(for: [asked], in: context)
        #expect(
            get.url == "https://dns.example/dns-query?dns=AAABAAABAAAAAAABA3d3dwdleGFtcGxlA2NvbQAAAQAB"
                + "AAApBNAAAAAAAAsACAAHAAEYAMsAcQ")
        let dialect = DoHDialect(url: "https://dns.example/dns-query", method: .post)
        let post = try dialect.request(for: [asked], in: context)
        #expect(post.body.count == 128 && post.body.contains([0, 8, 0, 7, 0, 1, 24, 0, 203, 0, 113]))
        #expect(try !dialect.request(for: asked).body.contains([0, 8, 0, 7]))
        for request in [get, post] { #expect(try dialect.question(from: request) == asked) }
    }

    @Test("the vectors of RFC 8484 section 4.1.1 are read, and our own requests differ by EDNS alone")
    func vectors() throws {
        let vectors: [(RecordType, String)] = [
            (.a, "AAABAAABAAAAAAAAA3d3dwdleGFtcGxlA2NvbQAAAQAB"),
            (.aaaa, "AAABAAABAAAAAAAAA3d3dwdleGFtcGxlA2NvbQAAHAAB"),
        ]
        for (type, text) in vectors {
            let asked = try question("www.example.com", type)
            #expect(try dialect.question(from: HTTPRequest(url: "/dns-query?dns=\(text)")) == asked)
            let own = try #require(URLQuery.value(of: "dns", in: try dialect.request(for: asked).url))
            // The 16th character holds the low bits of ARCOUNT, which is 1 with EDNS.
            #expect(own.prefix(15) == text.prefix(15) && own.dropFirst(16).hasPrefix(text.dropFirst(16)))
        }
    }

    @Test("any type and any name can be asked")
    func anyType() throws {
        for question in [try question("a\\032b\\255.example", .https), Question(.root, .ns)] {
            #expect(dialect.supports(question.type))
            #expect(try dialect.question(from: try dialect.request(for: question)) == question)
        }
    }

    @Test("the server understands RFC 8484's own example, with padding too")
    func serverReads() throws {
        for text in ["AAABAAABAAAAAAAAA3d3dwdleGFtcGxlA2NvbQAAAQAB", "AAABAAABAAAAAAAAA3d3dwdleGFtcGxlA2NvbQAAAQAB=="] {
            #expect(try dialect.question(from: HTTPRequest(url: "/dns-query?dns=\(text)")) == asked)
        }
    }

    @Test(
        "requests that are no query are refused",
        arguments: [
            "/dns-query", "/dns-query?dns=", "/dns-query?dns=A", "/dns-query?dns=A*AA", "/dns-query?dns=AAABAAAB",
        ])
    func badRequests(url: String) {
        #expect(throws: DialectError.self) { try dialect.question(from: HTTPRequest(url: url)) }
    }

    @Test("a POST of another media type is refused with 415")
    func mediaType() throws {
        let body = try DoHDialect(url: "", method: .post).request(for: asked).body
        #expect(throws: DialectError.status(415)) {
            try dialect.question(from: HTTPRequest(method: .post, url: "/dns-query", body: body))
        }
    }

    @Test("Age comes off every TTL, and max-age caps the rest")
    func freshness() throws {
        let body = dialect.reply(to: asked, with: try addresses).body
        let cases: [([(String, String)], [UInt32])] = [
            ([], [300, 600]), ([("Age", "250")], [50, 350]), ([("age", "400")], [0, 200]),
            ([("Cache-Control", "max-age=100")], [100, 100]),
            ([("Cache-Control", "private, Max-Age=\"400\""), ("Age", "50")], [250, 350]),
            ([("Cache-Control", "max-age=100"), ("Age", "200")], [0, 0]),
            ([("Cache-Control", "no-store, max-age=x")], [300, 600]),
            ([("Cache-Control", "s-maxage=5")], [300, 600]), ([("Age", "-1")], [300, 600]),
        ]
        for (headers, lifetimes) in cases {
            let answer = try dialect.answer(from: reply(body, headers), to: asked)
            #expect(answer.records.map(\.ttlSeconds) == lifetimes, "\(headers)")
            #expect(answer.ttlSeconds == lifetimes.min())
        }
    }

    @Test("the negative TTL ages, not the SOA record's own")
    func negativeFreshness() throws {
        let soa = try record("example.com", .soa, 900, "ns1.example.com admin.example.com 1 2 3 4 180")
        let body = dialect.reply(to: asked, with: Answer(negative: .noSuchName, authority: soa)).body
        let heard = try dialect.answer(from: reply(body, [("Age", "100")]), to: asked)
        #expect(heard.kind == .noSuchName)
        #expect(heard.ttlSeconds == 80)
    }

    @Test("every cut of a message is a failure")
    func cuts() throws {
        let soa = try record("example.com", .soa, 900, "ns1.example.com admin.example.com 1 2 3 4 180")
        for answer in [try addresses, Answer(negative: .noData, authority: soa)] {
            let body = dialect.reply(to: asked, with: answer).body
            for length in body.indices {
                let outcome = outcome(of: reply(Array(body.prefix(length))), to: asked, by: dialect)
                #expect(outcome.error != nil, "cut at \(length)")
            }
        }
    }

    @Test("a changed header is a failure: QR=0, TC=1, another id, an opcode, no question")
    func headers() throws {
        let body = dialect.reply(to: asked, with: try addresses).body
        let changes: [(String, Int, UInt8)] = [
            ("id", 1, 0x01), ("QR", 2, 0x80), ("TC", 2, 0x02), ("opcode", 2, 0x08), ("QDCOUNT", 5, 0x01),
            ("RCODE", 3, 0x02),
        ]
        for (what, offset, bit) in changes {
            var changed = body
            changed[offset] ^= bit
            #expect(outcome(of: reply(changed), to: asked, by: dialect).error != nil, "\(what)")
        }
    }

    @Test("a reply to another question is told apart from garbage")
    func wrongQuestion() throws {
        for other in [try question("www.example.org"), try question("www.example.com", .aaaa)] {
            let body = dialect.reply(to: other, with: try addresses).body
            #expect(outcome(of: reply(body), to: asked, by: dialect).error == .wrongQuestion)
        }
    }

    @Test("a page with status 200 is garbage")
    func otherMediaType() throws {
        let body = dialect.reply(to: asked, with: try addresses).body
        #expect(outcome(of: reply(body, [("Content-Type", "text/html")]), to: asked, by: dialect).isGarbage)
        for type in [
            "application/dns-messageX", "application/dns-message+x", "application/dns-message x", "", ";", "x",
        ] {
            #expect(outcome(of: reply(body, [("Content-Type", type)]), to: asked, by: dialect).isGarbage, "\(type)")
        }
        for type in [
            "Application/DNS-Message; x=y", "application/dns-message ;x", "application/dns-message\t",
            "application/dns-message",
        ] {
            let answer = try dialect.answer(from: reply(body, [("content-type", type)]), to: asked)
            #expect(answer == (try addresses), "\(type)")
        }
    }
}
