// The main thread's side of the store: collects what is to be kept, hands it to the store's own thread in batches, and
// brings back what that thread has to say. It never waits for the disk except in `stop`.

import AnswerCache
import DNSWire
import LinuxIO
import Settings
import Store
import Synchronization

final class StoreThread {
    let path: String
    private let orders: Mailbox<StoreOrder>
    private let lastOrder: Mailbox<StoreOrder>
    private let events: Mailbox<StoreEvent>
    private let tally = StoreTally()
    private let loop: EventLoop
    private var registration: EventLoop.Registration?
    /// So that a turn without news costs no system call.
    private var hasEvents = false
    private var thread: NamedThread?

    private var collected: [Key: StoredEntry] = [:]
    private var removals: [QuestionScope] = []
    private var partitions: [UInt32] = []
    private var collectedNotes: [String: String?] = [:]
    /// Nil exactly while nothing is collected.
    private var postAt: Instant?
    /// What was flushed while entries were still being loaded, perhaps behind the flush; nil when they are.
    private var flushedWhileLoading: [QuestionScope]? = []
    /// Likewise: what is said now counts more than what the file says.
    private var notedWhileLoading: [String: String?]? = [:]
    private var droppedEntries: UInt64 = 0

    private struct Key: Hashable {
        let question: Question
        let partition: UInt32
        let provenance: StoredEntry.Provenance
    }

    /// What a kill -9 may cost, and how often a busy daemon writes.
    static let interval: Duration = .seconds(2)
    /// Some 400 KiB. A full batch leaves before the interval is over, so that a flood of new answers is in memory twice
    /// for a moment only, and leaves no holes of many MiB among the cache's entries.
    static let maxCollected = 1_024
    static let maxRemovals = StoreLoop.maxRemovals
    /// Batches that may wait for a slow disk: with as many taken by the thread and one collected, some 5 MiB.
    private static let ordersCapacity = 6
    /// Each failure is told once, and the main thread reads in every turn.
    private static let eventsCapacity = 64

    struct Counts: Equatable {
        var restoredEntries: UInt64 = 0
        var writtenEntries: UInt64 = 0
        var batches: UInt64 = 0
        /// Batches that could not be written, loading included.
        var failures: UInt64 = 0
        /// Entries in such batches, or given while too many were waiting.
        var droppedEntries: UInt64 = 0
        /// Notes that are not in the file because it holds as many others as it may.
        var refusedNotes: UInt64 = 0
    }

    /// Starts loading the file at `path` into the cache.
    ///
    /// - Parameters:
    ///   - maxAge: how long an expired answer is of use.
    ///   - maxTTL: what comes back lives so long at most.
    ///   - maxRows: what the file keeps; what expires first goes first.
    init(
        path: String, cache: AnswerCache, maxAge: Duration, maxTTL: Duration, maxRows: Int, loop: EventLoop
    ) throws(SystemError) {
        self.path = path
        self.loop = loop
        orders = try Mailbox(capacity: StoreThread.ordersCapacity)
        lastOrder = try Mailbox(capacity: 1)
        events = try Mailbox(capacity: StoreThread.eventsCapacity)
        let (orders, lastOrder, events, tally) = (orders, lastOrder, events, tally)
        thread = try NamedThread("store") {
            var loop = StoreLoop(
                path: path, cache: cache, maxAge: maxAge, maxTTL: maxTTL, maxRows: maxRows, events: events, tally: tally
            )
            loop.run(orders, until: lastOrder)
        }
        registration = try loop.watch(events.descriptor, for: .readable) { [unowned self] _ in hasEvents = true }
    }

    /// A start that fails later on must not leave the thread behind.
    deinit {
        stop()
    }

    var counts: Counts {
        Counts(
            restoredEntries: tally.restoredEntries.load(ordering: .relaxed),
            writtenEntries: tally.writtenEntries.load(ordering: .relaxed),
            batches: tally.batches.load(ordering: .relaxed), failures: tally.failures.load(ordering: .relaxed),
            droppedEntries: tally.droppedEntries.load(ordering: .relaxed) + droppedEntries,
            refusedNotes: tally.refusedNotes.load(ordering: .relaxed))
    }

