// The results of every dialect for the same replies: HTTP failures, empty bodies, foreign answers.

import DNSWire
import HTTPDNS
import Testing

struct ReplyRulesTests {
    static let dialects = Dialects.names

    private func outcome(of reply: HTTPReply, by dialect: String) throws -> Result<Answer, DialectError> {
        let made = try #require(Dialects.make(named: dialect, url: "http://127.0.0.1/"))
        let asked = try question("www.example.com")
        return Result { () throws(DialectError) in try made.answer(from: reply, to: asked) }
    }

    @Test(
        "statuses other than 200 are failures by their number or by what the vendor means", arguments: dialects,
        [
            100, 201, 204, 206, 301, 302, 400, 401, 403, 404, 500, 501, 502, 503, 504, -1, 0,
        ])
    func statuses(dialect: String, status: Int) throws {
        let meaning = try #require(Dialects.entry(named: dialect)).meanings[status] ?? .status(status)
        #expect(try outcome(of: reply("192.0.2.1,60", status: status), by: dialect).error == meaning)
    }

    @Test("429, and 403 and 503 that say when to come back, are throttling", arguments: dialects)
    func throttling(dialect: String) throws {
        let cases: [(Int, String?, Int?)] = [
            (429, nil, nil), (429, "7", 7), (403, "7", 7), (503, "0", 0), (503, "Wed, 21 Oct 2026 07:28:00 GMT", nil),
            (429, "99999999999999999999999", nil), (429, "86400", 3600), (429, "-1", nil),
        ]
        for (status, text, seconds) in cases {
            let reply = reply("", status: status, text.map { [("retry-AFTER", $0)] } ?? [])
            #expect(try outcome(of: reply, by: dialect).error == .throttled(retryAfterSeconds: seconds))
        }
    }

    @Test("a body over the bound is garbage", arguments: dialects)
    func hugeBody(dialect: String) throws {
        let body = [UInt8](repeating: 0x30, count: DialectBounds.maxBodyBytes + 1)
        #expect(try outcome(of: HTTPReply(body: body), by: dialect).isGarbage)
    }

    @Test("random bytes and random text are never an answer with records", arguments: dialects)
    func noise(dialect: String) throws {
        var random = SeededBytes(seed: 1)
        for _ in 0..<500 {
            let body = random.bytes(count: Int.random(in: 1...300, using: &random.generator))
            let outcome = try outcome(of: HTTPReply(body: body), by: dialect)
            #expect(outcome.error != nil || (try? outcome.get().kind) == .ambiguousEmpty, "seed 1: \(body)")
        }
    }
}
