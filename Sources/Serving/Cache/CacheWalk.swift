// Listing and removal of cache entries by scope. A walk proceeds in bounded pieces and holds a lock no longer than
// one piece takes; a single question is removed without a walk.

package import DNSWire

extension AnswerCache {
    /// Position at which a walk continues.
    package struct Cursor: Equatable, Sendable {
        fileprivate var shard = 0
        fileprivate var slot = 0

        package init() {}
    }

    /// Slots visited under one lock: some ten microseconds, for which a serving thread may have to wait.
    static let maxSlotsAtOnce = 1024
    /// Number of slots if each name is copied out of its slot and looked up elsewhere: fewer, for as short a wait.
    static let maxNamesAtOnce = 128

    /// Returns the next entries of a walk: at most `maxEntries`, possibly none before the end.
    ///
    /// The cache may change between two calls. An entry that stays unchanged meanwhile is returned exactly once; one
    /// that is stored again may be returned twice or not at all.
    /// - Returns: nil as `next` after the last entry.
    package func walk(
        from cursor: Cursor, _ scope: QuestionScope, maxEntries: Int
    ) -> (entries: [CachedEntry], next: Cursor?) {
        let scope = FoldedScope(scope)
        return unsafe walk(from: cursor, slots: AnswerCache.maxSlotsAtOnce, maxEntries: maxEntries) {
            unsafe scope.contains($0)
        }
    }

    /// Returns the next addresses (A and AAAA) of certain names. A call visits at most `maxNamesAtOnce` slots.
    ///
    /// - Parameter isMeant: as in `remove(where:)`.
    package func walkAddresses(
        from cursor: Cursor, where isMeant: (Name) -> Bool
    ) -> (entries: [CachedEntry], next: Cursor?) {
        let slots = AnswerCache.maxNamesAtOnce
        return unsafe walk(from: cursor, slots: slots, maxEntries: slots) { slot in
            unsafe slot.recordType.isAddress && !slot.isNegative && slot.name.map { isMeant($0) } ?? false
        }
    }

    /// - Parameter slots: the maximum number of slots visited, under one lock.
    private func walk(
        from cursor: Cursor, slots: Int, maxEntries: Int, where isMeant: (Slot) -> Bool
    ) -> (entries: [CachedEntry], next: Cursor?) {
        var entries: [CachedEntry] = []
        var next = cursor
        let isShardDone = withShard(cursor.shard) { table in
            let end = min(table.used, cursor.slot + slots)
            while next.slot < end, entries.count < maxEntries {
                let slot = unsafe table.slots[next.slot]
                if unsafe isMeant(slot), let entry = unsafe slot.entry { entries.append(entry) }
                next.slot += 1
            }
            return next.slot >= table.used
        }
        guard isShardDone else { return (entries, next) }
        next.shard += 1
        next.slot = 0
        return (entries, next.shard < AnswerCache.shardCount ? next : nil)
    }

    /// Removes the entries in scope from every partition; entries stored meanwhile may stay. One question costs one
    /// lookup, everything costs one lock per shard, and other scopes a walk through the cache.
    /// - Returns: the number of removed entries.
    package func remove(_ scope: QuestionScope) -> Int {
        if scope == .everything { return removeAll() }
        let folded = FoldedScope(scope)
        if let question = scope.question {
            return DNSSECBits.all.reduce(0) { removed, bits in
                let hash = hash(of: question.with(bits))
                return removed + withTable(hash) { $0.remove(hash, folded) }
            }
        }
        return unsafe removeEach(atOnce: AnswerCache.maxSlotsAtOnce) { slot in unsafe folded.contains(slot) }
    }

    /// Removes the entry under exactly this key, if any.
    package func remove(_ question: Question, partition: Partition, sourceClass: SourceClass) {
        let key = key(for: question, partition, sourceClass)
        withTable(key.hash) { table in
            if let entry = table.find(key) { table.remove(entry) }
        }
    }

    /// Removes the entries for which `isMeant` returns true, in every partition, with a single walk. Entries stored
    /// meanwhile may stay.
    ///
    /// - Parameter isMeant: gets names in lower case; called under a lock, so it must be quick.
    /// - Returns: the number of removed entries.
    package func remove(where isMeant: (Name, RecordType, SourceClass) -> Bool) -> Int {
        unsafe removeEach(atOnce: AnswerCache.maxNamesAtOnce) { slot in
            unsafe slot.name.map { unsafe isMeant($0, slot.recordType, slot.sourceClass) } ?? false
        }
    }

