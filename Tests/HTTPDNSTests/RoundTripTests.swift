// The client's and the server's side of each dialect against each other, over seeded random answers.

import DNSWire
import HTTPDNS
import Testing

struct RoundTripTests {
    @Test("what the server's side says is what the client's side hears", arguments: Dialects.names)
    func answers(dialectName: String) throws {
        let entry = try #require(Dialects.entry(named: dialectName))
        let dialect = entry.make("http://127.0.0.1/x")
        var random = SeededBytes(seed: 7)
        #expect(dialect.carriesAliases != entry.carriesAddressesOnly)
        for round in 0..<400 {
            let types = PresentationForm.types.filter(dialect.supports)
            let type = try #require(types.randomElement(using: &random.generator))
            let asked = Question(try random.name(), type)
            let read = try dialect.questions(from: try dialect.request(for: asked))
            #expect(read == [asked] || (entry.alwaysAsksBoth && read.contains(asked)), "seed 7, round \(round)")
            let answer = try random.answer(to: asked)
            let heard = try dialect.answer(from: dialect.reply(to: asked, with: answer), to: asked)
            if entry.carriesAddressesOnly {
                #expect(heard.addresses == answer.addresses, "seed 7, round \(round)")
                #expect(heard.kind == entry.heard(answer.kind), "seed 7, round \(round)")
                // Some dialects also carry the TTL of an empty answer.
                let lifetime = answer.ttlSeconds > 0 ? answer.ttlSeconds : 60
                #expect(heard.ttlSeconds == lifetime || (heard.kind == .ambiguousEmpty && heard.ttlSeconds == 60))
            } else if dialectName.hasPrefix("json") {
                #expect(heard == answer, "seed 7, round \(round)")
            } else {
                // The max-age header limits the whole answer, so no record outlives it.
                #expect(heard == answer.withTTL(to: answer.ttlSeconds), "seed 7, round \(round)")
            }
        }
    }

    @Test("a refusal is heard as the code that was said, where the dialect has codes", arguments: Dialects.names)
    func refusals(dialectName: String) throws {
        let entry = try #require(Dialects.entry(named: dialectName))
        let dialect = entry.make("http://127.0.0.1/x")
        let asked = try question("www.example.com")
        let refusal = dialect.refusal(of: asked, as: .refused)
        if let error = entry.refusal {
            #expect(throws: error) { try dialect.answer(from: refusal, to: asked) }
        } else {
            #expect(try dialect.answer(from: refusal, to: asked).kind == .ambiguousEmpty)
        }
    }

    @Test("both families of several names come back each with its own, over seeded answers", arguments: Dialects.names)
    func bothFamilies(dialectName: String) throws {
        let entry = try #require(Dialects.entry(named: dialectName))
        let dialect = entry.make("http://127.0.0.1/x")
        guard dialect.asksBothFamilies else { return }
        var random = SeededBytes(seed: 9)
        for round in 0..<100 {
            let names = Set(try (0..<dialect.maxNames).map { _ in try random.name() }).sorted { "\($0)" < "\($1)" }
            let asked = names.flatMap { [Question($0, .a), Question($0, .aaaa)] }.shuffled(using: &random.generator)
            let request = try dialect.request(for: asked)
            let read = try dialect.questions(from: request)
            #expect(Set(read) == Set(asked) && read.count == asked.count, "seed 9, round \(round)")
            var answers = Dictionary(uniqueKeysWithValues: try read.map { ($0, try random.answer(to: $0)) })
            // A name that has addresses of one family exists for the other.
            for question in read where answers[question]?.kind == .noSuchName {
                let other = Question(question.name, question.type == .a ? .aaaa : .a)
                if answers[other]?.kind == .records { answers[question] = Answer(negative: .noData) }
            }
            let reply = dialect.reply(to: read, with: read.compactMap { answers[$0].map { .answer($0) } })
            for (question, result) in zip(asked, dialect.answers(from: reply, to: asked)) {
                let said = try #require(answers[question])
                let heard = try result.get()
                #expect(heard.addresses == said.addresses, "seed 9, round \(round)")
                #expect(heard.kind == entry.heard(said.kind), "seed 9, round \(round)")
                guard heard.kind == .records, entry.keepsFamiliesApart else { continue }
                #expect(heard.ttlSeconds == (said.ttlSeconds > 0 ? said.ttlSeconds : 60), "seed 9, round \(round)")
            }
        }
    }
}

extension Dialects.Entry {
    /// The kind of answer that the client's side gets for one of this kind.
    fileprivate func heard(_ kind: Answer.Kind) -> Answer.Kind {
        kind == .records || provesEmptiness || !carriesAddressesOnly ? kind : .ambiguousEmpty
    }
}
