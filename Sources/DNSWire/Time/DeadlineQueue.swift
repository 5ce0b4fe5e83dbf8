// Queue of numbered deadlines, earliest first. Obsolete deadlines are removed, so the daemon never wakes without work.
//
// Invariants: `heap` is a binary min-heap by (time, number); `positions[number]` is where its entry stands, or
// `nowhere`. Numbers are small and used again, as `positions` is as long as the largest.

package struct DeadlineQueue: Sendable {
    private struct Entry: Sendable {
        var time: Instant
        let number: Int32

        /// Orders equal times by number, so that the same events give the same actions.
        func precedes(_ other: Entry) -> Bool {
            time != other.time ? time < other.time : number < other.number
        }
    }

    private var heap: [Entry] = []
    private var positions: [Int32] = []

    private static let nowhere: Int32 = -1

    package init() {}

    package var earliest: Instant? { heap.first?.time }

    package var first: Int? { heap.first.map { Int($0.number) } }

    package func contains(_ number: Int) -> Bool { position(of: number) != nil }

    /// Adds, or moves, the deadline of `number`.
    package mutating func set(_ instant: Instant, for number: Int) {
        if let position = position(of: number) {
            heap[position].time = instant
            settle(position)
        } else {
            heap.append(Entry(time: instant, number: Int32(number)))
            while positions.count <= number { positions.append(DeadlineQueue.nowhere) }
            positions[number] = Int32(heap.count - 1)
            settle(heap.count - 1)
        }
    }

    package mutating func remove(_ number: Int) {
        guard let position = position(of: number) else { return }
        positions[number] = DeadlineQueue.nowhere
        let last = heap.removeLast()
        guard position < heap.count else { return }
        heap[position] = last
        positions[Int(last.number)] = Int32(position)
        settle(position)
    }

    /// Removes one deadline that has passed, and returns its number.
    package mutating func popDue(_ now: Instant) -> Int? {
        guard let first = heap.first, first.time <= now else { return nil }
        remove(Int(first.number))
        return Int(first.number)
    }

    private func position(of number: Int) -> Int? {
        guard number < positions.count, positions[number] != DeadlineQueue.nowhere else { return nil }
        return Int(positions[number])
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
        positions[Int(heap[first].number)] = Int32(first)
        positions[Int(heap[second].number)] = Int32(second)
    }
}
