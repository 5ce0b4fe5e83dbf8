// One shard of the cache: rendered answers under their keys, bounded in bytes, evicted by SIEVE.
//
// Invariants
// - `slots[0..<used]` are initialised; those on the free list have no storage.
// - `index` is an open-addressing table of slot numbers plus one, 0 meaning empty; an entry stands between its hash's
//   home position and the first empty one, and at least a quarter of the positions are empty.
// - Every entry is in one queue by age of insertion: `newest` ... `oldest`, linked both ways.
// - `bytes` is the cost of the entries, index and allocator included, and exceeds `limitBytes` only inside `store`.
// - SIEVE (Zhang et al., NSDI 2024): a hit sets a mark and moves nothing; the hand walks from old to new, clears marks,
//   and evicts the first entry without one.

import DNSWire
import LinuxIO

/// `@unchecked Sendable`: sole owner of the memory behind its pointers, so it may move between threads as a whole.
@safe struct AnswerTable: ~Copyable, @unchecked Sendable {
    // A Dictionary of arrays would be shorter and about as fast, since the system calls of a hit cost more than either.
    // But its bytes are not bounded, and a hit allocates. Here one shard grows at a time, in well under a millisecond
    // at the default size. SIEVE instead of LRU, which writes three entries per hit.

    private(set) var count = 0
    private(set) var bytes = 0
    private(set) var insertions: UInt64 = 0
    private(set) var evictions: UInt64 = 0

    // Internal, so that a test can walk the table and check the invariants.
    let limitBytes: Int
    let maxEntries: Int
    private(set) var indexMask: Int
    private(set) var index: UnsafeMutablePointer<UInt32>
    let slots: UnsafeMutablePointer<Slot>
    private(set) var used = 0
    private(set) var firstFree = none
    private(set) var newest = none
    private(set) var oldest = none
    private(set) var hand = none

    static let none = UInt32.max
    /// Room for one small entry: a slot, an allocation for a short name with one address, a share of the index. A shard
    /// has one slot for each; if entries are smaller still, slots run out before bytes do.
    static let smallEntryBytes = 128

    /// Number of index positions at first: a power of two, 256 bytes. The index grows with the entries. A hit reads a
    /// random position of it; an index for a full cache would miss the processor's caches, which is half the cost of a
    /// lookup.
    private static let firstPositions = 64

    /// Allocates the slots at once; untouched slots cost no memory.
    init(limitBytes: Int) {
        self.limitBytes = limitBytes
        maxEntries = max(1, limitBytes / AnswerTable.smallEntryBytes)
        indexMask = AnswerTable.firstPositions - 1
        unsafe index = AnswerTable.emptyIndex(positions: AnswerTable.firstPositions)
        unsafe slots = .allocate(capacity: maxEntries)
    }

    deinit {
        for slot in 0..<used { unsafe slots[slot].storage?.deallocate() }
        unsafe slots.deallocate()
        unsafe index.deallocate()
    }

    // MARK: looking up

    /// The entry under exactly this key, fresh or not; nil if there is none.
    func find(_ key: borrowing AnswerKey) -> UInt32? {
        var position = Int(truncatingIfNeeded: key.hash) & indexMask
        while true {
            let entry = unsafe index[position]
            guard entry != 0 else { return nil }
            if unsafe slots[Int(entry - 1)].matches(key) { return entry - 1 }
            position = (position + 1) & indexMask
        }
    }

    // An entry is reached by three loads, each from the address that the last one found. Each step below starts one of
    // the loads for one hash, after the preceding step has had time to end.

    func prefetchIndex(_ hash: UInt64) {
        unsafe prefetch(index + (Int(truncatingIfNeeded: hash) & indexMask))
    }

    func prefetchSlots(_ hash: UInt64) {
        let home = Int(truncatingIfNeeded: hash) & indexMask
        let (first, second) = unsafe (index[home], index[(home + 1) & indexMask])
        if first != 0 { unsafe prefetch(slots + Int(first - 1)) }
        if first != 0, second != 0 { unsafe prefetch(slots + Int(second - 1)) }
    }

    func prefetchStorage(_ hash: UInt64) {
        guard let storage = unsafe slot(of: hash)?.pointee.storage else { return }
        unsafe prefetch(storage)
        unsafe prefetch(storage + 64)
    }

    func hasEntry(_ hash: UInt64) -> Bool { unsafe slot(of: hash) != nil }

    /// Returns the first slot with this hash.
    private func slot(of hash: UInt64) -> UnsafeMutablePointer<Slot>? {
        var position = Int(truncatingIfNeeded: hash) & indexMask
        while unsafe index[position] != 0 {
            let slot = unsafe slots + Int(index[position] - 1)
            if unsafe slot.pointee.hash == hash { return unsafe slot }
            position = (position + 1) & indexMask
        }
        return nil
    }

