// Stores entries in a SQLite file across restarts. Opens the file on first use and again after a failure. Renames a
// damaged or foreign file and starts a new one. For one thread, which may block on the disk. It must never delete a
// file that it did not create.

package import DNSWire
/// Counts of a `load`.
package struct LoadCounts: Equatable, Sendable {
    /// Rows passed to the caller.
    package var entries = 0
    /// Invalid rows that were skipped.
    package var skipped = 0
}

/// Size limits of the file and its log.
struct StoreBounds {
    /// Maximum size of the file: 256 MiB hold a million usual entries. At this size the file counts as full.
    var maxFileBytes = 256 << 20
    /// Maximum size of the log. SQLite checkpoints it at 4 MiB; it grows beyond that only during a long read by another
    /// process.
    var maxLogBytes = 32 << 20
}

// SQLite leaves the file intact after any kill, and every operator has a tool to read it. Loading takes about ten times
// as long as reading a dump, still a fraction of a second. SQLite has no checksums, so `EntryRow` adds them.
package struct EntryStore: ~Copyable {
    private var place: StorePlace
    private let bounds: StoreBounds
    /// The open file; nil before the first use and after a failed open.
    private var tables: EntryTables?
    private var setAside: [SetAside] = []

    /// - Parameter path: the path of the file; its directory must exist.
    package init(path: String) {
        self.init(path: path, bounds: StoreBounds())
    }

    init(path: String, bounds: StoreBounds) {
        place = StorePlace(path: path)
        self.bounds = bounds
    }

    /// Returns the notes in the file. If the file is damaged, renames it and returns no notes.
    package mutating func notes() throws(StoreFailure) -> [String: String] {
        do throws(StoreFailure) {
            return try open().notes().whole
        } catch {
            try beginAnew(after: error)
            return [:]
        }
    }

    /// Passes all entries to `body`, in no particular order, with the time of the last write (nil: never). If the file
    /// is damaged, stops early and renames it; the entries passed before that are valid.
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

    /// Removes entries, then writes the new ones, in one transaction. Of entries with one key the last one stays.
    /// Removals apply to entries only.
    ///
    /// - Parameters:
    ///   - partitions: the networks of which entries are removed.
    ///   - notes: values by name; nil removes the note. Each must fit (`NoteRow.fits`).
    /// - Returns: the number of notes that were rejected because the file holds the maximum number.
    @discardableResult
    package mutating func write(
        _ batch: [StoredEntry], removing removals: [QuestionScope] = [], partitions: [PartitionRemoval] = [],
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

    /// Removes the entries that expired before the given time. After that, removes the entries that expire first until
    /// at most `rows` are left. Entries that expire in the same millisecond are removed together.
    ///
    /// - Returns: the number of rows that were removed.
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

    /// Checkpoints the log and closes the file; call at shutdown.
    package mutating func close() {
        try? tables?.checkpoint()
        tables = nil
    }

    /// Returns the files renamed since the last call.
    package mutating func takeSetAside() -> [SetAside] { exchange(&setAside, with: []) }

    // MARK: opening

    private mutating func open() throws(StoreFailure) -> EntryTables {
        // If another process has moved or deleted the file, writes to it would be lost.
        if let tables, place.isInPlace { return tables }
        tables = nil
        try place.takeLock()
        try place.prepare()
        let opened = try EntryTables(path: place.path, maxFileBytes: bounds.maxFileBytes)
        tables = opened
        return opened
    }

    /// Renames the file and starts a new one if the failure is about the file's content; otherwise throws the failure.
    private mutating func beginAnew(after failure: StoreFailure) throws(StoreFailure) {
        guard case .unusable(let finding) = failure else { throw failure }
        // The file is closed first: SQLite removes the log by its name, which may soon belong to the new file.
        tables = nil
        setAside.append(try place.setAside(finding: finding))
        _ = try open()
    }
}
