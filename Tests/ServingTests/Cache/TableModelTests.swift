// The table, compared with the model: the same operations give the same entries, and every invariant holds after each.

@testable import Serving
@testable import DNSWire
import TestSupport
import Testing

struct TableModelTests {
    private static let hashing = NameHash(seed: (3, 5))

    /// The limits range from one that evicts entries all the time to one that evicts none.
    @Test(
        "seeded random operations leave the table as they leave the model",
        arguments: [500, 1_000, 3_000, 10_000, 1_000_000], 1...4 as ClosedRange<UInt64>)
    func operations(limitBytes: Int, seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var table = AnswerTable(limitBytes: limitBytes)
        var model = TableModel(limitBytes: limitBytes)
        var now: Int64 = 1_000
        for step in 0..<1_500 {
            now += Int64.random(in: 0...5_000, using: &random)
            let key = randomKey(&random)
            switch Int.random(in: 0..<14, using: &random) {
            case 0..<5: store(key, now, &random, &table, &model)
            case 5: remove(key, &table, &model)
            case 6..<9: rearrange(key, &random, &table, &model, "step \(step), seed \(seed)")
            case 9:
                if let entry = table.find(Self.key(key)) { table.awaitHit(entry) }
                model.awaitHit(key)
            default: find(key, now, &random, &table, &model, "step \(step), seed \(seed)")
            }
            let walk = TableWalk(table)
            let expected = model.entries.map { TableModelTests.key($0.key).hash }
            #expect(walk.violations.isEmpty && walk.hashes == expected, "step \(step), seed \(seed)")
            #expect(table.bytes == model.bytes && table.evictions == model.evictions, "step \(step), seed \(seed)")
            guard walk.violations.isEmpty, walk.hashes == expected else { return }
        }
        #expect((table.evictions > 0) == (limitBytes < 1_000_000))
        table.removeAll()
        #expect(TableWalk(table).violations.isEmpty && table.bytes == 0 && table.count == 0)
    }

    @Test("a table with room for nothing keeps nothing")
    func noRoom() throws {
        var random = SeededRandom(seed: 1)
        var table = AnswerTable(limitBytes: 0)
        var model = TableModel(limitBytes: 0)
        for _ in 0..<50 { store(randomKey(&random), 0, &random, &table, &model) }
        #expect(table.count == 0 && table.bytes == 0 && TableWalk(table).violations.isEmpty)
    }

    @Test("an answer larger than the table is not kept, and the older one under its key is gone")
    func tooLarge() throws {
        let name = try #require(Name("www.example"))
        let key = TableModel.Key(
            question: Question(name, .txt), partition: Partition(rawValue: 1), sourceClass: .provider)
        var table = AnswerTable(limitBytes: 2_000)
        for (size, isKept) in [(100, true), (5_000, false), (100, true)] {
            let answer = Self.answer(key, records: 1, bytes: size)
            let kept = table.store(answer, lifetimeSeconds: 60, under: Self.key(key), nowMilliseconds: 0)
            #expect(kept == isKept && (table.find(Self.key(key)) != nil) == isKept)
            #expect(TableWalk(table).violations.isEmpty)
        }
    }

    // MARK: operations

    private func store(
        _ key: TableModel.Key, _ now: Int64, _ random: inout SeededRandom, _ table: inout AnswerTable,
        _ model: inout TableModel
    ) {
        let answer = randomAnswer(key, &random)
        let lifetime = UInt32.random(in: 0...600, using: &random)
        table.store(answer, lifetimeSeconds: lifetime, under: Self.key(key), nowMilliseconds: now)
        model.store(
            TableModel.Entry(key: key, answer: answer, lifetimeSeconds: lifetime, storedAtMilliseconds: now))
    }

    private func rearrange(
        _ key: TableModel.Key, _ random: inout SeededRandom, _ table: inout AnswerTable, _ model: inout TableModel,
        _ context: Comment
    ) {
        let answer = randomAnswer(key, &random)
        let old = model.entry(key)
        let times = table.rearrange(answer, under: Self.key(key))
        let isThere = model.rearrange(key, answer)
        #expect((times != nil) == isThere && (table.find(Self.key(key)) != nil) == isThere, context)
        guard isThere else { return }
        #expect(times?.storedAtMilliseconds == old?.storedAtMilliseconds, context)
        #expect(times?.lifetimeSeconds == old?.lifetimeSeconds, context)
    }

