// Main-thread interface of the store: collects entries, hands them to the store's thread in batches, and returns its
// events. Waits for the disk only in `stop`.

import DNSWire
import LinuxIO
import Serving
import Settings
import Store
import Synchronization

final class StoreThread: TimedPart {
    let timer = PartTimer()
    let path: String
    private let orders: Mailbox<StoreOrder>
    private let lastOrder: Mailbox<StoreOrder>
    private let events: Mailbox<StoreEvent>
    private let tally = StoreTally()
    private let loop: EventLoop
    private var registration: EventLoop.Registration?
    private var thread: NamedThread?

    /// The collected entries, numbered in the order in which they were collected.
    private var collected: [Key: (number: UInt64, entry: StoredEntry)] = [:]
    private var nextNumber: UInt64 = 0
    private var removals: [QuestionScope] = []
    private var partitions: [PartitionRemoval] = []
    private var collectedNotes: [String: String?] = [:]
    /// When the batch is posted; nil if and only if nothing is collected.
    private var postAt: Instant? { didSet { timer.changed() } }
    private let flushes = FlushesWhileLoading()
    /// Notes that were set while the file was read, and take precedence over the file's notes; nil once the file was
    /// read.
    private var notedWhileLoading: [String: String?]? = [:]
    private var droppedEntries: UInt64 = 0

    private struct Key: Hashable {
        let question: Question
        let partition: UInt32
        let sourceClass: StoredEntry.SourceClass
    }

    /// Write interval of a busy daemon, and the longest loss after a kill -9.
    static let interval: Duration = .seconds(2)
    /// Bound on collected entries, about 400 KiB. A full batch is posted before the interval ends. A flood of new
    /// answers is then held twice only briefly, and leaves no holes of many MiB among the cache's entries.
    static let maxCollected = 1_024
    /// Batches that may wait for a slow disk: with as many taken by the thread and one collected, some 5 MiB.
    private static let ordersCapacity = 6
    /// Bound on events: each failure is sent once, and the main thread reads in every turn.
    private static let eventsCapacity = 64

    struct Counts: Equatable {
        var restoredEntries: UInt64 = 0
        var writtenEntries: UInt64 = 0
        var batches: UInt64 = 0
        /// Batches that could not be written, and failed loads.
        var failures: UInt64 = 0
        /// Entries in batches that could not be written, and entries added while too many batches waited.
        var droppedEntries: UInt64 = 0
        /// Notes that were refused because the file holds the maximum number.
        var refusedNotes: UInt64 = 0
    }

    /// Starts loading the file at `path` into the cache.
    ///
    /// - Parameters:
    ///   - maxAge: how long an expired answer is of use.
    ///   - maxTTL: longest lifetime of a restored entry.
    ///   - maxRows: bound on the file; rows that expire first are removed first.
    init(
        path: String, cache: AnswerCache, maxAge: Duration, maxTTL: Duration, maxRows: Int, loop: EventLoop,
        outbox: Outbox
    ) throws(SystemError) {
        self.path = path
        self.loop = loop
        orders = try Mailbox(capacity: StoreThread.ordersCapacity)
        lastOrder = try Mailbox(capacity: 1)
        events = try Mailbox(capacity: StoreThread.eventsCapacity)
        let (orders, lastOrder, events, flushes, tally) = (orders, lastOrder, events, flushes, tally)
        thread = try NamedThread("store") {
            var loop = StoreLoop(
                path: path, cache: cache, maxAge: maxAge, maxTTL: maxTTL, maxRows: maxRows, events: events,
                flushes: flushes, tally: tally)
            loop.run(orders, until: lastOrder)
        }
        registration = try loop.watch(events.descriptor, for: .readable) { [outbox] _ in outbox.changed(.store) }
    }

    /// A failed start must not leave the thread behind.
    deinit {
        stop()
    }

