// A plain model of the answer table: an array in order of age, with SIEVE as published.

@testable import Serving
import DNSWire

struct TableModel {
    struct Key: Hashable {
        let question: Question
        let partition: Partition
        let sourceClass: SourceClass
    }

    struct Entry {
        let key: Key
        var answer: RenderedAnswer
        let lifetimeSeconds: UInt32
        let storedAtMilliseconds: Int64
        var wasUsed = false
        var isAwaited = false
        var hits = 0

        /// The size of a slot, eight bytes of the index, and an allocation of 32, 48, 64 ... bytes with a header of
        /// eight.
        var costBytes: Int {
            let name = (key.question.name.wire.count + 7) / 8 * 8
            let storage = name + answer.ttlOffsets.count * 2 + answer.body.count + answer.errorOption.count
            return unsafe MemoryLayout<Slot>.stride + 8 + max(32, (storage + 8 + 15) / 16 * 16)
        }
    }

    /// The entries, oldest first.
    private(set) var entries: [Entry] = []
    private(set) var evictions: UInt64 = 0
    private var hand: Key?
    private let limitBytes: Int
    private let maxEntries: Int

    init(limitBytes: Int) {
        self.limitBytes = limitBytes
        maxEntries = max(1, limitBytes / AnswerTable.smallEntryBytes)
    }

    var bytes: Int { entries.reduce(0) { $0 + $1.costBytes } }

    mutating func store(_ entry: Entry) {
        var entry = entry
        entry.hits = self.entry(entry.key)?.hits ?? 0
        remove(entry.key)
        guard entry.costBytes <= limitBytes else { return }
        while bytes + entry.costBytes > limitBytes || entries.count == maxEntries { evict() }
        entries.append(entry)
    }

    /// Returns whether the entry existed and remains.
    mutating func rearrange(_ key: Key, _ answer: RenderedAnswer) -> Bool {
        guard var changed = entry(key) else { return false }
        let growth = -changed.costBytes
        changed.answer = answer
        guard changed.costBytes <= limitBytes else {
            remove(key)
            evictions += 1
            return false
        }
        while bytes + growth + changed.costBytes > limitBytes, entry(key) != nil { evict() }
        guard let index = entries.firstIndex(where: { $0.key == key }) else { return false }
        entries[index].answer = answer
        return true
    }

    mutating func awaitHit(_ key: Key) {
        if let index = entries.firstIndex(where: { $0.key == key }) { entries[index].isAwaited = true }
    }

    func entry(_ key: Key) -> Entry? { entries.first { $0.key == key } }

    /// Returns whether this use was awaited.
    mutating func use(_ key: Key) -> Bool {
        guard let index = entries.firstIndex(where: { $0.key == key }) else { return false }
        entries[index].wasUsed = true
        entries[index].hits += 1
        defer { entries[index].isAwaited = false }
        return entries[index].isAwaited
    }

    mutating func remove(_ key: Key) {
        guard let index = entries.firstIndex(where: { $0.key == key }) else { return }
        if hand == key { hand = index + 1 < entries.count ? entries[index + 1].key : nil }
        entries.remove(at: index)
    }

    private mutating func evict() {
        var index = entries.firstIndex { $0.key == hand } ?? 0
        while entries[index].wasUsed {
            entries[index].wasUsed = false
            index = (index + 1) % entries.count
        }
        hand = index + 1 < entries.count ? entries[index + 1].key : nil
        entries.remove(at: index)
        evictions += 1
    }
}