    private func remove(_ key: TableModel.Key, _ table: inout AnswerTable, _ model: inout TableModel) {
        if let entry = table.find(Self.key(key)) { table.remove(entry) }
        model.remove(key)
    }

    private func find(
        _ key: TableModel.Key, _ now: Int64, _ random: inout SeededRandom, _ table: inout AnswerTable,
        _ model: inout TableModel, _ context: Comment
    ) {
        let expected = model.entry(key)
        guard let entry = table.find(Self.key(key)) else {
            #expect(expected == nil, context)
            return
        }
        guard let expected else {
            Issue.record("found what the model has not: \(context)")
            return
        }
        let age = now - expected.storedAtMilliseconds
        #expect(
            (table.freshness(entry, nowMilliseconds: now, limits: .init(maxAgeSeconds: 0)) == .gone)
                == (age >= Int64(expected.lifetimeSeconds) * 1_000), context)
        guard Bool.random(using: &random) else { return }
        table.withReplyBody(of: entry, nowMilliseconds: now) { body, ageSeconds in
            #expect(Int64(ageSeconds) == age / 1_000 && body.code == expected.answer.responseCode, context)
            let hasSameBytes = body.repeats(expected.answer)
            #expect(hasSameBytes, context)
        }
        table.countHit(entry)
        let (isAwaited, wasAwaited) = (table.takeAwaited(entry), model.use(key))
        let hits = unsafe Int(table.slots[Int(entry)].hits)
        #expect(isAwaited == wasAwaited && hits == model.entry(key)?.hits, context)
    }

    // MARK: keys and answers

    private func randomAnswer(_ key: TableModel.Key, _ random: inout SeededRandom) -> RenderedAnswer {
        Self.answer(key, records: Int.random(in: 0...4, using: &random), bytes: Int.random(in: 0...60, using: &random))
    }

    /// A random key of forty questions in mixed case, two types, two partitions, and both provenances.
    private func randomKey(_ random: inout SeededRandom) -> TableModel.Key {
        let letters = Array("n\(Int.random(in: 0..<10, using: &random)).example".utf8)
        let mixed = letters.map { byte in
            Bool.random(using: &random) && (0x61...0x7A).contains(byte) ? byte - 32 : byte
        }
        let name = Name(String(decoding: mixed, as: UTF8.self)) ?? .root
        return TableModel.Key(
            question: Question(name, Bool.random(using: &random) ? .a : .aaaa),
            partition: Partition(rawValue: UInt32.random(in: 1...2, using: &random)),
            sourceClass: Bool.random(using: &random) ? .provider : .system)
    }

    private static func key(_ key: TableModel.Key) -> AnswerKey {
        AnswerKey(of: key, hashing: hashing)
    }

    private static func answer(_ key: TableModel.Key, records: Int, bytes: Int) -> RenderedAnswer {
        let record = ResourceRecord(
            owner: key.question.name, type: .txt, ttlSeconds: 60,
            data: Array(repeating: UInt8(bytes & 0xFF), count: bytes))
        // About every third answer has an extended error, whose length differs.
        let error = bytes % 3 == 0 ? ExtendedError(upstream: UInt16(bytes), text: record.data.map { $0 | 0x40 }) : nil
        return RenderedAnswer(
            Answer(records: Array(repeating: record, count: records)).remarked(error), to: key.question)
    }
}

extension AnswerKey {
    init(of key: TableModel.Key, hashing: NameHash) {
        self.init(partition: key.partition)
        sourceClass = key.sourceClass
        let wire = key.question.name.wire
        set(
            wire.span, from: 0, count: wire.count, type: key.question.type, dnssec: key.question.dnssec,
            hashing: hashing)
    }
}

extension Reply.Body {
    func repeats(_ answer: RenderedAnswer) -> Bool {
        guard bytes.count == answer.body.count, ttlOffsets.count == answer.ttlOffsets.count else { return false }
        for index in bytes.indices where bytes[index] != answer.body[index] { return false }
        for index in ttlOffsets.indices where ttlOffsets[index] != answer.ttlOffsets[index] { return false }
        guard errorOption.count == answer.errorOption.count else { return false }
        for index in errorOption.indices where errorOption[index] != answer.errorOption[index] { return false }
        return answerCount == answer.answerCount && authorityCount == answer.authorityCount
    }
}
