// Damaged, truncated and foreign files: the store loads only its own entries, sets a bad file aside, and continues with
// a new one.

import DNSWire
import Glibc
import TestSupport
import Testing

@testable import Store

struct DamageTests {
    /// The batches, which take about fifty pages.
    private static let batches = (0..<3).map { Samples.entries(300, prefix: "batch\($0)-", seed: UInt64($0)) }
    private static let written = Dictionary(
        batches.joined().map { (EntryKey($0), $0) }, uniquingKeysWith: { $1 })

    /// The bytes of a sound file, without a log.
    private static let soundFile: [UInt8] = {
        let folder = TemporaryFolder()
        var store = EntryStore(path: folder.file)
        for batch in batches { _ = try? store.write(batch, nowMilliseconds: 1) }
        store.close()
        return (try? TestFile.bytes(at: folder.file)) ?? []
    }()

    /// Opens the store in the folder, and checks that it returns only written entries and works afterwards.
    @discardableResult
    private func checkRecovery(_ folder: TemporaryFolder, _ what: String) throws -> Loaded {
        var store = EntryStore(path: folder.file)
        let loaded = try Loaded(&store)
        let strangers = loaded.entries.filter { DamageTests.written[$0.key] != $0.value }
        #expect(strangers.isEmpty, "\(what)")
        #expect(loaded.setAside.allSatisfy { unsafe access($0.newPath, F_OK) == 0 }, "\(what)")
        let entry = Samples.entries(1, prefix: "afterwards")[0]
        try store.write([entry], nowMilliseconds: 2)
        store.close()
        #expect(try Loaded(&store).entries[EntryKey(entry)] == entry, "\(what)")
        return loaded
    }

    @Test("a file cut at any place")
    func cut() throws {
        let bytes = DamageTests.soundFile
        let places = Array(0..<5) + [16, 24, 99, 100, 101] + Array(stride(from: 512, to: bytes.count, by: 3_001))
        for place in places {
            let folder = TemporaryFolder()
            folder.write(Array(bytes.prefix(place)), to: folder.file)
            let loaded = try checkRecovery(folder, "cut at \(place)")
            // SQLite treats a file of one byte as empty, and reads zeros where the last page is cut.
            let isNoticed = !loaded.setAside.isEmpty || loaded.counts.skipped > 0
            #expect(isNoticed == (place > 1), "an empty file is no damage, any other cut is: \(place)")
        }
    }

    @Test("a file with a few changed bytes", arguments: 0..<40)
    func changedBytes(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var bytes = DamageTests.soundFile
        let folder = TemporaryFolder()
        for _ in 0..<Int.random(in: 1...8, using: &random) {
            // The first page, where every byte has a meaning, is chosen more often than its size would imply.
            let isHead = Int.random(in: 0..<4, using: &random) == 0
            let place = Int.random(in: 0..<(isHead ? 200 : bytes.count), using: &random)
            bytes[place] ^= UInt8.random(in: 1...255, using: &random)
        }
        folder.write(bytes, to: folder.file)
        try checkRecovery(folder, "seed \(seed)")
    }

    @Test("a file with a lost page, and one of noise", arguments: 0..<10)
    func lostPage(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var bytes = DamageTests.soundFile
        let page = Int.random(in: 1..<(bytes.count / 4_096), using: &random) * 4_096
        for place in page..<(page + 4_096) { bytes[place] = 0 }
        let folder = TemporaryFolder()
        folder.write(bytes, to: folder.file)
        try checkRecovery(folder, "page at \(page)")
        let noise = TemporaryFolder()
        noise.write((0..<20_000).map { _ in UInt8.random(in: 0...255, using: &random) }, to: noise.file)
        #expect(try checkRecovery(noise, "noise").setAside.count == 1)
    }

