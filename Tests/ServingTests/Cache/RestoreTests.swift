// Restored answers of an earlier process: they have their true age, and never replace newer ones.

@testable import Serving
import DNSWire
import TestSupport
import Testing

struct RestoreTests {
    private let partition = Partition(rawValue: 1)

    private func answer(_ text: String) throws -> (Question, RenderedAnswer) {
        let question = Question(try #require(Name(text)), .a)
        let record = ResourceRecord(owner: question.name, address: .v4(0xC000_0201), ttlSeconds: 60)
        return (question, RenderedAnswer(Answer(records: [record]), to: question))
    }

    private func restore(_ text: String, in cache: AnswerCache, storedAt milliseconds: Int64) throws -> Bool {
        let (question, rendered) = try answer(text)
        return cache.restore(
            rendered, lifetimeSeconds: 60, for: question, partition: partition, sourceClass: .provider,
            storedAtMilliseconds: milliseconds)
    }

    @Test("an answer from before boot is fresh until its lifetime is over")
    func beforeBoot() throws {
        var stand = ServingStand()
        #expect(try restore("a.example", in: stand.cache, storedAt: -50_000))
        let packet = QueryPacket(try #require(Name("a.example")), .a).bytes
        let (outcome, reply) = stand.ask(packet, atSeconds: 4)
        #expect(outcome == .answered(.noError))
        #expect(try DecodedMessage(reply).answers.map(\.ttl) == [6])
        guard case .miss = stand.ask(packet, atSeconds: 10).outcome else {
            Issue.record("it expired")
            return
        }
    }

    @Test("what stands under the key stays")
    func known() throws {
        let stand = ServingStand()
        let (question, _) = try answer("a.example")
        stand.keep(Answer(negative: .noData), for: question)
        #expect(try !restore("a.example", in: stand.cache, storedAt: 0))
        #expect(try restore("b.example", in: stand.cache, storedAt: 0))
        #expect(stand.cache.counts().entries == 2)
    }

    @Test("nothing goes to make room")
    func full() throws {
        var table = AnswerTable(limitBytes: 10 * 192)
        var restored = 0
        for index in 0..<50 {
            let (question, rendered) = try answer("name\(index).example")
            var key = AnswerKey(partition: partition)
            let wire = question.name.wire
            key.set(wire.span, from: 0, count: wire.count, type: .a, dnssec: [], hashing: NameHash(seed: (1, 2)))
            if table.restore(rendered, lifetimeSeconds: 60, under: key, storedAtMilliseconds: 0) { restored += 1 }
        }
        #expect(table.count == restored && (5..<20).contains(restored) && table.evictions == 0)
        #expect(TableWalk(table).violations.isEmpty)
    }
}