    /// Removes the entries of all other networks, and those of groups of clients, whose partition does not identify a
    /// network. Entries stored meanwhile may stay.
    ///
    /// - Returns: the number of removed entries.
    package func keepOnly(_ networks: Set<Partition>) -> Int {
        unsafe removeEach(atOnce: AnswerCache.maxSlotsAtOnce) { slot in
            unsafe slot.storage != nil && !networks.contains(slot.partition)
        }
    }

    /// Removes the entries stored at a time since boot or later, in every partition; entries stored meanwhile may stay.
    ///
    /// - Returns: the number of removed entries.
    package func remove(storedSinceMilliseconds: Int64) -> Int {
        unsafe removeEach(atOnce: AnswerCache.maxSlotsAtOnce) { slot in
            unsafe slot.storage != nil && slot.isStored(since: storedSinceMilliseconds)
        }
    }

    private func removeAll() -> Int {
        var removed = 0
        for shard in 0..<AnswerCache.shardCount {
            removed += withShard(shard) { table in
                defer { table.removeAll() }
                return table.count
            }
        }
        return removed
    }

    private func removeEach(atOnce maxSlots: Int, _ isMeant: (Slot) -> Bool) -> Int {
        var removed = 0
        for shard in 0..<AnswerCache.shardCount {
            var slot = 0
            var isShardDone = false
            while !isShardDone {
                isShardDone = withShard(shard) { table in
                    let end = min(table.used, slot + maxSlots)
                    while slot < end {
                        if unsafe isMeant(table.slots[slot]) {
                            table.remove(UInt32(slot))
                            removed += 1
                        }
                        slot += 1
                    }
                    return slot >= table.used
                }
            }
        }
        return removed
    }

    private func hash(of question: Question) -> UInt64 {
        var name = FoldedName()
        let wire = question.name.wire
        name.set(wire.span, from: 0, count: wire.count)
        return hashing.hash(
            name.span, nameBytes: wire.count, kind: AnswerKey.kind(question.type, question.dnssec))
    }

    private func withShard<Result>(_ shard: Int, _ body: (inout AnswerTable) -> Result) -> Result {
        withTable(UInt64(shard) << 60, body)
    }
}

extension AnswerTable {
    /// Removes the entries in scope with this hash, of all partitions and source classes, which the hash does not
    /// include. Returns their number.
    fileprivate mutating func remove(_ hash: UInt64, _ scope: FoldedScope) -> Int {
        var removed = 0
        var position = Int(truncatingIfNeeded: hash) & indexMask
        while case let entry = unsafe index[position], entry != 0 {
            if unsafe scope.contains(slots[Int(entry - 1)]) {
                // Another entry may move up into this position, so it is visited next.
                remove(entry - 1)
                removed += 1
            } else {
                position = (position + 1) & indexMask
            }
        }
        return removed
    }
}

extension Slot {
    /// A copy of the name, in lower case; nil for an empty slot.
    fileprivate var name: Name? { unsafe storage == nil ? nil : Name(wire: foldedName) }
}

/// A scope prepared for comparison with the names in slots.
private struct FoldedScope {
    private let name: [UInt8]
    private let includesDescendants: Bool
    private let type: RecordType?

    init(_ scope: QuestionScope) {
        name = scope.name.wire.map(\.lowercased)
        includesDescendants = scope.includesDescendants
        type = scope.type
    }

    /// Whether the slot is in the scope; false for an empty slot.
    func contains(_ slot: Slot) -> Bool {
        guard unsafe slot.storage != nil, unsafe type == nil || type == slot.recordType else { return false }
        let other = unsafe slot.foldedName
        let skipped = other.count - name.count
        guard includesDescendants ? skipped >= 0 : skipped == 0 else { return false }
        guard unsafe other[skipped...].elementsEqual(name) else { return false }
        var border = 0
        while border < skipped { unsafe border += 1 + Int(other[border]) }
        return border == skipped
    }
}