    /// Whether the file was read to its end.
    var hasLoaded: Bool { notedWhileLoading == nil }

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
        let key = Key(question: entry.question, partition: entry.partition, sourceClass: entry.sourceClass)
        if collected.count >= StoreThread.maxCollected, collected[key] == nil { post(now: now) }
        guard collected.count < StoreThread.maxCollected || collected[key] != nil else {
            droppedEntries += 1
            return
        }
        collected[key] = (nextNumber, entry)
        nextNumber += 1
        postAt = postAt ?? now + StoreThread.interval
    }

    /// Collects a flush. Entries kept after it stay. To be called before answers are removed from the cache.
    func forget(_ what: QuestionScope, now: Instant) {
        collected = collected.filter { !what.contains($0.key.question) }
        removals.add(what)
        flushes.add(what)
        // The removal is posted at once: flushed answers must not return after a kill.
        post(now: now)
    }

    /// Forgets the entries of a network, or those stored at a time since 1970 or later.
    func forget(_ partition: UInt32, storedSinceMilliseconds: Int64 = .min, now: Instant) {
        collected = collected.filter {
            $0.key.partition != partition || $0.value.entry.storedAtMilliseconds < storedSinceMilliseconds
        }
        partitions.append(PartitionRemoval(partition, storedSinceMilliseconds: storedSinceMilliseconds))
        postAt = postAt ?? now + StoreThread.interval
    }

    /// Keeps a short text under a name for the next start, replacing an older one; nil removes it. A flush does not
    /// remove notes.
    ///
    /// - Returns: false if the text is too large (`NoteRow.fits`) or too many notes wait; it is not kept.
    @discardableResult
    func note(_ name: String, _ value: String?, now: Instant) -> Bool {
        guard NoteRow.fits(name: name, value: value) else { return false }
        guard collectedNotes.add(name, value) else { return false }
        _ = notedWhileLoading?.add(name, value)
        // The note is posted at once, like a flush.
        post(now: now)
        return true
    }

    /// When `timePassed` is due; nil while nothing is collected.
    var nextDeadline: Instant? { postAt }

    func timePassed(now: Instant) {
        if let postAt, postAt <= now { post(now: now) }
    }

    /// Returns the thread's events since the last call.
    func takeEvents() -> [StoreEvent] { events.takeAll().map(withWhatCameMeanwhile) }

    private func withWhatCameMeanwhile(_ event: StoreEvent) -> StoreEvent {
        switch event {
        case .notes(var notes):
            for (name, value) in notedWhileLoading ?? [:] { notes[name] = value }
            return .notes(notes)
        case .loaded(let report):
            notedWhileLoading = nil
            return .loaded(report)
        case .setAside, .failed, .recovered: return event
        }
    }

    /// Writes the collected batch and waits until the file is closed. May be called again.
    func stop() {
        guard let thread = thread.take() else { return }
        _ = lastOrder.post(takeOrder())
        thread.join()
        if let registration { loop.unwatch(registration) }
    }

    /// Posts the batch. Without room, it continues to collect and retries after the interval.
    private func post(now: Instant) {
        guard orders.hasRoom else {
            postAt = now + StoreThread.interval
            return
        }
        // This thread is the only writer, so the room is still there.
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
            entries: collected.values.sorted { $0.number < $1.number }.map(\.entry), removals: removals,
            partitions: partitions, notes: collectedNotes)
    }
}

extension StoreThread {
    /// Starts the store; nil if the settings disable it. A failure to open the file does not prevent serving; the
    /// thread reports it.
    static func begin(_ settings: Settings, cache: AnswerCache, loop: EventLoop, outbox: Outbox)
        throws(SystemError) -> StoreThread?
    {
        guard let path = settings.cache.store else { return nil }
        try? Directory.makeParent(of: path)
        return try StoreThread(
            path: path, cache: cache, maxAge: settings.stale.maxAge, maxTTL: settings.cache.maxTTL,
            maxRows: AnswerCache.maxEntries(limitBytes: settings.cache.sizeBytes), loop: loop, outbox: outbox)
    }
}
