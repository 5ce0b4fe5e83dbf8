// The instants at which lookups want to be woken, earliest first. Exact: a deadline that no longer holds is gone, so
// that the daemon never wakes for nothing.
//
// Invariants: `heap` is a binary min-heap by (instant, number); `positions[number]` is where its entry stands.

struct DeadlineQueue {
    private struct Entry {
        var instant: Instant
        let number: UInt64

        /// Equal instants in the order of the lookups, so that the same events give the same actions.
        func precedes(_ other: Entry) -> Bool {
            instant != other.instant ? instant < other.instant : number < other.number
        }
    }

    private var heap: [Entry] = []
    private var positions: [UInt64: Int] = [:]

    var earliest: Instant? { heap.first?.instant }
    var first: UInt64? { heap.first?.number }

    func contains(_ number: UInt64) -> Bool { positions[number] != nil }

    /// Adds, or moves, the deadline of `number`.
    mutating func set(_ instant: Instant, for number: UInt64) {
        if let position = positions[number] {
            heap[position].instant = instant
            settle(position)
        } else {
            heap.append(Entry(instant: instant, number: number))
            positions[number] = heap.count - 1
            settle(heap.count - 1)
        }
    }

    mutating func remove(_ number: UInt64) {
        guard let position = positions.removeValue(forKey: number) else { return }
        let last = heap.removeLast()
        guard position < heap.count else { return }
        heap[position] = last
        positions[last.number] = position
        settle(position)
    }

    /// Takes out one deadline that has come.
    mutating func popDue(_ now: Instant) -> UInt64? {
        guard let first = heap.first, first.instant <= now else { return nil }
        remove(first.number)
        return first.number
    }

    private mutating func settle(_ start: Int) {
        var position = start
        while position > 0, heap[position].precedes(heap[(position - 1) / 2]) {
            swap(position, (position - 1) / 2)
            position = (position - 1) / 2
        }
        while let child = smallerChild(of: position), heap[child].precedes(heap[position]) {
            swap(position, child)
            position = child
        }
    }

    private func smallerChild(of position: Int) -> Int? {
        let left = 2 * position + 1
        guard left < heap.count else { return nil }
        return left + 1 < heap.count && heap[left + 1].precedes(heap[left]) ? left + 1 : left
    }

    private mutating func swap(_ first: Int, _ second: Int) {
        heap.swapAt(first, second)
        positions[heap[first].number] = first
        positions[heap[second].number] = second
    }
}
