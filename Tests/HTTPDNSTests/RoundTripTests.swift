// The two sides of a dialect against each other, over seeded random answers.

import DNSWire
import HTTPDNS
import Testing

struct RoundTripTests {
    @Test("what the server's side says is what the client's side hears", arguments: Dialects.names)
    func answers(dialectName: String) throws {
        let dialect = try #require(Dialects.make(named: dialectName, url: "http://127.0.0.1/x"))
        var random = SeededBytes(seed: 7)
        for round in 0..<400 {
            let types = PresentationForm.types.filter(dialect.supports)
            let type = try #require(types.randomElement(using: &random.generator))
            let asked = Question(try random.name(), type)
            #expect(try dialect.question(from: try dialect.request(for: asked)) == asked)
            let answer = try random.answer(to: asked)
            let heard = try dialect.answer(from: dialect.reply(to: asked, with: answer), to: asked)
            if dialectName.hasPrefix("dnspod") {
                // Bare addresses with one TTL are all that these dialects can carry.
                #expect(heard.addresses == answer.addresses, "seed 7, round \(round)")
                #expect(heard.kind == (answer.kind == .records ? .records : .unprovenEmpty))
                let lifetime = answer.kind == .records && answer.ttlSeconds > 0 ? answer.ttlSeconds : 60
                #expect(heard.ttlSeconds == lifetime)
            } else if dialectName == "json" {
                #expect(heard == answer, "seed 7, round \(round)")
            } else {
                // max-age says when the whole answer ends, so no record outlives it.
                #expect(heard == answer.withTTL(to: answer.ttlSeconds), "seed 7, round \(round)")
            }
        }
    }

    @Test("a refusal is heard as the code that was said, where the dialect has codes", arguments: Dialects.names)
    func refusals(dialectName: String) throws {
        let dialect = try #require(Dialects.make(named: dialectName, url: "http://127.0.0.1/x"))
        let asked = try question("www.example.com")
        let refusal = dialect.refusal(of: asked, as: .refused)
        if dialectName.hasPrefix("dnspod") {
            #expect(try dialect.answer(from: refusal, to: asked).kind == .unprovenEmpty)
        } else {
            #expect(throws: DialectError.serverFailure(.refused)) { try dialect.answer(from: refusal, to: asked) }
        }
    }
}
