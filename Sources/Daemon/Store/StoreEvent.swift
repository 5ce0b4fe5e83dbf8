// Messages between the main thread and the store's thread: batches in one direction, events in the other. Values
// only.

import DNSWire
import Serving
import Store
import Synchronization

/// A batch; removals are carried out before entries. Entries have different keys, so their order does not matter.
struct StoreOrder: Sendable {
    let entries: [StoredEntry]
    let removals: [QuestionScope]
    /// Removals of forgotten networks, and of answers that were learned in the wrong network.
    let partitions: [PartitionRemoval]
    /// Notes by name; nil removes one.
    let notes: [String: String?]
}

/// Event of the store's thread, mostly for the log.
enum StoreEvent: Sendable {
    /// All notes by name, with those taken meanwhile. Sent once, when the file is first read, before the entries are
    /// loaded.
    case notes([String: String])
    /// The file was read; sent once.
    case loaded(LoadReport)
    /// The file was damaged or foreign, and a new one is begun.
    case setAside(SetAside)
    /// A failure, sent once per kind until an operation succeeds. Before `loaded`: the file can't be read, perhaps
    /// later.
    case failed(StoreFailure)
    case recovered
}

struct LoadReport: Sendable {
    /// Entries that are in the cache now.
    var restored = 0
    /// Entries that are too old, superseded or without room.
    var leftOut = 0
    /// Damaged rows.
    var skipped = 0
    var milliseconds: Int64 = 0
    /// Restored entries with the highest demand, highest first.
    var inUse: [RestoredEntry] = []
}

/// Flushes while entries are loaded. Flushed entries are still in the file, and are not restored.
final class FlushesWhileLoading: Sendable {
    /// The flushed scopes; nil: loading is over.
    private let scopes = Mutex<[QuestionScope]?>([])

    /// To be called before the flushed answers are removed from the cache.
    func add(_ scope: QuestionScope) { scopes.withLock { $0?.add(scope) } }

    /// Restores an entry unless it was flushed. No flush comes between check and restoring: `restore` may lock a part
    /// of the cache, and no code that has locked a part calls this.
    func restore(_ question: Question, _ restore: () -> Bool) -> Bool {
        scopes.withLock { scopes in
            let isFlushed = scopes?.contains { $0.contains(question) } ?? false
            return !isFlushed && restore()
        }
    }

    func end() { scopes.withLock { $0 = nil } }
}

struct RestoredEntry: Sendable {
    let question: Question
    let partition: Partition
    let sourceClass: SourceClass
    /// Queries per second when the entry was stored.
    let demand: Double
    let ageMilliseconds: Int64
    let lifetimeSeconds: UInt32
    let isNegative: Bool

    /// Negative once the entry has expired.
    var freshForMilliseconds: Int64 { Int64(lifetimeSeconds) * 1000 - ageMilliseconds }
}

/// Bounded collection of the entries with the highest demand.
struct HottestEntries {
    private let limit: Int
    private var entries: [RestoredEntry] = []

    init(limit: Int) {
        self.limit = limit
    }

    mutating func offer(_ entry: RestoredEntry) {
        guard entry.demand > 0 else { return }
        entries.append(entry)
        if entries.count >= 2 * limit { cut() }
    }

    /// Returns the entries, highest demand first.
    mutating func take() -> [RestoredEntry] {
        cut()
        return exchange(&entries, with: [])
    }

    private mutating func cut() {
        entries.sort { $0.demand > $1.demand }
        entries.removeLast(max(0, entries.count - limit))
    }
}

extension [QuestionScope] {
    /// Adds a removal once. Too many removals become one of everything, which removes more and never less.
    mutating func add(_ removal: QuestionScope) {
        guard !contains(removal), first != .everything else { return }
        if removal == .everything || count >= StoreLoop.maxRemovals { self = [.everything] } else { append(removal) }
    }
}

extension [String: String?] {
    /// Keeps the last value of a name; nil is kept, because it removes.
    ///
    /// - Returns: false if the file has no room for another name.
    mutating func add(_ name: String, _ value: String?) -> Bool {
        guard count < NoteRow.maxCount || self[name] != nil else { return false }
        updateValue(value, forKey: name)
        return true
    }
}
