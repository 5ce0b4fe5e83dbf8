// What the store's thread does: loads the file into the cache while queries are served already, then writes batches.
// It owns the file. Whatever fails is told once and the daemon serves from memory; nothing here ends it.

import AnswerCache
import DNSWire
import LinuxIO
import Store
import Synchronization

final class StoreTally: Sendable {
    let restoredEntries = Atomic<UInt64>(0)
    let writtenEntries = Atomic<UInt64>(0)
    let batches = Atomic<UInt64>(0)
    let failures = Atomic<UInt64>(0)
    let droppedEntries = Atomic<UInt64>(0)
    let refusedNotes = Atomic<UInt64>(0)
}

struct StoreLoop: ~Copyable {
    private var store: EntryStore
    private let cache: AnswerCache
    private let maxAgeMilliseconds: Int64
    private let maxTTLMilliseconds: Int64
    private let maxRows: Int
    private let events: Mailbox<StoreEvent>
    private let tally: StoreTally
    private var hasLoaded = false
    /// Since the last success.
    private var toldFailures: Set<StoreFailure> = []
    /// Flushes that failed: what was flushed must not come back after a restart.
    private var unwrittenRemovals: [QuestionScope] = []
    /// Likewise. There are as many as networks were met while the disk failed.
    private var unwrittenPartitions: [UInt32] = []
    /// Notes that could not be written: what was switched must not switch back after a restart.
    private var unwrittenNotes: [String: String?] = [:]
    private var hasToldNotes = false
    private var writtenSincePruning = 0
    private var prunedAt: Instant

    /// A flush of everything takes the place of more.
    static let maxRemovals = 256
    /// The names that a busy machine has in use.
    static let maxInUse = 4_096
    /// How far the file may grow beyond its rows, as a part of them, before it is pruned.
    private static let pruningShare = 8
    /// What expired for good lies around this long on a quiet machine.
    private static let pruningInterval: Duration = .seconds(3_600)

    init(
        path: String, cache: AnswerCache, maxAge: Duration, maxTTL: Duration, maxRows: Int, events: Mailbox<StoreEvent>,
        tally: StoreTally
    ) {
        store = EntryStore(path: path)
        self.cache = cache
        maxAgeMilliseconds = maxAge.components.seconds * 1000
        maxTTLMilliseconds = maxTTL.components.seconds * 1000
        self.maxRows = maxRows
        self.events = events
        self.tally = tally
        prunedAt = Clock.now()
    }

    /// Ends after the last order.
    mutating func run(_ orders: Mailbox<StoreOrder>, until lastOrder: Mailbox<StoreOrder>) {
        load()
        var waits = PollSet([orders.descriptor, lastOrder.descriptor])
        while true {
            do throws(SystemError) {
                try waits.wait()
            } catch {
                preconditionFailure("the store's thread can't wait for orders: \(error)")
            }
            for order in orders.takeAll() { carryOut(order) }
            guard !waits.isReady(1) else { break }
        }
        let isBehind = !unwrittenRemovals.isEmpty || !unwrittenPartitions.isEmpty || !unwrittenNotes.isEmpty
        for order in lastOrder.takeAll() where !order.isEmpty || isBehind { carryOut(order) }
        store.close()
    }

    // MARK: loading

    private mutating func load() {
        let start = Clock.now()
        let (boot, wall) = (Clock.millisecondsSinceBoot(start), Clock.wallMilliseconds())
        var report = LoadReport()
        var hottest = HottestEntries(limit: StoreLoop.maxInUse)
        let (cache, maxAge, maxTTL) = (cache, maxAgeMilliseconds, maxTTLMilliseconds)
        do throws(StoreFailure) {
            tell(.notes(try store.notes()))
            hasToldNotes = true
            let counts = try store.load(atMost: maxRows) { entry, lastWritten in
                // Settings that allow less than those it was stored under: older by what is too much.
                let tooLong = Int64(entry.lifetimeSeconds) * 1000 - maxTTL
                let trueAge = entry.ageMilliseconds(nowMilliseconds: wall, lastWrittenMilliseconds: lastWritten)
                let age = max(trueAge, tooLong)
                let restored = RestoredEntry(entry, ageMilliseconds: age)
                guard restored.freshForMilliseconds + maxAge > 0, cache.restore(entry, storedAtMilliseconds: boot - age)
                else { return }
                report.restored += 1
                hottest.offer(restored)
            }
            report.leftOut = counts.entries - report.restored
            report.skipped = counts.skipped
            report.milliseconds = Clock.millisecondsSinceBoot(Clock.now()) - boot
            report.inUse = hottest.take()
            tally.restoredEntries.add(UInt64(report.restored), ordering: .relaxed)
            hasLoaded = true
            succeeded()
            tell(.loaded(report))
            prune()
        } catch {
            // Whoever waits for them goes on without.
            if !hasToldNotes { tell(.notes([:])) }
            hasToldNotes = true
            failed(error)
        }
    }

