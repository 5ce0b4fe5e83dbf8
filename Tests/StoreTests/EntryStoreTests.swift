// Written entries are found again, by this program and by sqlite3; removed entries are gone.

import DNSWire
import Glibc
import TestSupport
import Testing

@testable import Store

struct EntryStoreTests {
    private let folder = TemporaryFolder()
    private let samples = Samples.entries(60)

    private func write(_ entries: [StoredEntry], removing removals: [QuestionScope] = []) throws {
        var store = EntryStore(path: folder.file)
        try store.write(entries, removing: removals, nowMilliseconds: Samples.storedAt)
    }

    private func keyed(_ entries: [StoredEntry]) -> [EntryKey: StoredEntry] {
        Dictionary(entries.map { (EntryKey($0), $0) }) { _, new in new }
    }

    @Test("answers of every kind come back as they were")
    func roundTrip() throws {
        try write(samples)
        let loaded = try folder.load()
        #expect(loaded.entries == keyed(samples))
        #expect(loaded.counts == LoadCounts(entries: samples.count, skipped: 0) && loaded.setAside.isEmpty)
        #expect(loaded.lastWritten == Samples.storedAt)
    }

    @Test("a store that was never written is empty")
    func fresh() throws {
        let loaded = try folder.load()
        #expect(loaded.entries.isEmpty && loaded.lastWritten == nil && loaded.setAside.isEmpty)
    }

    @Test("of answers with one key the last one stays, whatever its time says")
    func lastWins() throws {
        let old = samples[0]
        try write([old, old.replaced(address: 1, storedAt: 9_000)])
        try write([old.replaced(address: 2, storedAt: 8_000)])
        #expect(try folder.load().entries == keyed([old.replaced(address: 2, storedAt: 8_000)]))
    }

