// JSON that is truncated, changed, too deep, or of other types, for every dialect that uses it. None may crash the
// parser or yield an answer that the whole reply does not contain.

import DNSWire
import HTTPDNS
import Testing

struct MalformedJSONTests {
    static let dialects = Dialects.names.filter { $0.hasPrefix("alicloud") || $0.hasPrefix("json") }

    /// A whole reply to a question, in both families if the dialect takes them, with an address of each.
    private func exchange(_ dialectName: String) throws -> (dialect: any Dialect, asked: [Question], body: [UInt8]) {
        let dialect = try #require(Dialects.make(named: dialectName, url: "/"))
        var asked = [try question("www.example.com")]
        var answers = [Answer(records: [try record("www.example.com", .a, 60, "192.0.2.10")])]
        if dialect.asksBothFamilies {
            asked.append(try question("www.example.com", .aaaa))
            answers.append(Answer(records: [try record("www.example.com", .aaaa, 60, "2001:db8::10")]))
        }
        return (dialect, asked, dialect.reply(to: asked, with: answers.map { .answer($0) }).body)
    }

    @Test("every cut of a reply is garbage for every question", arguments: dialects)
    func cuts(dialectName: String) throws {
        let (dialect, asked, body) = try exchange(dialectName)
        for result in dialect.answers(from: HTTPReply(body: body), to: asked) { #expect(result.error == nil) }
        for length in body.indices {
            let results = dialect.answers(from: HTTPReply(body: Array(body.prefix(length))), to: asked)
            for result in results { #expect(result.isGarbage, "cut at \(length)") }
        }
    }

    @Test("a changed byte gives failures, doubt, or addresses that stand in the reply", arguments: dialects)
    func changes(dialectName: String) throws {
        let (dialect, asked, body) = try exchange(dialectName)
        var random = SeededBytes(seed: 11)
        for round in 0..<600 {
            var changed = body
            let index = Int.random(in: changed.indices, using: &random.generator)
            changed[index] = UInt8.random(in: 0...255, using: &random.generator)
            let text = String(decoding: changed, as: UTF8.self)
            let said = text.split(separator: "\"").compactMap { Address(String($0)) }
            for result in dialect.answers(from: HTTPReply(body: changed), to: asked) {
                guard case .success(let answer) = result, changed != body else { continue }
                let isSealed = dialectName.hasSuffix("cbc") || dialectName.hasSuffix("gcm")
                #expect(isSealed || answer.addresses.allSatisfy(said.contains), "seed 11, round \(round)")
                #expect(answer.kind != .noSuchName || text.contains("\"Status\":3"), "seed 11, round \(round)")
                #expect(dialectName != "alicloud-v2-gcm" || answer.addresses.count == 1, "seed 11, round \(round)")
            }
        }
    }

    @Test(
        "other types, roots and depths are garbage", arguments: dialects,
        [
            "", " ", "null", "true", "7", "\"x\"", "[]", "[[]]", "{", "{}", "{\"host\":7}", "{\"dns\":{}}",
            "{\"dns\":[7]}",
            "{\"dns\":[{\"host\":null}]}", #"{"host":"www.example.com","ips":"192.0.2.1"}"#,
            #"{"host":"www.example.com","ips":[7]}"#, #"{"host":"www.example.com","ips":[null]}"#,
            #"{"host":"www.example.com","ips":{},"ttl":1}"#,
            #"{"code":"success","mode":0}"#, #"{"code":"success","mode":0,"data":null}"#,
            #"{"code":"success","mode":0,"data":{}}"#, #"{"code":"success","mode":0,"data":{"answers":{}}}"#,
            #"{"code":"success","mode":0,"data":{"answers":[{"dn":7}]}}"#,
            #"{"code":"success","mode":[],"data":{"answers":[]}}"#, #"{"code":7,"mode":0,"data":{"answers":[]}}"#,
            #"{"code":"success","mode":1,"data":""}"#, #"{"code":"success","mode":2,"data":"AAAA"}"#,
            #"{"code":"success","mode":1,"data":"AAAAAAAAAAAAAAAAAAAAAA=="}"#,
            #"{"code":"success","mode":2,"data":"****"}"#,
        ])
    func otherShapes(dialectName: String, body: String) throws {
        let dialect = try #require(Dialects.make(named: dialectName, url: "/"))
        let outcome = outcome(of: reply(body), to: try question("www.example.com"), by: dialect)
        #expect(outcome.isGarbage, "\(outcome)")
    }

    @Test(
        "a record without a usable TTL gets the default, and the others keep theirs",
        arguments: ["\"x\"", "\"\"", "60.5", "1e99", "[]", "{\"s\":60}", "true", "null", "99999999999999999999"])
    func oddTTL(ttl: String) throws {
        let bodies = [
            "alicloud": #"{"dns":[{"host":"a.example","ips":["192.0.2.1"],"type":1,"ttl":\#(ttl)},"#
                + #"{"host":"b.example","ips":["192.0.2.2"],"type":1,"ttl":7}]}"#,
            "alicloud-v2": #"{"code":"success","mode":0,"data":{"answers":["#
                + #"{"dn":"a.example","v4":{"ips":["192.0.2.1"],"ttl":\#(ttl)}},"#
                + #"{"dn":"b.example","v4":{"ips":["192.0.2.2"],"ttl":7}}]}}"#,
            "volcengine": #"{"hosts":[{"host":"a.example","ips":["192.0.2.1"],"ttl":\#(ttl)},"#
                + #"{"host":"b.example","ips":["192.0.2.2"],"ttl":7}]}"#,
            "baidu": #"{"msg":"ok","data":{"a.example":{"ipv4":{"ip":["192.0.2.1"],"ttl":\#(ttl)}},"#
                + #""b.example":{"ipv4":{"ip":["192.0.2.2"],"ttl":7}}}}"#,
        ]
        let questions = try ["a.example", "b.example"].map { try question($0) }
        for (name, body) in bodies {
            let dialect = try #require(Dialects.make(named: name, url: "/"))
            let answers = try dialect.answers(from: reply(body), to: questions).map { try $0.get() }
            #expect(answers.map(\.kind) == [.records, .records] && answers.map(\.ttlSeconds) == [60, 7], "\(name)")
        }
        let json = try #require(Dialects.make(named: "json", url: "/"))
        let body = #"{"Status":0,"Answer":[{"name":"a.example","type":1,"TTL":\#(ttl),"data":"192.0.2.1"}]}"#
        #expect(try json.answer(from: reply(body), to: questions[0]).ttlSeconds == 60)
    }

    @Test("nesting is judged before it is decoded, in what is encrypted too", arguments: dialects)
    func depth(dialectName: String) throws {
        let dialect = try #require(Dialects.make(named: dialectName, url: "/"))
        let deep = String(repeating: "[", count: 30_000) + String(repeating: "]", count: 30_000)
        for body in [deep, "{\"host\":\(deep)}", "{\"code\":\"success\",\"mode\":0,\"data\":\(deep)}"] {
            let outcome = outcome(of: reply(body), to: try question("www.example.com"), by: dialect)
            #expect(outcome.error == .garbage("JSON deeper than 8 levels"))
        }
    }

    @Test("of a member that stands twice, one is believed whole", arguments: ["alicloud", "json"])
    func duplicates(dialectName: String) throws {
        let dialect = try #require(Dialects.make(named: dialectName, url: "/"))
        let asked = try question("www.example.com")
        let record = { (address: String) in #"[{"name":"www.example.com","type":1,"TTL":60,"data":"\#(address)"}]"# }
        let body =
            dialectName == "json"
            ? "{\"Status\":0,\"Answer\":\(record("192.0.2.1")),\"Answer\":\(record("192.0.2.2"))}"
            : #"{"host":"www.example.com","ips":["192.0.2.1"],"ips":["192.0.2.2"],"ttl":60}"#
        let heard = dialect.heard(body, [asked])
        #expect([["192.0.2.1 60"], ["192.0.2.2 60"], ["garbage"]].contains(heard))
    }
}
