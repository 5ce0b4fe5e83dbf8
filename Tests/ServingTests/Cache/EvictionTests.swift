// The entries that a full cache keeps, and its limit.

@testable import Serving
import CAllocationCounter
import DNSWire
import TestSupport
import Testing

struct EvictionTests {
    private static let hashing = NameHash(seed: (3, 5))
    /// The cost of 100 entries; each name here costs the same.
    private let limitBytes = 100 * 192

    @Test("an entry that was used outlives all that were not")
    func usedSurvives() {
        var table = AnswerTable(limitBytes: limitBytes)
        store("used", in: &table)
        for index in 0..<80 { store("once\(index)", in: &table) }
        for index in 0..<1_000 {
            use("used", in: &table)
            store("more\(index)", in: &table)
        }
        #expect(table.evictions > 900)
        #expect(table.find(key("used")) != nil && table.find(key("once0")) == nil)
    }

    @Test("a scan of names that are asked once does not drive out the working set")
    func scanResistance() {
        var table = AnswerTable(limitBytes: limitBytes)
        for index in 0..<50 { store("working\(index)", in: &table) }
        for index in 0..<3_000 {
            use("working\(index % 50)", in: &table)
            store("scan\(index)", in: &table)
        }
        for index in 0..<50 { #expect(table.find(key("working\(index)")) != nil, "working\(index)") }
    }

    @Test("an entry that is no longer used goes in the end")
    func markExpires() {
        var table = AnswerTable(limitBytes: limitBytes)
        store("was-used", in: &table)
        use("was-used", in: &table)
        for index in 0..<400 {
            store("name\(index)", in: &table)
            if index.isMultiple(of: 2) { use("name\(index)", in: &table) }
        }
        #expect(table.find(key("was-used")) == nil)
    }

    @Test("where all entries were used, one goes all the same")
    func allUsed() {
        var table = AnswerTable(limitBytes: limitBytes)
        var index = 0
        while table.evictions == 0 {
            store("name\(index)", in: &table)
            use("name\(index)", in: &table)
            index += 1
        }
        #expect(TableWalk(table).violations.isEmpty && table.count > 90)
    }

    @Test("what an entry is said to cost covers what it takes from the allocator", arguments: [0, 1, 2, 3, 10, 100])
    func honestCost(records: Int) throws {
        for nameLength in 1...63 {
            var table = AnswerTable(limitBytes: 1 << 20)
            let question = Question(try #require(Name(String(repeating: "n", count: nameLength))), .a)
            let record = ResourceRecord(owner: question.name, address: .v4(1), ttlSeconds: 60)
            let answer = RenderedAnswer(
                Answer(records: Array(repeating: record, count: records)), to: question)
            table.store(answer, lifetimeSeconds: 60, under: key(question), nowMilliseconds: 0)
            let storage = unsafe table.slots[0].storage
            let taken = unsafe MemoryLayout<Slot>.stride + Int(hd_allocated_bytes(storage))
            // glibc may add a remainder of up to 16 bytes that is too small for a chunk of its own.
            #expect(table.bytes >= taken - 16, "name of \(nameLength)")
            #expect(table.bytes <= taken + 40, "name of \(nameLength)")
        }
    }

    @Test("however many answers are stored, the limit holds")
    func bounded() throws {
        #if DEBUG
        let insertions = 50_000
        #else
        let insertions = 1_000_000
        #endif
        let limit = 1 << 20
        let cache = AnswerCache(limitBytes: limit, seed: (1, 2))
        let records = [ResourceRecord(owner: .root, address: .v4(1), ttlSeconds: 60)]
        for index in 0..<insertions {
            let question = Question(numbered(index), .a)
            cache.store(
                RenderedAnswer(Answer(records: records), to: question), lifetimeSeconds: 60, for: question,
                partition: Partition(rawValue: 1), sourceClass: .provider, nowMilliseconds: 0)
            if index % 1_000 == 0 { #expect(cache.counts().bytes <= limit) }
        }
        let counts = cache.counts()
        #expect(counts.bytes <= limit && counts.bytes > limit * 4 / 10, "\(counts)")
        #expect(counts.insertions == UInt64(insertions))
        #expect(counts.evictions == UInt64(insertions - counts.entries))
    }

    // MARK: parts

    private func numbered(_ index: Int) -> Name {
        Name("host\(index).example") ?? .root
    }

    private func key(_ text: String) -> AnswerKey {
        key(Question(Name(text) ?? .root, .a))
    }

    private func key(_ question: Question) -> AnswerKey {
        AnswerKey(
            of: TableModel.Key(question: question, partition: Partition(rawValue: 1), sourceClass: .provider),
            hashing: EvictionTests.hashing)
    }

    private func store(_ text: String, in table: inout AnswerTable) {
        let question = Question(Name(text) ?? .root, .a)
        let record = ResourceRecord(owner: question.name, address: .v4(1), ttlSeconds: 60)
        table.store(
            RenderedAnswer(Answer(records: [record, record, record]), to: question), lifetimeSeconds: 60,
            under: key(question), nowMilliseconds: 0)
    }

    private func use(_ text: String, in table: inout AnswerTable) {
        guard let entry = table.find(key(text)) else {
            Issue.record("\(text) is gone")
            return
        }
        table.countHit(entry)
    }
}
