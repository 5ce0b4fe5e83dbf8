// What passes between the main thread and the store's: batches one way, news the other. Values only.

import AnswerCache
import DNSWire
import Store

/// A batch: removals come before entries. Entries have different keys, so that their order does not matter.
struct StoreOrder: Sendable {
    let entries: [StoredEntry]
    let removals: [QuestionScope]
    /// Of networks that are forgotten.
    let partitions: [UInt32]
    /// By name; nil removes.
    let notes: [String: String?]
}

/// What the thread tells, most of it for the log.
enum StoreEvent: Sendable {
    /// All notes by name, before the entries are loaded: empty where the file can't be used. Should it be read later,
    /// they are told anew. What was noted meanwhile is in them.
    case notes([String: String])
    /// The file was read; once.
    case loaded(LoadReport)
    /// The file was damaged or not ours, and a fresh one is begun.
    case setAside(SetAside)
    /// Told once for each kind until something succeeds.
    case failed(StoreFailure)
    case recovered
}

struct LoadReport: Sendable {
    /// In the cache now.
    var restored = 0
    /// Too old, known better by now, or without room.
    var leftOut = 0
    /// Rows that were damaged.
    var skipped = 0
    var milliseconds: Int64 = 0
    /// The most asked of the restored, most first.
    var inUse: [RestoredEntry] = []
    /// Flushes that came while it was loading: to be carried out again, as an entry may have come behind them.
    var flushedMeanwhile: [QuestionScope] = []
}

struct RestoredEntry: Sendable {
    let question: Question
    let partition: Partition
    let provenance: Provenance
    /// Questions per second when it was stored.
    let demand: Double
    let ageMilliseconds: Int64
    let lifetimeSeconds: UInt32
    let isNegative: Bool

    /// Negative: expired since.
    var freshForMilliseconds: Int64 { Int64(lifetimeSeconds) * 1000 - ageMilliseconds }
}

/// The most asked of many, in bounded space.
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

    /// Most asked first.
    mutating func take() -> [RestoredEntry] {
        cut()
        defer { entries = [] }
        return entries
    }

    private mutating func cut() {
        entries.sort { $0.demand > $1.demand }
        entries.removeLast(max(0, entries.count - limit))
    }
}

extension [QuestionScope] {
    /// Each once; too many become one of everything, which takes away more and never less.
    mutating func add(_ removal: QuestionScope) {
        guard !contains(removal), first != .everything else { return }
        if removal == .everything || count >= StoreLoop.maxRemovals { self = [.everything] } else { append(removal) }
    }
}

extension [String: String?] {
    /// The last one of a name counts; nil stays, as it removes.
    ///
    /// - Returns: false for a name more than the file has room for.
    mutating func add(_ name: String, _ value: String?) -> Bool {
        guard count < NoteRow.maxCount || self[name] != nil else { return false }
        updateValue(value, forKey: name)
        return true
    }
}
