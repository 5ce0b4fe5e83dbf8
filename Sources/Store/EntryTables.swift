// The open file: its connection and prepared statements, freed together. Reports failures and repairs nothing.

import DNSWire

final class EntryTables {
    private let database: Database
    private let insert: Statement
    private let select: Statement
    private let removeName: Statement
    private let removeTree: Statement
    private let removeAll: Statement
    private let removePartition: Statement
    private let removeSubstitute: Statement
    private let removeExpired: Statement
    private let selectExpiry: Statement
    private let setWritten: Statement
    private let insertNote: Statement
    private let selectNotes: Statement
    private let removeNote: Statement

    private static let pageBytes = 4_096
    /// Maximum number of pages returned to the file system in one prune; the rest wait for the next prune.
    private static let maxFreedPages = 4_096
    /// Size of the idle log: SQLite truncates a larger log to this size.
    private static let maxIdleLogBytes = 4 << 20
    /// Size of SQLite's page cache, an eighth of its default. The kernel caches the file too, and a read of a page from
    /// there costs little.
    private static let cacheKiB = 256

    /// - Parameter path: the path of an existing file, possibly empty.
    init(path: String, maxFileBytes: Int) throws(StoreFailure) {
        let database = try Database(path: path)
        let finding = try Schema.finding(database)
        // The pragma must be set while the file is empty. Free pages can then be returned to the file system later.
        if finding == .fresh { try database.run("PRAGMA auto_vacuum = INCREMENTAL") }
        // WAL with NORMAL: a crash or power loss may lose the last batches, but never part of one. Only a checkpoint
        // waits for the disk.
        try database.run(
            """
            PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cell_size_check = ON;
            PRAGMA journal_size_limit = \(EntryTables.maxIdleLogBytes); PRAGMA cache_size = -\(EntryTables.cacheKiB)
            """)
        switch finding {
        case .fresh: try Schema.create(database)
        case .former(let statements): try Schema.complete(database, adding: statements)
        case .current: break
        }
        // The limit is set after the tables exist, so that a file at its maximum size still gets them.
        try database.run("PRAGMA max_page_count = \(maxFileBytes / EntryTables.pageBytes)")
        insert = try Statement(EntryRow.insert, on: database)
        select = try Statement(EntryRow.select, on: database)
        // NULL matches every type.
        removeName = try Statement(
            "DELETE FROM entries WHERE question = ?1 AND type_number = coalesce(?2, type_number)", on: database)
        // The wire form of a name ends with that of each ancestor. A longer label can contain the same bytes; such
        // names do not occur, and their loss only costs a lookup.
        removeTree = try Statement(
            """
            DELETE FROM entries
            WHERE substr(question, -length(?1)) = ?1 AND type_number = coalesce(?2, type_number)
            """, on: database)
        removeAll = try Statement("DELETE FROM entries", on: database)
        removePartition = try Statement("DELETE FROM entries WHERE partition = ? AND stored_ms >= ?", on: database)
        removeSubstitute = try Statement(
            """
            DELETE FROM entries
            WHERE question = ?1 AND type_number = ?2 AND partition = ?3 AND provenance = 'system' AND stored_ms <= ?4
            """, on: database)
        removeExpired = try Statement("DELETE FROM entries WHERE stored_ms + lifetime * 1000 < ?", on: database)
        selectExpiry = try Statement(
            "SELECT stored_ms + lifetime * 1000 FROM entries ORDER BY 1 LIMIT 1 OFFSET ?", on: database)
        setWritten = try Statement("INSERT OR REPLACE INTO history(id, written_ms) VALUES (1, ?)", on: database)
        insertNote = try Statement(NoteRow.insert, on: database)
        selectNotes = try Statement(NoteRow.select, on: database)
        removeNote = try Statement("DELETE FROM notes WHERE name = ?", on: database)
        self.database = database
    }

    /// - Returns: the number of rows that were skipped.
    func load(atMost rows: Int, _ body: (StoredEntry) -> Void) throws(StoreFailure) -> Int {
        defer { select.reset() }
        select.bind(rows, at: 1)
        var skipped = 0
        while try select.step() {
            if let entry = EntryRow.read(select) { body(entry) } else { skipped += 1 }
        }
        return skipped
    }

    func lastWrittenMilliseconds() throws(StoreFailure) -> Int64? {
        let written = try database.number("SELECT written_ms FROM history")
        return written == 0 ? nil : written
    }

