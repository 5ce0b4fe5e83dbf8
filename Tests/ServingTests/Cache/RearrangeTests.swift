// Another answer in an existing entry: the parts that stay, the parts that change, and the effect on other entries.

@testable import Serving
import DNSWire
import TestSupport
import Testing

@Suite("Rearranged answers")
struct RearrangeTests {
    private static let partition = Partition(rawValue: 1)
    private let question: Question

    init() throws {
        question = Question(try #require(Name("www.example.com")), .a)
    }

    private func answer(_ addresses: UInt32..., ttlSeconds: UInt32 = 300) -> Answer {
        Answer(
            records: addresses.map {
                ResourceRecord(owner: question.name, address: .v4($0), ttlSeconds: ttlSeconds)
            })
    }

    private func rearrange(
        _ answer: Answer, in stand: borrowing ServingStand, for other: Question? = nil,
        partition: Partition = RearrangeTests.partition, sourceClass: SourceClass = .provider
    ) -> KeptTimes? {
        let question = other ?? question
        return stand.cache.rearrange(
            RenderedAnswer(answer, to: question), for: question, partition: partition, sourceClass: sourceClass)
    }

    private func ask(_ stand: inout ServingStand, atSeconds seconds: Double) throws -> (FastPath.Outcome, [UInt32]) {
        let (outcome, reply) = stand.ask(QueryPacket(question.name, question.type).bytes, atSeconds: seconds)
        guard !reply.isEmpty else { return (outcome, []) }
        return (
            outcome,
            try DecodedMessage(reply).answers.map { record in record.data.reduce(0) { $0 << 8 | UInt32($1) } }
        )
    }

    @Test("the new answer is given, and ages as the old one did", arguments: [[2, 1], [2], [1, 2, 3, 4, 5]])
    func ages(addresses: [UInt32]) throws {
        var stand = ServingStand()
        stand.keep(answer(1, 2), for: question, atSeconds: 1000)
        let records = addresses.map { ResourceRecord(owner: question.name, address: .v4($0), ttlSeconds: 300) }
        let times = rearrange(Answer(records: records), in: stand)
        #expect(times == KeptTimes(storedAtMilliseconds: 1_000_000, lifetimeSeconds: 300))
        let (outcome, reply) = stand.ask(QueryPacket(question.name, .a).bytes, atSeconds: 1100)
        #expect(outcome == .answered(.noError))
        let message = try DecodedMessage(reply)
        #expect(message.answers.map(\.data) == addresses.map { Address.v4($0).bytes })
        #expect(message.answers.allSatisfy { $0.ttl == 200 })
        #expect(try ask(&stand, atSeconds: 1299.9).0 == .answeredAndDue(.noError, question))
        guard case .miss = try ask(&stand, atSeconds: 1300).0 else {
            Issue.record("it outlived the answer that was stored")
            return
        }
    }

    @Test("an answer that says no takes the place of addresses, and the other way round")
    func negative() throws {
        var stand = ServingStand()
        stand.keep(answer(1), for: question)
        let limits = Freshness.Limits(maxAgeSeconds: 3600)
        for (next, isNegative) in [(Answer(negative: .noData), true), (answer(2), false)] {
            #expect(rearrange(next, in: stand) != nil)
            let given = try ask(&stand, atSeconds: 1).1
            #expect(given.isEmpty == isNegative)
            let expired = stand.cache.expired(
                question, within: limits, partition: Self.partition, nowMilliseconds: 301_000)
            #expect((expired == nil) == isNegative, "no expired answer says no")
        }
    }

    @Test("where nothing stands under exactly this key, nothing does afterwards, and others stay as they are")
    func otherKeys() throws {
        var stand = ServingStand()
        #expect(rearrange(answer(9), in: stand) == nil)
        #expect(stand.cache.counts() == AnswerCache.Counts())
        stand.keep(answer(1), for: question)
        #expect(rearrange(answer(9), in: stand, sourceClass: .system) == nil)
        #expect(rearrange(answer(9), in: stand, partition: Partition(rawValue: 2)) == nil)
        #expect(rearrange(answer(9), in: stand, for: Question(question.name, .aaaa)) == nil)
        #expect(rearrange(answer(9), in: stand, for: Question(try #require(Name("www.example.org")), .a)) == nil)
        #expect(try ask(&stand, atSeconds: 1).1 == [1])
        #expect(stand.cache.counts().entries == 1 && stand.cache.counts().evictions == 0)
    }

    @Test("the name's letters are no part of the key")
    func letters() throws {
        var stand = ServingStand()
        stand.keep(answer(1), for: question)
        #expect(rearrange(answer(2), in: stand, for: Question(try #require(Name("WWW.Example.COM")), .a)) != nil)
        #expect(try ask(&stand, atSeconds: 1).1 == [2])
    }

    @Test("an answer larger than a whole shard goes, the old one with it, and counts as evicted")
    func tooLarge() throws {
        var stand = ServingStand(limitBytes: 16 * 2_000)
        stand.keep(answer(1), for: question)
        let records = (0..<500).map { ResourceRecord(owner: question.name, address: .v4($0), ttlSeconds: 300) }
        #expect(rearrange(Answer(records: records), in: stand) == nil)
        guard case .miss = try ask(&stand, atSeconds: 1).0 else {
            Issue.record("the old answer was given")
            return
        }
        let counts = stand.cache.counts()
        #expect(counts.entries == 0 && counts.bytes == 0 && counts.evictions == 1)
    }

    @Test("hits, and what was asked for once, stay with the entry")
    func marks() throws {
        var stand = ServingStand()
        stand.keep(answer(1, ttlSeconds: 30), for: question)
        for _ in 0..<3 { _ = try ask(&stand, atSeconds: 1) }
        #expect(try ask(&stand, atSeconds: 29.9).0 == .answeredAndDue(.noError, question))
        stand.cache.awaitHit(question, partition: Self.partition, sourceClass: .provider)
        #expect(rearrange(answer(2), in: stand) != nil)
        #expect(try ask(&stand, atSeconds: 29.9).0 == .answeredAwaited(.noError, question), "due was said before")
        #expect(stand.cache.takeHits(question, partition: Self.partition) == 5)
        #expect(stand.cache.counts().insertions == 1, "a rearrangement is no insertion")
    }

    @Test("in a full cache others make room, and the entry keeps its turn among them")
    func growsInAFullTable() throws {
        let names = try (0..<40).map { try #require(Name("name\($0).example")) }
        var table = AnswerTable(limitBytes: 20 * 208)
        var evicted = 0
        for name in names {
            store(name, records: 1, in: &table)
            if let entry = table.find(key(name)) { table.countHit(entry) }
        }
        for name in names {
            let before = table.evictions
            let isThere = table.find(key(name)) != nil
            let isKept = table.rearrange(rendered(name, records: 8), under: key(name)) != nil
            #expect(isKept == (table.find(key(name)) != nil))
            evicted += isThere ? Int(table.evictions - before) : 0
            #expect(TableWalk(table).violations.isEmpty)
        }
        #expect(evicted > 0 && table.count > 5)
    }

    // MARK: parts

    private func key(_ name: Name) -> AnswerKey {
        AnswerKey(
            of: TableModel.Key(question: Question(name, .a), partition: Self.partition, sourceClass: .provider),
            hashing: NameHash(seed: (3, 5)))
    }

    private func rendered(_ name: Name, records: Int) -> RenderedAnswer {
        let record = ResourceRecord(owner: name, address: .v4(1), ttlSeconds: 60)
        return RenderedAnswer(Answer(records: Array(repeating: record, count: records)), to: Question(name, .a))
    }

    private func store(_ name: Name, records: Int, in table: inout AnswerTable) {
        table.store(rendered(name, records: records), lifetimeSeconds: 60, under: key(name), nowMilliseconds: 0)
    }
}
