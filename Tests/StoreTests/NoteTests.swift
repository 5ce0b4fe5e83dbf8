// Notes beside the entries: they are read back, survive flushes and the tables of an older file, and stay within
// bounds.

import DNSWire
import Glibc
import TestSupport
import Testing

@testable import Store

struct NoteTests {
    private let folder = TemporaryFolder()
    private let samples = Samples.entries(60)

    @Test("notes come back, the last one of a name counts, and nil removes")
    func roundTrip() throws {
        var store = EntryStore(path: folder.file)
        #expect(try store.notes().isEmpty)
        try store.write([], notes: ["switch": "off until 7", "nodes": "", "über": "\u{1F600}\n"], nowMilliseconds: 0)
        try store.write(samples, nowMilliseconds: 0)
        #expect(try store.notes() == ["switch": "off until 7", "nodes": "", "über": "\u{1F600}\n"])
        try store.write([], notes: ["switch": nil, "nodes": "192.0.2.1", "none": nil], nowMilliseconds: 0)
        store.close()
        #expect(try store.notes() == ["nodes": "192.0.2.1", "über": "\u{1F600}\n"], "a closed store opens again")
    }

    @Test("a flush and pruning leave notes alone")
    func flush() throws {
        var store = EntryStore(path: folder.file)
        try store.write(samples, notes: ["switch": "off"], nowMilliseconds: 0)
        try store.write([], removing: [.everything], nowMilliseconds: 0)
        _ = try store.prune(expiredBeforeMilliseconds: .max, keepingAtMost: 0)
        let loaded = try Loaded(&store)
        #expect(loaded.entries.isEmpty && loaded.counts.skipped == 0)
        #expect(try store.notes() == ["switch": "off"])
    }

    @Test("one note more than there is room for is refused and counted, and removals make room first")
    func count() throws {
        var store = EntryStore(path: folder.file)
        let names = (0..<NoteRow.maxCount).map { "note\($0)" }
        let all: [String: String?] = Dictionary(uniqueKeysWithValues: names.map { ($0, "x") })
        #expect(try store.write([], notes: all, nowMilliseconds: 0) == 0)
        #expect(try store.write([], notes: ["a": "1", "note3": "y"], nowMilliseconds: 0) == 1)
        #expect(try store.notes().count == NoteRow.maxCount && store.notes()["note3"] == "y")
        #expect(try store.write([], notes: ["a": "1", "note3": nil, "z": "2"], nowMilliseconds: 0) == 1)
        #expect(try store.notes()["a"] == "1" && store.notes()["z"] == nil && store.notes()["note3"] == nil)
    }

    @Test("what fits is as long as the bounds say and has no zero byte")
    func bounds() throws {
        let name = String(repeating: "n", count: NoteRow.maxNameBytes)
        let value = String(repeating: "v", count: NoteRow.maxValueBytes)
        #expect(NoteRow.fits(name: name, value: value) && NoteRow.fits(name: "n", value: nil))
        let host = (0..<4).map { _ in String(repeating: "h", count: 63) }.joined(separator: ".").prefix(253)
        #expect(NoteRow.fits(name: "addresses of \(host)", value: nil))
        #expect(!NoteRow.fits(name: name + "n", value: nil) && !NoteRow.fits(name: "", value: nil))
        #expect(!NoteRow.fits(name: "n", value: value + "v") && !NoteRow.fits(name: "n", value: "a\0b"))
        #expect(!NoteRow.fits(name: "n\0", value: "a"))
        var store = EntryStore(path: folder.file)
        try store.write([], notes: [name: value], nowMilliseconds: 0)
        #expect(try store.notes() == [name: value])
    }

    @Test(
        "an edited note is left out and counted, and no other",
        arguments: [
            "value = 'on'", "name = 'other'", "checksum = 1", "value = hex(zeroblob(5000))",
            "value = CAST(x'ff' AS TEXT)",
        ])
    func editedRow(change: String) throws {
        var store = EntryStore(path: folder.file)
        try store.write(samples, notes: ["switch": "off", "nodes": "192.0.2.1"], nowMilliseconds: 0)
        store.close()
        try Database(path: folder.file).run("UPDATE notes SET \(change) WHERE name = 'switch'")
        #expect(try store.notes() == ["nodes": "192.0.2.1"])
        #expect(try Loaded(&store).counts == LoadCounts(entries: samples.count, skipped: 1))
        try store.write([], notes: ["switch": "on"], nowMilliseconds: 0)
        #expect(try store.notes()["switch"] == "on" && store.takeSetAside().isEmpty)
    }

