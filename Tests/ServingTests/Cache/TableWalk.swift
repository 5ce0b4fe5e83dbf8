// Walks a whole table and names its broken invariants. They are those in the first comment of AnswerTable.

@testable import Serving

struct TableWalk {
    /// The hashes of the entries' keys, oldest first.
    private(set) var hashes: [UInt64] = []
    private(set) var violations: [String] = []

    init(_ table: borrowing AnswerTable) {
        let queue = walkQueue(table)
        walkIndex(table, live: queue)
        walkFreeList(table, live: queue)
        let cost = queue.reduce(0) { sum, entry in unsafe sum + table.slots[Int(entry)].costBytes }
        check(cost == table.bytes, "bytes \(table.bytes), the entries cost \(cost)")
        check(table.bytes <= table.limitBytes, "bytes \(table.bytes) of \(table.limitBytes)")
        check(table.count == queue.count, "count \(table.count), the queue has \(queue.count)")
        check(table.count <= table.maxEntries, "count \(table.count) of \(table.maxEntries)")
        check(table.hand == AnswerTable.none || queue.contains(table.hand), "the hand is at no entry")
        hashes = queue.map { unsafe table.slots[Int($0)].hash }
    }

    private mutating func check(_ holds: Bool, _ violation: @autoclosure () -> String) {
        if !holds { violations.append(violation()) }
    }

    /// Walks the entries from old to new.
    private mutating func walkQueue(_ table: borrowing AnswerTable) -> [UInt32] {
        var queue: [UInt32] = []
        var entry = table.oldest
        var older = AnswerTable.none
        while entry != AnswerTable.none, queue.count <= table.maxEntries {
            check(unsafe table.slots[Int(entry)].older == older, "entry \(entry) does not link back")
            check(unsafe table.slots[Int(entry)].storage != nil, "entry \(entry) has no storage")
            queue.append(entry)
            older = entry
            entry = unsafe table.slots[Int(entry)].newer
        }
        check(table.newest == older, "the newest entry is not the end of the queue")
        return queue
    }

    private mutating func walkIndex(_ table: borrowing AnswerTable, live: [UInt32]) {
        var seen: [UInt32: Int] = [:]
        for position in 0...table.indexMask {
            let value = unsafe table.index[position]
            if value != 0 {
                check(seen.updateValue(position, forKey: value - 1) == nil, "entry \(value - 1) is indexed twice")
            }
        }
        check(Set(seen.keys) == Set(live), "index and queue differ")
        check(seen.count * 4 <= (table.indexMask + 1) * 3, "\(seen.count) of \(table.indexMask + 1) positions taken")
        for (entry, place) in seen {
            var position = unsafe Int(truncatingIfNeeded: table.slots[Int(entry)].hash) & table.indexMask
            while position != place {
                guard unsafe table.index[position] != 0 else {
                    violations.append("an empty position between entry \(entry) and its home")
                    break
                }
                position = (position + 1) & table.indexMask
            }
        }
    }

    private mutating func walkFreeList(_ table: borrowing AnswerTable, live: [UInt32]) {
        var free: Set<UInt32> = []
        var entry = table.firstFree
        while entry != AnswerTable.none, free.insert(entry).inserted {
            check(unsafe table.slots[Int(entry)].storage == nil, "free slot \(entry) has storage")
            entry = unsafe table.slots[Int(entry)].newer
        }
        check(entry == AnswerTable.none, "the free list is a ring")
        check(free.union(live) == Set(0..<UInt32(table.used)), "slots neither free nor in the queue, or both")
        check(free.count + live.count == table.used, "a slot is free and in the queue")
    }
}
