// Main loop of the store's thread: loads the file into the cache while queries are served, then writes batches. It
// owns the file. Each failure is reported once, and the daemon then serves from memory.

import DNSWire
import LinuxIO
import Serving
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
    private let flushes: FlushesWhileLoading
    private let tally: StoreTally
    private var hasLoaded = false
    /// Failures reported since the last success.
    private var toldFailures: Set<StoreFailure> = []
    /// Failed flushes: flushed answers must not return after a restart.
    private var unwrittenRemovals: [QuestionScope] = []
    /// Failed removals of networks; bounded by the networks met while the disk failed.
    private var unwrittenPartitions: [PartitionRemoval] = []
    /// Unwritten notes: a switch must keep its state after a restart.
    private var unwrittenNotes: [String: String?] = [:]
    private var hasToldNotes = false
    private var writtenSincePruning = 0
    private var prunedAt: Instant

    /// Bound on removals; more become one flush of everything.
    static let maxRemovals = 256
    /// Bound on restored names that are reported as in use: those in use on a busy machine.
    static let maxInUse = 4_096
    /// Growth of the file between prunings, as a divisor of its row limit.
    private static let pruningShare = 8
    /// How long entries past their last use stay in the file on a quiet machine.
    private static let pruningInterval: Duration = .seconds(3_600)

    init(
        path: String, cache: AnswerCache, maxAge: Duration, maxTTL: Duration, maxRows: Int, events: Mailbox<StoreEvent>,
        flushes: FlushesWhileLoading, tally: StoreTally
    ) {
        store = EntryStore(path: path)
        self.cache = cache
        maxAgeMilliseconds = maxAge.wholeSeconds * 1000
        maxTTLMilliseconds = maxTTL.wholeSeconds * 1000
        self.maxRows = maxRows
        self.events = events
        self.flushes = flushes
        self.tally = tally
        prunedAt = Clock.now()
    }

    /// Runs until the last order has been carried out.
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
        let (cache, flushes, maxAge, maxTTL) = (cache, flushes, maxAgeMilliseconds, maxTTLMilliseconds)
        do throws(StoreFailure) {
            if !hasToldNotes { tell(.notes(try store.notes())) }
            hasToldNotes = true
            let counts = try store.load(atMost: maxRows) { entry, lastWritten in
                // If the settings allow less than the stored TTL, the entry counts as older by the difference.
                let tooLong = Int64(entry.lifetimeSeconds) * 1000 - maxTTL
                let trueAge = entry.ageMilliseconds(nowMilliseconds: wall, lastWrittenMilliseconds: lastWritten)
                let age = max(trueAge, tooLong)
                let restored = RestoredEntry(entry, ageMilliseconds: age)
                guard restored.freshForMilliseconds + maxAge > 0,
                    flushes.restore(entry.question, { cache.restore(entry, storedAtMilliseconds: boot - age) })
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
            flushes.end()
            succeeded()
            tell(.loaded(report))
            prune()
        } catch {
            failed(error)
        }
    }

    // MARK: writing

    private mutating func carryOut(_ order: StoreOrder) {
        if !hasLoaded { load() }
        for removal in order.removals { unwrittenRemovals.add(removal) }
        // More partitions than the limit are dropped; their entries expire.
        unwrittenPartitions = Array((unwrittenPartitions + order.partitions).suffix(StoreLoop.maxRemovals))
        // Which notes are refused must not depend on chance.
        for (name, value) in order.notes.sorted(by: { $0.key < $1.key }) where !unwrittenNotes.add(name, value) {
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

    /// Ignores a full mailbox: the main thread then has a more serious fault.
    private func tell(_ event: StoreEvent) { _ = events.post(event) }
}

extension StoreOrder {
    fileprivate var isEmpty: Bool { entries.isEmpty && removals.isEmpty && partitions.isEmpty && notes.isEmpty }
}

extension SourceClass {
    fileprivate init(_ stored: StoredEntry.SourceClass) {
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
            sourceClass: SourceClass(entry.sourceClass), demand: entry.demand, ageMilliseconds: ageMilliseconds,
            lifetimeSeconds: entry.lifetimeSeconds, isNegative: entry.answer.isNegative)
    }
}

extension AnswerCache {
    fileprivate func restore(_ entry: StoredEntry, storedAtMilliseconds: Int64) -> Bool {
        restore(
            entry.answer, lifetimeSeconds: entry.lifetimeSeconds, for: entry.question,
            partition: Partition(rawValue: entry.partition), sourceClass: SourceClass(entry.sourceClass),
            storedAtMilliseconds: storedAtMilliseconds)
    }
}