    @Test("a damaged file has no notes, and takes new ones when it is set aside")
    func damaged() throws {
        folder.write(Array("this is no database".utf8), to: folder.file)
        var store = EntryStore(path: folder.file)
        #expect(try store.notes().isEmpty)
        #expect(store.takeSetAside().count == 1)
        try store.write([], notes: ["switch": "off"], nowMilliseconds: 0)
        #expect(try store.notes() == ["switch": "off"])
    }
}

/// A file of the first version. Its statements are written out, because they must not change.
@Suite("Store of version 1")
struct FirstVersionTests {
    private let folder = TemporaryFolder()
    private let samples = Samples.entries(300).filter { $0.answer.extendedError == nil }

    private static let tables = """
        CREATE TABLE entries(
            question BLOB NOT NULL,
            type_number INTEGER NOT NULL,
            partition INTEGER NOT NULL,
            provenance TEXT NOT NULL,
            stored_ms INTEGER NOT NULL,
            lifetime INTEGER NOT NULL,
            demand REAL NOT NULL,
            rcode INTEGER NOT NULL,
            answers INTEGER NOT NULL,
            authorities INTEGER NOT NULL,
            is_cut INTEGER NOT NULL,
            body BLOB NOT NULL,
            checksum INTEGER NOT NULL,
            name TEXT NOT NULL,
            type TEXT NOT NULL,
            addresses TEXT NOT NULL,
            code TEXT AS (CASE rcode WHEN 0 THEN 'NOERROR' WHEN 3 THEN 'NXDOMAIN' ELSE 'RCODE' || rcode END),
            stored_at INTEGER AS (stored_ms / 1000),
            expires_at INTEGER AS (stored_ms / 1000 + lifetime),
            PRIMARY KEY(question, type_number, partition, provenance)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE history(
            id INTEGER PRIMARY KEY CHECK (id = 1),
            written_ms INTEGER NOT NULL
        ) STRICT;
        PRAGMA application_id = 0x4854444E; PRAGMA user_version = 1
        """

    private func makeFile() throws {
        folder.write([], to: folder.file)
        let database = try Database(path: folder.file)
        try database.run("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL")
        try database.run(FirstVersionTests.tables)
        let insert = try Statement(
            """
            INSERT OR REPLACE INTO entries(
                question, type_number, partition, provenance, stored_ms, lifetime, demand, rcode, answers, authorities,
                is_cut, body, checksum, name, type, addresses)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """, on: database)
        for entry in samples {
            EntryRow.bind(entry, to: insert)
            try insert.run()
        }
        try database.run("INSERT INTO history(id, written_ms) VALUES (1, 77)")
    }

    private var expected: [EntryKey: StoredEntry] { Dictionary(samples.map { (EntryKey($0), $0) }) { $1 } }

    @Test("keeps every entry, gets notes, and is not set aside")
    func migrated() throws {
        try makeFile()
        var store = EntryStore(path: folder.file)
        #expect(try store.notes().isEmpty)
        try store.write([], notes: ["switch": "off"], nowMilliseconds: 78)
        let loaded = try Loaded(&store)
        #expect(loaded.entries == expected && loaded.counts.skipped == 0 && loaded.setAside.isEmpty)
        store.close()
        #expect(try store.notes() == ["switch": "off"])
        #expect(try Loaded(&store).entries == expected)
        #expect(try Database(path: folder.file).number("PRAGMA user_version") == 3)
    }

    @Test("as large as a file may become is brought to the new tables all the same")
    func fullFile() throws {
        try makeFile()
        var store = EntryStore(path: folder.file, bounds: StoreBounds(maxFileBytes: 4_096))
        #expect(try Loaded(&store).entries == expected)
        #expect(throws: StoreFailure.full) { try store.write(Samples.entries(300, prefix: "more"), nowMilliseconds: 0) }
        #expect(try Loaded(&store).entries == expected)
    }

    @Test("stays as it is while it can't be changed, and is brought to the new tables afterwards")
    func locked() throws {
        try makeFile()
        let other = try Database(path: folder.file)
        try other.run("BEGIN IMMEDIATE")
        var store = EntryStore(path: folder.file)
        #expect(throws: StoreFailure.locked) { _ = try Loaded(&store) }
        try other.run("ROLLBACK")
        #expect(try other.number("PRAGMA user_version") == 1)
        #expect(try Loaded(&store).entries == expected)
        #expect(try other.number("PRAGMA user_version") == 3)
    }
}
