// The cache that all threads share: shards, each a table behind a mutex. Knows answers and time, nothing of sockets.

package import DNSWire
import Synchronization

/// Instants are milliseconds since boot here: a hit compares and subtracts them, and a batch converts the clock once.
///
/// `@unchecked Sendable`: `shards` is set in `init` and freed in `deinit`; between them only its mutexes are touched.
@safe package final class AnswerCache: @unchecked Sendable {
    /// Enough that two of a few threads seldom meet; few enough that a shard of a small cache holds a large answer.
    package static let shardCount = 16

    /// Each mutex protects its table. They never move, so that threads reach them without counting references.
    private let shards: UnsafeMutablePointer<Mutex<AnswerTable>>
    let hashing: NameHash

    package struct Counts: Equatable, Sendable {
        package var entries = 0
        package var bytes = 0
        package var insertions: UInt64 = 0
        package var evictions: UInt64 = 0
    }

    /// - Parameters:
    ///   - limitBytes: for entries and their bookkeeping together.
    ///   - seed: random; keeps clients from choosing names that collide.
    package init(limitBytes: Int, seed: (UInt64, UInt64)) {
        hashing = NameHash(seed: seed)
        unsafe shards = .allocate(capacity: AnswerCache.shardCount)
        for shard in 0..<AnswerCache.shardCount {
            unsafe (shards + shard).initialize(to: Mutex(AnswerTable(limitBytes: limitBytes / AnswerCache.shardCount)))
        }
    }

    /// The most that fit within this limit, if all are small.
    package static func maxEntries(limitBytes: Int) -> Int { limitBytes / AnswerTable.smallEntryBytes }

    deinit {
        unsafe shards.deinitialize(count: AnswerCache.shardCount)
        unsafe shards.deallocate()
    }

    /// Keeps an answer for `lifetimeSeconds`, in place of an older one of the same provenance; a provider's in place of
    /// the system resolver's as well, which stood in for it. An answer that is larger than a whole shard is not kept.
    package func store(
        _ answer: RenderedAnswer, lifetimeSeconds: UInt32, for question: Question, partition: Partition,
        provenance: Provenance, nowMilliseconds: Int64
    ) {
        var key = key(for: question, partition, provenance)
        withTable(key.hash) { table in
            table.store(answer, lifetimeSeconds: lifetimeSeconds, under: key, nowMilliseconds: nowMilliseconds)
            guard provenance == .provider else { return }
            key.provenance = .system
            if let substitute = table.find(key) { table.remove(substitute) }
        }
    }

    /// Puts other records, or the same ones in another order, into the entry that stands under exactly this key. It
    /// ages on as before: lifetime, hits and marks stay. Others may be evicted for it.
    ///
    /// - Returns: when that entry was stored and for how long, so that a copy elsewhere can be changed, too. Nil when
    ///   there is none now: there was none, or it has no room and is evicted; an answer that must not be handed out
    ///   does not stay because a better one is too large.
    package func rearrange(
        _ answer: RenderedAnswer, for question: Question, partition: Partition, provenance: Provenance
    ) -> KeptTimes? {
        let key = key(for: question, partition, provenance)
        return withTable(key.hash) { $0.rearrange(answer, under: key) }
    }

    /// The next reply from the entry under exactly this key says so, once: `FastPath.Outcome.answeredAwaited`.
    /// Forgotten with the entry, and when another answer is stored there.
    package func awaitHit(_ question: Question, partition: Partition, provenance: Provenance) {
        let key = key(for: question, partition, provenance)
        withTable(key.hash) { table in
            if let entry = table.find(key) { table.awaitHit(entry) }
        }
    }

    /// The hits on a question's entries since the last call, all provenances together.
    package func takeHits(_ question: Question, partition: Partition) -> Int {
        hits(question, partition) { Int($0.takeHits($1)) }
    }

    /// The same for one who only looks: they are still to be taken.
    package func hits(_ question: Question, partition: Partition) -> Int {
        hits(question, partition) { Int($0.hits($1)) }
    }

    private func hits(
        _ question: Question, _ partition: Partition, _ count: (inout AnswerTable, UInt32) -> Int
    ) -> Int {
        var key = key(for: question, partition, .provider)
        return withTable(key.hash) { table in
            var hits = 0
            for provenance in Provenance.allCases {
                key.provenance = provenance
                if let entry = table.find(key) { hits += count(&table, entry) }
            }
            return hits
        }
    }

    /// Copies of what is kept for a question, in the order in which they are looked at. Counts no hit.
    package func entries(of question: Question, partition: Partition) -> [CachedEntry] {
        var key = key(for: question, partition, .provider)
        return withTable(key.hash) { table in
            var entries: [CachedEntry] = []
            for provenance in Provenance.allCases {
                key.provenance = provenance
                if let found = table.find(key), let entry = unsafe table.slots[Int(found)].entry {
                    entries.append(entry)
                }
            }
            return entries
        }
    }

    /// A copy of what is kept, has expired and is still usable; the provider's before the system resolver's.
    package func expired(
        _ question: Question, within limits: Freshness.Limits, partition: Partition, nowMilliseconds: Int64
    ) -> AgedAnswer? {
        var key = key(for: question, partition, .provider)
        return withTable(key.hash) { table in
            for provenance in Provenance.allCases {
                key.provenance = provenance
                guard let entry = table.find(key) else { continue }
                guard table.freshness(entry, nowMilliseconds: nowMilliseconds, limits: limits) == .stale else {
                    continue
                }
                return table.copy(entry, origin: provenance.origin, nowMilliseconds: nowMilliseconds)
            }
            return nil
        }
    }

    /// A copy of what a provider has said on another network, for when there is nothing else: fresh or not, as long as
    /// it may be given at all. Never the system resolver's, which is for its own network alone.
    ///
    /// - Parameter partitions: of other networks, in the order in which they are looked at.
    package func lastResort(
        _ question: Question, within limits: Freshness.Limits, partitions: [Partition], nowMilliseconds: Int64
    ) -> AgedAnswer? {
        guard let first = partitions.first else { return nil }
        var key = key(for: question, first, .provider)
        return withTable(key.hash) { table in
            for partition in partitions {
                key.partition = partition
                guard let entry = table.find(key) else { continue }
                let answer = table.copy(entry, origin: .otherNetwork, nowMilliseconds: nowMilliseconds)
                if answer.isUsable(limits) { return answer }
            }
            return nil
        }
    }

    /// Brings back an answer that was stored before this process began, unless something has been learned since under
    /// its key, or there is no room left without evicting.
    ///
    /// - Parameter storedAtMilliseconds: since boot, like all instants here; negative for what is older.
    /// - Returns: whether it is in the cache now.
    package func restore(
        _ answer: RenderedAnswer, lifetimeSeconds: UInt32, for question: Question, partition: Partition,
        provenance: Provenance, storedAtMilliseconds: Int64
    ) -> Bool {
        let key = key(for: question, partition, provenance)
        return withTable(key.hash) {
            $0.restore(
                answer, lifetimeSeconds: lifetimeSeconds, under: key, storedAtMilliseconds: storedAtMilliseconds)
        }
    }

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

    /// The high bits choose the shard, the low ones the place in it.
    func withTable<Result>(_ hash: UInt64, _ body: (inout AnswerTable) -> Result) -> Result {
        unsafe shards[Int(hash >> 60)].withLock { table in body(&table) }
    }

    func key(for question: Question, _ partition: Partition, _ provenance: Provenance) -> AnswerKey {
        var key = AnswerKey(partition: partition)
        key.provenance = provenance
        let wire = question.name.wire
        key.set(wire.span, from: 0, count: wire.count, type: question.type, hashing: hashing)
        return key
    }
}

extension Provenance {
    fileprivate var origin: AgedAnswer.Origin {
        switch self {
        case .provider: .provider
        case .system: .system
        }
    }
}

/// Of an answer that is kept.
package struct KeptTimes: Equatable, Sendable {
    /// Since boot; negative for what was learned before.
    package let storedAtMilliseconds: Int64
    package let lifetimeSeconds: UInt32
}