    @Test("a log with changed bytes gives whole batches from the first on", arguments: 0..<20)
    func changedLog(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let source = TemporaryFolder()
        var store = EntryStore(path: source.file)
        for batch in DamageTests.batches { try store.write(batch, nowMilliseconds: 1) }
        let folder = TemporaryFolder()
        folder.write(try TestFile.bytes(at: source.file), to: folder.file)
        var log = try TestFile.bytes(at: source.file + "-wal")
        let isCut = Bool.random(using: &random)
        let place = Int.random(in: 32..<log.count, using: &random)
        if isCut { log.removeSubrange(place...) } else { log[place] ^= 0x10 }
        folder.write(log, to: folder.file + "-wal")
        let loaded = try checkRecovery(folder, "seed \(seed)")
        let present = DamageTests.batches.map { batch in batch.filter { loaded.entries[EntryKey($0)] != nil }.count }
        #expect(
            [[0, 0, 0], [300, 0, 0], [300, 300, 0], [300, 300, 300]].contains(present), "seed \(seed): \(present)")
        store.close()
    }

    @Test(
        "what another program or a later version made is set aside untouched",
        arguments: [
            "CREATE TABLE moz_places(id INTEGER PRIMARY KEY, url TEXT); INSERT INTO moz_places VALUES (1, 'a')",
            "PRAGMA application_id = 7", "PRAGMA user_version = 1", "PRAGMA user_version = 2",
            "PRAGMA user_version = 3", "CREATE VIEW entries AS SELECT 1",
        ])
    func foreign(sql: String) throws {
        let folder = TemporaryFolder()
        folder.write([], to: folder.file)
        try Database(path: folder.file).run(sql)
        let before = try TestFile.bytes(at: folder.file)
        let loaded = try checkRecovery(folder, sql)
        #expect(loaded.setAside.map(\.newPath) == [folder.file + ".aside-1"])
        let after = try TestFile.bytes(at: folder.file + ".aside-1")
        #expect(after == before, "\(sql)")
        #expect(try Database(path: folder.file + ".aside-1").number("PRAGMA integrity_check") == 0)
    }

    @Test(
        "a file of ours that was changed in its tables is set aside, one that was only looked at is not",
        arguments: [
            ("PRAGMA user_version = 4", false), ("PRAGMA user_version = 2", false), ("PRAGMA user_version = 1", false),
            ("ALTER TABLE entries ADD COLUMN more TEXT", false), ("DROP TABLE notes", false),
            ("CREATE TABLE evidence(id)", false), ("DROP TABLE history", false),
            ("ALTER TABLE history ADD COLUMN more ANY", false), ("CREATE INDEX i ON entries(name)", false),
            ("ANALYZE", true), ("VACUUM", true), ("PRAGMA journal_mode = DELETE", true),
        ])
    func changedTables(sql: String, isOurs: Bool) throws {
        let folder = TemporaryFolder()
        folder.write(DamageTests.soundFile, to: folder.file)
        try Database(path: folder.file).run(sql)
        let loaded = try checkRecovery(folder, sql)
        #expect(loaded.setAside.isEmpty == isOurs && loaded.entries.isEmpty != isOurs, "\(sql)")
    }

    @Test(
        "an edited row is left out, and no other",
        arguments: [
            "body = x'c00c00010001000000ff0004c0000201'", "lifetime = lifetime + 1", "stored_ms = stored_ms + 1",
            "partition = 77", "type_number = 12", "demand = demand + 1", "answers = answers + 1", "rcode = 2",
            "is_cut = 1", "provenance = 'somebody'", "question = x'0161'", "checksum = 1", "stored_ms = -1",
            "answers = 99999999", "question = x''", "body = zeroblob(200000)", "demand = 9e999",
            "extended_error = '15 x'", "extended_error = 'x'",
        ])
    func editedRow(change: String) throws {
        let folder = TemporaryFolder()
        folder.write(DamageTests.soundFile, to: folder.file)
        try Database(path: folder.file).run("UPDATE entries SET \(change) WHERE name = 'batch1-7.example'")
        let loaded = try checkRecovery(folder, change)
        #expect(loaded.counts == LoadCounts(entries: DamageTests.written.count - 1, skipped: 1), "\(change)")
        #expect(loaded.setAside.isEmpty)
    }

    @Test("what is no regular file is an error, and is left alone")
    func notAFile() throws {
        let folder = TemporaryFolder()
        let makers: [(String, (String) -> Int32)] = [
            ("a directory", { unsafe mkdir($0, 0o755) }), ("a FIFO", { unsafe mkfifo($0, 0o600) }),
            ("a symbolic link", { unsafe symlink("elsewhere", $0) }),
        ]
        for (what, make) in makers {
            #expect(make(folder.file) == 0)
            var store = EntryStore(path: folder.file)
            let failure = #expect(throws: StoreFailure.self) { _ = try Loaded(&store) }
            guard case .forbidden = failure else {
                Issue.record("\(what): \(String(describing: failure))")
                return
            }
            #expect(folder.names == ["cache.db", "cache.db.lock"], "\(what)")
            #expect(unsafe Glibc.remove(folder.file) == 0)
            try store.write([], nowMilliseconds: 0)
            store.close()
            #expect(unsafe Glibc.remove(folder.file) == 0)
        }
    }

    @Test("nine files are set aside, the tenth stays where it is")
    func crowded() throws {
        let folder = TemporaryFolder()
        for number in 1...9 {
            folder.write([1, 2, 3], to: folder.file)
            #expect(try folder.load().setAside.map(\.newPath) == [folder.file + ".aside-\(number)"])
        }
        folder.write([1, 2, 3], to: folder.file)
        #expect(throws: StoreFailure.crowded) { try folder.load() }
        #expect(try TestFile.bytes(at: folder.file) == [1, 2, 3])
        #expect(unsafe unlink(folder.file + ".aside-4") == 0)
        #expect(try folder.load().setAside.map(\.newPath) == [folder.file + ".aside-4"])
    }

    @Test("damage that comes while the file is open is noticed, set aside, and the batch is written all the same")
    func damagedWhileOpen() throws {
        let folder = TemporaryFolder()
        var store = EntryStore(path: folder.file)
        // The entries exceed SQLite's memory cache.
        try store.write(Samples.entries(30_000, prefix: "many"), nowMilliseconds: 0)
        let entries = Samples.entries(200, prefix: "later")
        let size = try TestFile.bytes(at: folder.file).count
        // The bytes are overwritten inside the file, as a failing disk does, and the file is not replaced.
        folder.write([UInt8](repeating: 0x55, count: max(size, 100_000)), to: folder.file)
        folder.write([], to: folder.file + "-wal")
        try store.write(entries, nowMilliseconds: 0)
        var loaded = try Loaded(&store)
        if !loaded.setAside.isEmpty, loaded.entries.isEmpty {
            try store.write(entries, nowMilliseconds: 0)
            loaded = try Loaded(&store)
        }
        #expect(folder.names.contains("cache.db.aside-1"))
        #expect(loaded.entries == Dictionary(entries.map { (EntryKey($0), $0) }) { $1 })
    }
}