    func freshness(_ entry: UInt32, nowMilliseconds: Int64, limits: Freshness.Limits) -> Freshness {
        let slot = unsafe slots[Int(entry)]
        return unsafe Freshness(
            ageMilliseconds: slot.ageMilliseconds(nowMilliseconds), lifetimeSeconds: slot.lifetimeSeconds,
            isNegative: slot.isNegative, limits: limits)
    }

    /// Returns a copy of the answer. Counts no hit.
    func copy(_ entry: UInt32, sourceRank: AgedAnswer.SourceRank, nowMilliseconds: Int64) -> AgedAnswer {
        let slot = unsafe slots[Int(entry)]
        let answer = unsafe slot.withReplyBody { unsafe RenderedAnswer(copying: $0, isNegative: slot.isNegative) }
        return unsafe AgedAnswer(
            answer, ageMilliseconds: slot.ageMilliseconds(nowMilliseconds), lifetimeSeconds: slot.lifetimeSeconds,
            sourceRank: sourceRank)
    }

    /// Hands the entry's bytes and age to `body`, which must not keep them.
    func withReplyBody<Result>(
        of entry: UInt32, nowMilliseconds: Int64, _ body: (borrowing Reply.Body, _ ageSeconds: UInt32) -> Result
    ) -> Result {
        let slot = unsafe slots[Int(entry)]
        let age = unsafe UInt32(clamping: slot.ageMilliseconds(nowMilliseconds) / 1000)
        return unsafe slot.withReplyBody { body($0, age) }
    }

    mutating func countHit(_ entry: UInt32) { unsafe slots[Int(entry)].countHit() }

    /// Returns true the first time; then false until another answer is stored in the entry.
    mutating func askForRefresh(_ entry: UInt32) -> Bool { unsafe slots[Int(entry)].askForRefresh() }

    mutating func awaitHit(_ entry: UInt32) { unsafe slots[Int(entry)].awaitHit() }

    /// Returns true once after `awaitHit`, unless another answer was stored since.
    mutating func takeAwaited(_ entry: UInt32) -> Bool { unsafe slots[Int(entry)].takeAwaited() }

    /// Returns and resets the hits of an entry.
    mutating func takeHits(_ entry: UInt32) -> UInt16 { unsafe slots[Int(entry)].takeHits() }

    /// Returns the hits of an entry without resetting them.
    func hits(_ entry: UInt32) -> UInt16 { unsafe slots[Int(entry)].hits }

    // MARK: changing

    /// Stores an answer under the key. Takes over the uncounted hits of the replaced entry, and evicts other entries as
    /// needed. Returns false if the answer alone is larger than the shard: it is not stored.
    @discardableResult mutating func store(
        _ answer: borrowing RenderedAnswer, lifetimeSeconds: UInt32, under key: borrowing AnswerKey,
        nowMilliseconds: Int64
    ) -> Bool {
        var hits: UInt16 = 0
        if let old = find(key) {
            hits = takeHits(old)
            remove(old)
        }
        let slot = unsafe Slot(
            answer, lifetimeSeconds: lifetimeSeconds, key: key, storedAtMilliseconds: nowMilliseconds, hits: hits)
        let cost = unsafe slot.costBytes
        guard cost <= limitBytes else {
            unsafe slot.storage?.deallocate()
            return false
        }
        while bytes + cost > limitBytes || count == maxEntries { evictOne() }
        unsafe insert(slot)
        return true
    }

    /// Restores an answer of an earlier process under a free key. Returns false, without a change, if the key is taken
    /// or other entries would be evicted: these are newer.
    mutating func restore(
        _ answer: borrowing RenderedAnswer, lifetimeSeconds: UInt32, under key: borrowing AnswerKey,
        storedAtMilliseconds: Int64
    ) -> Bool {
        guard find(key) == nil else { return false }
        let slot = unsafe Slot(
            answer, lifetimeSeconds: lifetimeSeconds, key: key, storedAtMilliseconds: storedAtMilliseconds, hits: 0)
        let cost = unsafe slot.costBytes
        guard bytes + cost <= limitBytes, count < maxEntries else {
            unsafe slot.storage?.deallocate()
            return false
        }
        unsafe insert(slot)
        return true
    }

    /// Replaces the answer of the entry under the key; its times, hits, marks and eviction position stay.
    ///
    /// - Returns: nil if there was no entry or no room for it. The key is then empty: the old answer must not be
    ///   served any more, so it counts as evicted.
    mutating func rearrange(_ answer: borrowing RenderedAnswer, under key: borrowing AnswerKey) -> KeptTimes? {
        guard let entry = find(key) else { return nil }
        let times = unsafe slots[Int(entry)].times
        var slot = unsafe Slot(
            answer, lifetimeSeconds: times.lifetimeSeconds, key: key, storedAtMilliseconds: times.storedAtMilliseconds,
            hits: slots[Int(entry)].hits)
        guard makeRoom(unsafe slot.costBytes, inPlaceOf: entry) else {
            unsafe slot.storage?.deallocate()
            return nil
        }
        let old = unsafe slots[Int(entry)]
        unsafe slot.takePlace(of: old)
        bytes += unsafe slot.costBytes - old.costBytes
        unsafe old.storage?.deallocate()
        unsafe slots[Int(entry)] = slot
        return times
    }

