// The store: entries in a SQLite file that survive the process. Opens the file when it is first needed, and again after
// a failure; sets aside what is damaged or not ours and begins anew. For one thread, which may wait for the disk.
// It must never delete a file that it did not make.

package import DNSWire
/// What `load` found.
package struct LoadCounts: Equatable, Sendable {
    /// Rows that were handed over.
    package var entries = 0
    /// Rows that were left out because they say what we cannot have written.
    package var skipped = 0
}

/// How large the file and its log may become.
struct StoreBounds {
    /// 256 MiB hold a million usual entries. Beyond it the file counts as full.
    var maxFileBytes = 256 << 20
    /// The log is brought into the file at 4 MiB; it grows on only while somebody reads the file without an end.
    var maxLogBytes = 32 << 20
}

package struct EntryStore: ~Copyable {
    private var place: StorePlace
    private let bounds: StoreBounds
    /// Nil before the first use, and after a failure to open.
    private var tables: EntryTables?
    private var setAside: [SetAside] = []

    /// - Parameter path: of the file; its folder exists.
    package init(path: String) {
        self.init(path: path, bounds: StoreBounds())
    }

    init(path: String, bounds: StoreBounds) {
        place = StorePlace(path: path)
        self.bounds = bounds
    }

    /// The notes in the file. Damage that shows on the way sets the file aside; then there are none.
    package mutating func notes() throws(StoreFailure) -> [String: String] {
        do throws(StoreFailure) {
            return try open().notes().whole
        } catch {
            try beginAnew(after: error)
            return [:]
        }
    }

    /// Hands over what the file keeps, in no particular order, with the time of its last writing (nil: never). Damage
    /// that shows on the way ends it early and sets the file aside; what was handed over is sound all the same.
    package mutating func load(
        atMost rows: Int, _ body: (StoredEntry, _ lastWrittenMilliseconds: Int64?) -> Void
    ) throws(StoreFailure) -> LoadCounts {
        var counts = LoadCounts()
        do throws(StoreFailure) {
            let tables = try open()
            let lastWritten = try tables.lastWrittenMilliseconds()
            counts.skipped = try tables.load(atMost: rows) { entry in
                counts.entries += 1
                body(entry, lastWritten)
            }
            counts.skipped += try tables.notes().skipped
        } catch {
            try beginAnew(after: error)
        }
        return counts
    }

    /// First removes, then writes, all of it or nothing; of entries with one key the last one stays. Removals are of
    /// entries only.
    ///
    /// - Parameters:
    ///   - partitions: all that was learned there is removed.
    ///   - notes: by name, nil removes; each one fits (`NoteRow.fits`).
    /// - Returns: how many notes are not in the file because it holds as many others as it may.
    @discardableResult
    package mutating func write(
        _ batch: [StoredEntry], removing removals: [QuestionScope] = [], partitions: [UInt32] = [],
        notes: [String: String?] = [:], nowMilliseconds: Int64
    ) throws(StoreFailure) -> Int {
        precondition(notes.allSatisfy(NoteRow.fits), "a note that would not be read back")
        do throws(StoreFailure) {
            let tables = try open()
            if place.logBytes > bounds.maxLogBytes { try tables.checkpoint() }
            guard place.logBytes <= bounds.maxLogBytes else { throw .locked }
            return try tables.write(
                batch, removing: removals, partitions: partitions, notes: notes, nowMilliseconds: nowMilliseconds)
        } catch {
            try beginAnew(after: error)
            return try open().write(
                batch, removing: removals, partitions: partitions, notes: notes, nowMilliseconds: nowMilliseconds)
        }
    }

    /// Removes what expired before a time, then what expires first until no more than `rows` are left; what expires in
    /// one millisecond goes together.
    ///
    /// - Returns: how many rows went.
    package mutating func prune(
        expiredBeforeMilliseconds: Int64, keepingAtMost rows: Int
    ) throws(StoreFailure) -> Int {
        do throws(StoreFailure) {
            return try open().prune(expiredBeforeMilliseconds: expiredBeforeMilliseconds, keepingAtMost: rows)
        } catch {
            try beginAnew(after: error)
            return 0
        }
    }

    /// Before the end: one file is left, without its log.
    package mutating func close() {
        try? tables?.checkpoint()
        tables = nil
    }

    /// Files that were set aside since the last call.
    package mutating func takeSetAside() -> [SetAside] {
        defer { setAside = [] }
        return setAside
    }

    // MARK: opening

    private mutating func open() throws(StoreFailure) -> EntryTables {
        // Somebody moved or deleted the file: what we write would go with it.
        if let tables, place.isInPlace { return tables }
        tables = nil
        try place.takeLock()
        try place.prepare()
        let opened = try EntryTables(path: place.path, maxFileBytes: bounds.maxFileBytes)
        tables = opened
        return opened
    }

    /// Another failure than that of the file's content is the caller's.
    private mutating func beginAnew(after failure: StoreFailure) throws(StoreFailure) {
        guard case .unusable(let finding) = failure else { throw failure }
        // Closed first: SQLite removes the log by its name, which may be the new file's soon.
        tables = nil
        setAside.append(try place.setAside(finding: finding))
        _ = try open()
    }
}