    /// Collects an answer to be written, in place of an older one for the same question, network and source.
    func keep(_ entry: StoredEntry, now: Instant) {
        let key = Key(question: entry.question, partition: entry.partition, provenance: entry.provenance)
        if collected.count >= StoreThread.maxCollected, collected[key] == nil { post(now: now) }
        guard collected.count < StoreThread.maxCollected || collected[key] != nil else {
            droppedEntries += 1
            return
        }
        collected[key] = entry
        postAt = postAt ?? now + StoreThread.interval
    }

    /// Collects a flush. What is kept after it stays.
    func forget(_ what: QuestionScope, now: Instant) {
        collected = collected.filter { !what.contains($0.key.question) }
        removals.add(what)
        flushedWhileLoading?.add(what)
        // At once: what was flushed must not come back after a kill.
        post(now: now)
    }

    /// A network is forgotten, and all that was learned there.
    func forget(_ partition: UInt32, now: Instant) {
        collected = collected.filter { $0.key.partition != partition }
        partitions.append(partition)
        postAt = postAt ?? now + StoreThread.interval
    }

    /// Keeps a small text that the next life is told under its name, in place of an older one; nil: no more. A flush
    /// leaves notes alone.
    ///
    /// - Returns: false for one that is too large (`NoteRow.fits`) or one of too many that wait: it is not kept.
    @discardableResult
    func note(_ name: String, _ value: String?, now: Instant) -> Bool {
        guard NoteRow.fits(name: name, value: value) else { return false }
        guard collectedNotes.add(name, value) else { return false }
        _ = notedWhileLoading?.add(name, value)
        // At once, as a flush.
        post(now: now)
        return true
    }

    /// When `timePassed` has something to do; nil while nothing is collected.
    var nextDeadline: Instant? { postAt }

    func timePassed(now: Instant) {
        if let postAt, postAt <= now { post(now: now) }
    }

    /// What the thread has to say since the last call. To be called in every turn of the loop.
    func takeEvents() -> [StoreEvent] {
        guard hasEvents else { return [] }
        hasEvents = false
        return events.takeAll().map(withWhatCameMeanwhile)
    }

    private func withWhatCameMeanwhile(_ event: StoreEvent) -> StoreEvent {
        switch event {
        case .notes(var notes):
            for (name, value) in notedWhileLoading ?? [:] { notes[name] = value }
            return .notes(notes)
        case .loaded(var report):
            report.flushedMeanwhile = flushedWhileLoading ?? []
            flushedWhileLoading = nil
            notedWhileLoading = nil
            return .loaded(report)
        case .setAside, .failed, .recovered: return event
        }
    }

    /// Writes what is collected and waits until it is written and the file closed. May be called again.
    func stop() {
        guard let thread = thread.take() else { return }
        _ = lastOrder.post(takeOrder())
        thread.join()
        if let registration { loop.unwatch(registration) }
    }

    /// With no room for it the batch goes on collecting, and tries again after the interval.
    private func post(now: Instant) {
        guard orders.hasRoom else {
            postAt = now + StoreThread.interval
            return
        }
        // Nobody else posts: the room is still there.
        _ = orders.post(takeOrder())
    }

    private func takeOrder() -> StoreOrder {
        defer {
            collected = [:]
            removals = []
            partitions = []
            collectedNotes = [:]
            postAt = nil
        }
        return StoreOrder(
            entries: Array(collected.values), removals: removals, partitions: partitions, notes: collectedNotes)
    }
}

extension StoreThread {
    /// A file that can't be used is no reason not to serve: the thread says so. Nil: the settings want none.
    static func begin(_ settings: Settings, cache: AnswerCache, loop: EventLoop) throws(SystemError) -> StoreThread? {
        guard let path = settings.cache.store else { return nil }
        try? Directory.makeParent(of: path)
        return try StoreThread(
            path: path, cache: cache, maxAge: settings.stale.maxAge, maxTTL: settings.cache.maxTTL,
            maxRows: AnswerCache.maxEntries(limitBytes: settings.cache.sizeBytes), loop: loop)
    }
}
