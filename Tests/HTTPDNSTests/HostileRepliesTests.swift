// Bodies of a hostile or broken server for every dialect: truncated, changed, too deep, too wide. None may crash the
// parser or yield an answer that the body does not contain.

import DNSWire
import HTTPDNS
import Testing

struct HostileRepliesTests {
    private func body(_ dialect: any Dialect, _ asked: Question) throws -> [UInt8] {
        let records = try ["192.0.2.10", "192.0.2.11"].map { try record("www.example.com", .a, 120, $0) }
        return dialect.reply(to: asked, with: Answer(records: records)).body
    }

    @Test("every cut of a body is a failure, or says no more than the part that came", arguments: Dialects.names)
    func cuts(dialectName: String) throws {
        let dialect = try #require(Dialects.make(named: dialectName, url: "/x"))
        let asked = try question("www.example.com")
        let whole = try body(dialect, asked)
        for length in 0..<whole.count {
            let cut = HTTPReply(body: Array(whole.prefix(length)))
            guard case .success(let answer) = outcome(of: cut, to: asked, by: dialect) else { continue }
            // Tencent's text has no end mark, so a truncated address may be another valid one.
            #expect(dialectName.hasPrefix("dnspod"), "cut at \(length)")
            #expect(answer.addresses.allSatisfy { $0.description.hasPrefix("192.0.2.1") }, "cut at \(length)")
        }
    }

    @Test(
        "a body with bytes changed is read or refused, and its records are about the asked name",
        arguments: Dialects.names)
    func changes(dialectName: String) throws {
        let dialect = try #require(Dialects.make(named: dialectName, url: "/x"))
        let asked = try question("www.example.com")
        let whole = try body(dialect, asked)
        var random = SeededBytes(seed: 21)
        for round in 0..<1000 {
            var changed = whole
            for _ in 0..<Int.random(in: 1...4, using: &random.generator) {
                let index = Int.random(in: 0..<changed.count, using: &random.generator)
                changed[index] = UInt8.random(in: 0...255, using: &random.generator)
            }
            _ = dialect.clientAddress(in: HTTPReply(body: changed))
            guard case .success(let answer) = outcome(of: HTTPReply(body: changed), to: asked, by: dialect),
                answer.kind == .records
            else { continue }
            #expect(answer.records.first?.owner == asked.name, "seed 21, round \(round)")
        }
    }

    @Test(
        "JSON that is too deep or too wide is refused before it is read", arguments: Dialects.names,
        [
            String(repeating: "[", count: 60_000), String(repeating: #"{"data":"#, count: 8000),
            "[" + String(repeating: "null,", count: 1100) + "null]",
            #"{"host":"www.example.com","ips":["# + String(repeating: #""192.0.2.1","#, count: 600) + #""192.0.2.1"]}"#,
        ])
    func shapes(dialectName: String, body: String) throws {
        let dialect = try #require(Dialects.make(named: dialectName, url: "/x"))
        #expect(outcome(of: reply(body), to: try question("www.example.com"), by: dialect).error != nil)
        #expect(dialect.clientAddress(in: reply(body)) == nil)
    }

    @Test(
        "more parts than an honest reply has are refused, be they spread over other names, or deep and not wide",
        arguments: [
            ("alicloud", #"{"dns":["#, #"{"host":"x.example"}"#, 2500, "]}"),
            ("alicloud-v2", #"{"code":"success","mode":0,"data":{"answers":["#, #"{"dn":"x.example"}"#, 2500, "]}}"),
            ("json", #"{"Status":0,"Question":["#, #"{"name":"x."}"#, 2500, "]}"),
            ("volcengine", "[", "[[[[[[1.5]]]]]]", 500, "]"),
            ("template-baidu", #"{"msg":"ok","data":["#, #"{"a":{"a":{"a":{"a":1.5}}}}"#, 500, "]}"),
        ])
    func parts(dialectName: String, head: String, element: String, count: Int, tail: String) throws {
        let dialect = try #require(Dialects.make(named: dialectName, url: "/x"))
        let body = head + Array(repeating: element, count: count).joined(separator: ",") + tail
        let error = outcome(of: reply(body), to: try question("www.example.com"), by: dialect).error
        let refusals = [1024, 4096].map { DialectError.garbage("JSON of more than \($0) parts") }
        #expect(refusals.contains { $0 == error })
    }
}
