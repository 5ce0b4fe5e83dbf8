// The answer cache that all threads share: 16 shards, each a table behind a mutex. It knows answers and time, but no
// sockets.

package import DNSWire
import Synchronization

/// Instants are milliseconds since boot: a hit compares and subtracts them, and a batch converts the clock once.
///
/// `@unchecked Sendable`: `shards` is set in `init` and freed in `deinit`; between them only its mutexes are touched.
@safe package final class AnswerCache: @unchecked Sendable {
    /// Number of shards: enough that two of a few threads seldom use the same one; few enough that a shard of a small
    /// cache holds a large answer.
    package static let shardCount = 16

    /// The shards. Each mutex protects its table. They never move, so that threads reach them without reference
    /// counting.
    private let shards: UnsafeMutablePointer<Mutex<AnswerTable>>
    let hashing: NameHash
    /// Limit for entries and their bookkeeping together.
    package let limitBytes: Int

    package struct Counts: Equatable, Sendable {
        package var entries = 0
        package var bytes = 0
        package var insertions: UInt64 = 0
        package var evictions: UInt64 = 0
    }

    /// - Parameters:
    ///   - limitBytes: limit for entries and their bookkeeping together.
    ///   - seed: random; keeps clients from choosing names that collide.
    package init(limitBytes: Int, seed: (UInt64, UInt64)) {
        hashing = NameHash(seed: seed)
        self.limitBytes = limitBytes
        unsafe shards = .allocate(capacity: AnswerCache.shardCount)
        for shard in 0..<AnswerCache.shardCount {
            unsafe (shards + shard).initialize(to: Mutex(AnswerTable(limitBytes: limitBytes / AnswerCache.shardCount)))
        }
    }

    /// Returns the largest number of entries within this limit, if all are small.
    package static func maxEntries(limitBytes: Int) -> Int { limitBytes / AnswerTable.smallEntryBytes }

    deinit {
        unsafe shards.deinitialize(count: AnswerCache.shardCount)
        unsafe shards.deallocate()
    }

    /// Stores an answer for `lifetimeSeconds`. It replaces an older answer of its source class. A provider's answer
    /// also replaces the system resolver's substitute, which could outlive it and be served as fresh. An answer larger
    /// than a whole shard is not stored.
    package func store(
        _ answer: RenderedAnswer, lifetimeSeconds: UInt32, for question: Question, partition: Partition,
        sourceClass: SourceClass, nowMilliseconds: Int64
    ) {
        var key = key(for: question, partition, sourceClass)
        withTable(key.hash) { table in
            table.store(answer, lifetimeSeconds: lifetimeSeconds, under: key, nowMilliseconds: nowMilliseconds)
            guard sourceClass == .provider else { return }
            key.sourceClass = .system
            if let substitute = table.find(key) { table.remove(substitute) }
        }
    }

    /// Replaces the records of the entry under exactly this key. The entry's lifetime, hits and marks stay. May evict
    /// other entries.
    ///
    /// - Returns: when the entry was stored and for how long, so that a copy elsewhere can be changed, too. Nil if
    ///   there is no entry, or no room: the entry is then evicted, because its old answer must not be served any more.
    package func rearrange(
        _ answer: RenderedAnswer, for question: Question, partition: Partition, sourceClass: SourceClass
    ) -> KeptTimes? {
        let key = key(for: question, partition, sourceClass)
        return withTable(key.hash) { $0.rearrange(answer, under: key) }
    }

    /// Marks the entry under exactly this key, so that its next reply yields `FastPath.Outcome.answeredAwaited`,
    /// once. The mark ends with the entry, and when another answer is stored there.
    package func awaitHit(_ question: Question, partition: Partition, sourceClass: SourceClass) {
        let key = key(for: question, partition, sourceClass)
        withTable(key.hash) { table in
            if let entry = table.find(key) { table.awaitHit(entry) }
        }
    }

    /// Returns and resets the hits on a question's entries, all source classes together.
    package func takeHits(_ question: Question, partition: Partition) -> Int {
        hits(question, partition) { Int($0.takeHits($1)) }
    }

    /// Returns the hits without resetting them.
    package func hits(_ question: Question, partition: Partition) -> Int {
        hits(question, partition) { Int($0.hits($1)) }
    }

    private func hits(
        _ question: Question, _ partition: Partition, _ count: (inout AnswerTable, UInt32) -> Int
    ) -> Int {
        var key = key(for: question, partition, .provider)
        return withTable(key.hash) { table in
            var hits = 0
            for sourceClass in SourceClass.allCases {
                key.sourceClass = sourceClass
                if let entry = table.find(key) { hits += count(&table, entry) }
            }
            return hits
        }
    }

    /// Returns copies of a question's entries in the order of lookup. Counts no hit.
    package func entries(of question: Question, partition: Partition) -> [CachedEntry] {
        var key = key(for: question, partition, .provider)
        return withTable(key.hash) { table in
            var entries: [CachedEntry] = []
            for sourceClass in SourceClass.allCases {
                key.sourceClass = sourceClass
                if let found = table.find(key), let entry = unsafe table.slots[Int(found)].entry {
                    entries.append(entry)
                }
            }
            return entries
        }
    }

    /// Returns a copy of an expired, still usable answer; the provider's before the system resolver's.
    package func expired(
        _ question: Question, within limits: @autoclosure () -> Freshness.Limits, partition: Partition,
        nowMilliseconds: Int64
    ) -> AgedAnswer? {
        var key = key(for: question, partition, .provider)
        return withTable(key.hash) { table in
            for sourceClass in SourceClass.allCases {
                key.sourceClass = sourceClass
                guard let entry = table.find(key) else { continue }
                guard table.freshness(entry, nowMilliseconds: nowMilliseconds, limits: limits()) == .stale else {
                    continue
                }
                return table.copy(entry, sourceRank: sourceClass.rank, nowMilliseconds: nowMilliseconds)
            }
            return nil
        }
    }

    /// Returns a copy of a provider's answer from another network as a last resort: fresh or stale, within the limits.
    /// Never returns the system resolver's answer, which is valid on its own network only.
    ///
    /// - Parameter partitions: partitions of other networks, in the order of lookup.
    package func lastResort(
        _ question: Question, within limits: @autoclosure () -> Freshness.Limits, partitions: [Partition],
        nowMilliseconds: Int64
    ) -> AgedAnswer? {
        guard let first = partitions.first else { return nil }
        var key = key(for: question, first, .provider)
        return withTable(key.hash) { table in
            for partition in partitions {
                key.partition = partition
                guard let entry = table.find(key) else { continue }
                let answer = table.copy(entry, sourceRank: .otherNetwork, nowMilliseconds: nowMilliseconds)
                if answer.isUsable(limits()) { return answer }
            }
            return nil
        }
    }

    /// Restores an answer that was stored before this process began, unless its key has a newer entry or the answer
    /// would evict another entry.
    ///
    /// - Parameter storedAtMilliseconds: milliseconds since boot, like all instants here; negative if stored before the
    ///   boot.
    /// - Returns: whether it is in the cache now.
    package func restore(
        _ answer: RenderedAnswer, lifetimeSeconds: UInt32, for question: Question, partition: Partition,
        sourceClass: SourceClass, storedAtMilliseconds: Int64
    ) -> Bool {
        let key = key(for: question, partition, sourceClass)
        return withTable(key.hash) {
            $0.restore(
                answer, lifetimeSeconds: lifetimeSeconds, under: key, storedAtMilliseconds: storedAtMilliseconds)
        }
    }

    /// Starts loading the entries with these hashes into the processor's caches. One lookup waits for three loads in a
    /// row, longer than all its instructions take; those of many lookups overlap.
    func prefetch(_ hashes: [UInt64]) {
        for hash in hashes { withTable(hash) { $0.prefetchIndex(hash) } }
        for hash in hashes { withTable(hash) { $0.prefetchSlots(hash) } }
        for hash in hashes { withTable(hash) { $0.prefetchStorage(hash) } }
    }

    /// Whether there may be an answer to the question with this hash, fresh or not, of any network and source.
    package func mayHaveEntry(_ hash: UInt64) -> Bool { withTable(hash) { $0.hasEntry(hash) } }

    package func counts() -> Counts {
        var total = Counts()
        for shard in 0..<AnswerCache.shardCount {
            unsafe shards[shard].withLock { table in
                total.entries += table.count
                total.bytes += table.bytes
                total.insertions += table.insertions
                total.evictions += table.evictions
            }
        }
        return total
    }

    /// Calls `body` with the table of a hash. The high bits choose the shard, the low bits the position in it.
    func withTable<Result>(_ hash: UInt64, _ body: (inout AnswerTable) -> Result) -> Result {
        unsafe shards[Int(hash >> 60)].withLock { table in body(&table) }
    }

    func key(for question: Question, _ partition: Partition, _ sourceClass: SourceClass) -> AnswerKey {
        var key = AnswerKey(partition: partition)
        key.sourceClass = sourceClass
        let wire = question.name.wire
        key.set(
            wire.span, from: 0, count: wire.count, type: question.type, dnssec: question.dnssec, hashing: hashing)
        return key
    }
}

extension SourceClass {
    package var rank: AgedAnswer.SourceRank {
        switch self {
        case .provider: .provider
        case .system: .system
        }
    }
}