    // MARK: writing

    private mutating func carryOut(_ order: StoreOrder) {
        if !hasLoaded { load() }
        for removal in order.removals { unwrittenRemovals.add(removal) }
        // What is too much expires by itself.
        unwrittenPartitions = Array((unwrittenPartitions + order.partitions).suffix(StoreLoop.maxRemovals))
        for (name, value) in order.notes where !unwrittenNotes.add(name, value) {
            tally.refusedNotes.add(1, ordering: .relaxed)
        }
        do throws(StoreFailure) {
            let refused = try store.write(
                order.entries, removing: unwrittenRemovals, partitions: unwrittenPartitions, notes: unwrittenNotes,
                nowMilliseconds: Clock.wallMilliseconds())
            unwrittenRemovals = []
            unwrittenPartitions = []
            unwrittenNotes = [:]
            tally.refusedNotes.add(UInt64(refused), ordering: .relaxed)
            tally.batches.add(1, ordering: .relaxed)
            tally.writtenEntries.add(UInt64(order.entries.count), ordering: .relaxed)
            writtenSincePruning += order.entries.count
            succeeded()
        } catch {
            tally.droppedEntries.add(UInt64(order.entries.count), ordering: .relaxed)
            failed(error)
        }
        let isDue = prunedAt.duration(to: Clock.now()) >= StoreLoop.pruningInterval
        if isDue || writtenSincePruning > maxRows / StoreLoop.pruningShare { prune() }
    }

    private mutating func prune() {
        writtenSincePruning = 0
        prunedAt = Clock.now()
        do throws(StoreFailure) {
            _ = try store.prune(
                expiredBeforeMilliseconds: Clock.wallMilliseconds() - maxAgeMilliseconds, keepingAtMost: maxRows)
        } catch {
            failed(error)
        }
    }

    // MARK: telling

    private mutating func succeeded() {
        tellSetAside()
        if !toldFailures.isEmpty { tell(.recovered) }
        toldFailures = []
    }

    private mutating func failed(_ failure: StoreFailure) {
        tally.failures.add(1, ordering: .relaxed)
        tellSetAside()
        if toldFailures.insert(failure).inserted { tell(.failed(failure)) }
    }

    private mutating func tellSetAside() {
        for setAside in store.takeSetAside() { tell(.setAside(setAside)) }
    }

    /// A main thread that reads nothing for so long has other troubles than this one.
    private func tell(_ event: StoreEvent) { _ = events.post(event) }
}

extension StoreOrder {
    fileprivate var isEmpty: Bool { entries.isEmpty && removals.isEmpty && partitions.isEmpty && notes.isEmpty }
}

extension Provenance {
    fileprivate init(_ stored: StoredEntry.Provenance) {
        switch stored {
        case .provider: self = .provider
        case .system: self = .system
        }
    }
}

extension RestoredEntry {
    fileprivate init(_ entry: StoredEntry, ageMilliseconds: Int64) {
        self.init(
            question: entry.question, partition: Partition(rawValue: entry.partition),
            provenance: Provenance(entry.provenance), demand: entry.demand, ageMilliseconds: ageMilliseconds,
            lifetimeSeconds: entry.lifetimeSeconds, isNegative: entry.answer.isNegative)
    }
}

extension AnswerCache {
    fileprivate func restore(_ entry: StoredEntry, storedAtMilliseconds: Int64) -> Bool {
        restore(
            entry.answer, lifetimeSeconds: entry.lifetimeSeconds, for: entry.question,
            partition: Partition(rawValue: entry.partition), provenance: Provenance(entry.provenance),
            storedAtMilliseconds: storedAtMilliseconds)
    }
}