    /// - Returns: all valid notes, and the number of rows that were skipped.
    func notes() throws(StoreFailure) -> (whole: [String: String], skipped: Int) {
        defer { selectNotes.reset() }
        var (whole, skipped): ([String: String], Int) = ([:], 0)
        while try selectNotes.step() {
            if let note = NoteRow.read(selectNotes) { whole[note.name] = note.value } else { skipped += 1 }
        }
        return (whole, skipped)
    }

    /// - Returns: the number of notes that were rejected for lack of room.
    func write(
        _ batch: [StoredEntry], removing removals: [QuestionScope], partitions: [PartitionRemoval],
        notes: [String: String?], nowMilliseconds: Int64
    ) throws(StoreFailure) -> Int {
        var refusedNotes = 0
        try database.transaction { () throws(StoreFailure) in
            for removal in removals { try remove(removal) }
            for partition in partitions {
                removePartition.bind(partition.partition, at: 1)
                removePartition.bind(partition.storedSinceMilliseconds, at: 2)
                try removePartition.run()
            }
            // Older entries come first: a provider's answer replaces an earlier answer of the system resolver, not a
            // later one.
            for entry in batch.sorted(by: { $0.storedAtMilliseconds < $1.storedAtMilliseconds }) {
                EntryRow.bind(entry, to: insert)
                try insert.run()
                if entry.sourceClass == .provider { try removeSubstitute(of: entry) }
            }
            setWritten.bind(nowMilliseconds, at: 1)
            try setWritten.run()
            refusedNotes = try write(notes)
        }
        return refusedNotes
    }

    private func write(_ notes: [String: String?]) throws(StoreFailure) -> Int {
        var refused = 0
        // Removals make room first. Notes are then written in name order, so the same notes always fit.
        for (name, value) in notes where value == nil {
            removeNote.bind(name, at: 1)
            try removeNote.run()
        }
        for (name, value) in notes.sorted(by: { $0.key < $1.key }) {
            guard let value else { continue }
            NoteRow.bind(name, value, to: insertNote)
            try insertNote.run()
            refused += database.changes == 0 ? 1 : 0
        }
        return refused
    }

    /// - Returns: the number of rows that were removed.
    func prune(expiredBeforeMilliseconds: Int64, keepingAtMost rows: Int) throws(StoreFailure) -> Int {
        var removed = 0
        try database.transaction { () throws(StoreFailure) in
            removed = try remove(expiredBeforeMilliseconds: expiredBeforeMilliseconds)
            let excess = try Int(database.number("SELECT count(*) FROM entries")) - rows
            if excess > 0 { removed += try remove(expiredBeforeMilliseconds: endOfExpiry(ofRank: excess - 1)) }
        }
        try database.run("PRAGMA incremental_vacuum(\(EntryTables.maxFreedPages))")
        return removed
    }

    private func remove(expiredBeforeMilliseconds: Int64) throws(StoreFailure) -> Int {
        removeExpired.bind(expiredBeforeMilliseconds, at: 1)
        try removeExpired.run()
        return database.changes
    }

    /// Returns the moment after the expiry of the entry with this rank, ordered by expiry. A time limit is used
    /// instead of a row list, which SQLite would hold in memory, several MiB in a large file.
    private func endOfExpiry(ofRank rank: Int) throws(StoreFailure) -> Int64 {
        defer { selectExpiry.reset() }
        selectExpiry.bind(rank, at: 1)
        // A damaged row may hold any value.
        return try selectExpiry.step() ? min(selectExpiry.integer(0), .max - 1) + 1 : .min
    }

    /// Moves the log into the file, so that the next start reads one file only.
    func checkpoint() throws(StoreFailure) {
        try database.run("PRAGMA wal_checkpoint(TRUNCATE)")
    }

    private func removeSubstitute(of entry: StoredEntry) throws(StoreFailure) {
        removeSubstitute.bind(EntryRow.key(entry.question.name), at: 1)
        removeSubstitute.bind(entry.question.type.rawValue, at: 2)
        removeSubstitute.bind(entry.partition, at: 3)
        removeSubstitute.bind(entry.storedAtMilliseconds, at: 4)
        try removeSubstitute.run()
    }

    private func remove(_ removal: QuestionScope) throws(StoreFailure) {
        if removal == .everything {
            try removeAll.run()
        } else if removal.includesDescendants {
            try remove(removal.name, removal.type, with: removeTree)
        } else {
            try remove(removal.name, removal.type, with: removeName)
        }
    }

    private func remove(
        _ name: Name, _ type: RecordType?, with statement: borrowing Statement
    ) throws(StoreFailure) {
        statement.bind(EntryRow.key(name), at: 1)
        if let type { statement.bind(type.rawValue, at: 2) }
        try statement.run()
    }
}