    /// Returns false if the entry itself was evicted: it is larger than the shard now, or its turn came first.
    private mutating func makeRoom(_ cost: Int, inPlaceOf entry: UInt32) -> Bool {
        guard cost <= limitBytes else {
            remove(entry)
            evictions += 1
            return false
        }
        let growth = unsafe cost - slots[Int(entry)].costBytes
        while bytes + growth > limitBytes {
            if evictOne() == entry { return false }
        }
        return true
    }

    mutating func removeAll() {
        while oldest != AnswerTable.none { remove(oldest) }
    }

    mutating func remove(_ entry: UInt32) {
        unindex(entry)
        unlink(entry)
        let slot = unsafe slots[Int(entry)]
        bytes -= unsafe slot.costBytes
        unsafe slot.storage?.deallocate()
        unsafe slots[Int(entry)].storage = nil
        unsafe slots[Int(entry)].newer = firstFree
        firstFree = entry
        count -= 1
    }

    private mutating func insert(_ slot: consuming Slot) {
        bytes += unsafe slot.costBytes
        insertions += 1
        let entry: UInt32
        if firstFree != AnswerTable.none {
            entry = firstFree
            firstFree = unsafe slots[Int(entry)].newer
            unsafe slots[Int(entry)] = slot
        } else {
            entry = UInt32(used)
            unsafe (slots + used).initialize(to: slot)
            used += 1
        }
        unsafe slots[Int(entry)].older = newest
        if newest != AnswerTable.none { unsafe slots[Int(newest)].newer = entry }
        newest = entry
        if oldest == AnswerTable.none { oldest = entry }
        count += 1
        if count * 4 > (indexMask + 1) * 3 { growIndex() } else { enterIndex(entry) }
    }

    /// Evicts one entry and returns it. Takes one round at most: each step clears a mark or ends.
    @discardableResult private mutating func evictOne() -> UInt32 {
        var entry = hand == AnswerTable.none ? oldest : hand
        while unsafe slots[Int(entry)].wasUsed {
            unsafe slots[Int(entry)].wasUsed = false
            let newer = unsafe slots[Int(entry)].newer
            entry = newer == AnswerTable.none ? oldest : newer
        }
        hand = unsafe slots[Int(entry)].newer
        remove(entry)
        evictions += 1
        return entry
    }

    private mutating func unlink(_ entry: UInt32) {
        let newer = unsafe slots[Int(entry)].newer
        let older = unsafe slots[Int(entry)].older
        if newer == AnswerTable.none { newest = older } else { unsafe slots[Int(newer)].older = older }
        if older == AnswerTable.none { oldest = newer } else { unsafe slots[Int(older)].newer = newer }
        if hand == entry { hand = newer }
    }

    private func enterIndex(_ entry: UInt32) {
        var position = home(of: entry)
        while unsafe index[position] != 0 { position = (position + 1) & indexMask }
        unsafe index[position] = entry + 1
    }

    /// Doubles the positions and reinserts every entry of the queue. With 32 MiB the last growth moves some 10,000
    /// entries: well under a millisecond, and all earlier ones together take as long.
    private mutating func growIndex() {
        let positions = (indexMask + 1) * 2
        unsafe index.deallocate()
        unsafe index = AnswerTable.emptyIndex(positions: positions)
        indexMask = positions - 1
        var entry = oldest
        while entry != AnswerTable.none {
            enterIndex(entry)
            entry = unsafe slots[Int(entry)].newer
        }
    }

    private static func emptyIndex(positions: Int) -> UnsafeMutablePointer<UInt32> {
        let index = UnsafeMutablePointer<UInt32>.allocate(capacity: positions)
        unsafe index.initialize(repeating: 0, count: positions)
        return unsafe index
    }

    /// Removes an entry from the index and closes the gap, so that no search stops at it: later entries move up if this
    /// does not place them before their home position.
    private mutating func unindex(_ entry: UInt32) {
        var gap = home(of: entry)
        while unsafe index[gap] != entry + 1 { gap = (gap + 1) & indexMask }
        var position = (gap + 1) & indexMask
        while unsafe index[position] != 0 {
            let distance = (position - home(of: unsafe index[position] - 1)) & indexMask
            if distance >= (position - gap) & indexMask {
                unsafe index[gap] = index[position]
                gap = position
            }
            position = (position + 1) & indexMask
        }
        unsafe index[gap] = 0
    }

    private func home(of entry: UInt32) -> Int {
        Int(truncatingIfNeeded: unsafe slots[Int(entry)].hash) & indexMask
    }
}