    @Test("networks, sources and types are kept apart, letters of a name are not")
    func keys() throws {
        let name = try #require(Name("Www.Example"))
        let question = Question(name, .a)
        let answer = samples[0].replaced(address: 1, storedAt: 0)
        let variants = [(1, StoredEntry.SourceClass.provider), (1, .system), (2, .provider)].map {
            partition, sourceClass in
            StoredEntry(
                question: question, partition: partition, sourceClass: sourceClass,
                answer: RenderedAnswer(Answer(negative: .noData), to: question), storedAtMilliseconds: 0,
                lifetimeSeconds: 1, demand: 0)
        }
        let lower = StoredEntry(
            question: Question(try #require(Name("www.example")), .a), partition: 1, sourceClass: .system,
            answer: variants[0].answer, storedAtMilliseconds: 5, lifetimeSeconds: 1, demand: 0)
        try write(variants + [answer, lower])
        let loaded = try folder.load().entries
        #expect(loaded.count == 4 && loaded[EntryKey(variants[1])] == lower)
        #expect(loaded[EntryKey(variants[0])]?.question.name.description == "www.example")
    }

    @Test("what is removed is gone, and what is written with it stays")
    func removal() throws {
        let texts = ["example.com", "www.example.com", "a.www.example.com", "notexample.com", "example.com.net", "com"]
        let names = try texts.map { try #require(Name($0)) }
        let all = names.flatMap { name in
            [RecordType.a, .aaaa].map { type in
                StoredEntry(
                    question: Question(name, type), partition: 1, sourceClass: .provider,
                    answer: RenderedAnswer(Answer(negative: .noData), to: Question(name, type)),
                    storedAtMilliseconds: 0, lifetimeSeconds: 1, demand: 0)
            }
        }
        let upper = try #require(Name("Example.COM"))
        let removals: [QuestionScope] = [
            QuestionScope(upper), QuestionScope(upper, type: .a), QuestionScope(upper, includesDescendants: true),
            QuestionScope(upper, includesDescendants: true, type: .aaaa),
            QuestionScope(.root, includesDescendants: true, type: .a), QuestionScope(.root, includesDescendants: true),
            .everything,
        ]
        var store = EntryStore(path: folder.file)
        for removal in removals {
            try store.write(all, nowMilliseconds: 0)
            try store.write([], removing: [removal], nowMilliseconds: 0)
            let left = Set(try Loaded(&store).entries.keys.map(\.question))
            #expect(left == Set(all.map(\.question).filter { !removal.contains($0) }), "\(removal)")
        }
        try store.write([all[3]], removing: [.everything], nowMilliseconds: 0)
        #expect(try Loaded(&store).entries == keyed([all[3]]))
        try store.write(
            [], removing: [QuestionScope(upper), QuestionScope(upper, includesDescendants: true)], nowMilliseconds: 0)
        #expect(try Loaded(&store).entries.isEmpty)
    }

    @Test("what was learned on a network goes with it, and nothing else does")
    func forgottenNetwork() throws {
        let all = [1, 2, UInt32.max].flatMap { partition in
            samples.prefix(5).map { sample in
                StoredEntry(
                    question: sample.question, partition: partition, sourceClass: sample.sourceClass,
                    answer: sample.answer, storedAtMilliseconds: sample.storedAtMilliseconds,
                    lifetimeSeconds: sample.lifetimeSeconds, demand: sample.demand)
            }
        }
        var store = EntryStore(path: folder.file)
        try store.write(all, nowMilliseconds: 0)
        try store.write([], partitions: [PartitionRemoval(.max), PartitionRemoval(7)], nowMilliseconds: 0)
        #expect(try Loaded(&store).entries == keyed(all.filter { $0.partition != .max }))
    }

    @Test("of a network, only what was learned since a time may go")
    func latestEntries() throws {
        let all = samples.prefix(5).enumerated().map { number, sample in
            sample.stored(at: Int64(number) * 1000, lifetimeSeconds: 60)
        }
        let partition = try #require(all.first?.partition)
        let removal = PartitionRemoval(partition, storedSinceMilliseconds: 2000)
        var store = EntryStore(path: folder.file)
        try store.write(all, nowMilliseconds: 0)
        try store.write([], partitions: [removal], nowMilliseconds: 0)
        let left = all.filter { $0.partition != partition || $0.storedAtMilliseconds < 2000 }
        #expect(try Loaded(&store).entries == keyed(left))
    }

    @Test("pruning takes what expired before a time, then what expires first, and shrinks the file")
    func pruning() throws {
        var store = EntryStore(path: folder.file)
        let many = Samples.entries(20_000).enumerated().map { index, entry in
            entry.stored(at: 1_000_000 + Int64(index) * 1_000, lifetimeSeconds: 10)
        }
        try store.write(many, nowMilliseconds: Samples.storedAt)
        #expect(try store.prune(expiredBeforeMilliseconds: 1_020_000, keepingAtMost: 1_000_000) == 10)
        #expect(try Loaded(&store).entries == keyed(Array(many[10...])))
        #expect(try store.prune(expiredBeforeMilliseconds: 0, keepingAtMost: 100) == 19_890)
        #expect(try Loaded(&store).entries == keyed(Array(many.suffix(100))))
        #expect(try store.prune(expiredBeforeMilliseconds: 0, keepingAtMost: 100) == 0)
        store.close()
        #expect(try TestFile.bytes(at: folder.file).count < 200_000)
        #expect(try store.prune(expiredBeforeMilliseconds: 0, keepingAtMost: 0) == 100)
    }

    @Test("entries that expire in one millisecond are pruned together")
    func pruningTogether() throws {
        var store = EntryStore(path: folder.file)
        let many = Samples.entries(30).enumerated().map { index, entry in
            entry.stored(at: 1_000_000 + Int64(index / 10), lifetimeSeconds: 10)
        }
        try store.write(many, nowMilliseconds: Samples.storedAt)
        #expect(try store.prune(expiredBeforeMilliseconds: 0, keepingAtMost: 25) == 10)
        #expect(try Loaded(&store).entries == keyed(Array(many[10...])))
        #expect(try store.prune(expiredBeforeMilliseconds: 0, keepingAtMost: 20) == 0)
        #expect(try store.prune(expiredBeforeMilliseconds: 0, keepingAtMost: 1) == 20)
    }

    @Test("no more rows are loaded than asked for")
    func loadBound() throws {
        try write(samples)
        #expect(try folder.load(atMost: 7).counts.entries == 7)
    }

    @Test("the file and its log are for their owner only, and one file is left in the end")
    func mode() throws {
        var store = EntryStore(path: folder.file)
        try store.write(samples, nowMilliseconds: 0)
        #expect(folder.names == ["cache.db", "cache.db-shm", "cache.db-wal", "cache.db.lock"])
        for name in folder.names {
            var status = stat()
            #expect(unsafe stat(folder.path + "/" + name, &status) == 0 && status.st_mode & 0o777 == 0o600, "\(name)")
        }
        store.close()
        #expect(folder.names == ["cache.db", "cache.db.lock"])
        #expect(try Loaded(&store).entries == keyed(samples), "a closed store opens again")
    }

    @Test("people read names, types, addresses and times with sqlite3, while the daemon has it open")
    func readableColumns() throws {
        var store = EntryStore(path: folder.file)
        let entry = samples[1].stored(at: 1_700_000_000_999, lifetimeSeconds: 60)
        try store.write([entry, samples[4]], nowMilliseconds: 0)
        let database = try Database(path: folder.file)
        let statement = try Statement(
            """
            SELECT name, type, addresses, code, datetime(stored_at, 'unixepoch'), datetime(expires_at, 'unixepoch')
            FROM entries ORDER BY type_number DESC
            """, on: database)
        #expect(try statement.step())
        let addresses = entry.answer.addresses.map(\.description).joined(separator: " ")
        #expect(
            (0..<6).map { statement.text($0) } == [
                "name1.example", "AAAA", addresses, "NOERROR", "2023-11-14 22:13:20", "2023-11-14 22:14:20",
            ])
        #expect(try statement.step())
        #expect((0..<4).map { statement.text($0) } == ["name4.example", "A", "", "NXDOMAIN"])
        #expect(try !statement.step())
    }

    @Test("a file that was deleted or moved while it was open is begun anew")
    func movedAway() throws {
        var store = EntryStore(path: folder.file)
        try store.write(samples, nowMilliseconds: 0)
        let elsewhere = folder.path + "/moved.db"
        #expect(unsafe rename(folder.file, elsewhere) == 0)
        try store.write([samples[0]], nowMilliseconds: 0)
        #expect(try Loaded(&store).entries == keyed([samples[0]]))
        #expect(unsafe unlink(folder.file) == 0)
        try store.write([samples[1]], nowMilliseconds: 0)
        #expect(try Loaded(&store).entries == keyed([samples[1]]))
    }
}
