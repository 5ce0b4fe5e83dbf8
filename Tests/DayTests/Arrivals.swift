// The packets on their way to the daemon, earliest first; those of the same millisecond arrive by their number.

struct Arrivals {
    private var heap: [(at: Int64, number: UInt64)] = []

    var earliest: Int64? { heap.first?.at }

    mutating func add(_ number: UInt64, at: Int64) {
        heap.append((at, number))
        var position = heap.count - 1
        while position > 0, heap[position] < heap[(position - 1) / 2] {
            heap.swapAt(position, (position - 1) / 2)
            position = (position - 1) / 2
        }
    }

    mutating func popDue(_ now: Int64) -> UInt64? {
        guard let first = heap.first, first.at <= now, let last = heap.popLast() else { return nil }
        guard !heap.isEmpty else { return first.number }
        heap[0] = last
        var position = 0
        while true {
            var child = 2 * position + 1
            if child + 1 < heap.count, heap[child + 1] < heap[child] { child += 1 }
            guard child < heap.count, heap[child] < heap[position] else { break }
            heap.swapAt(position, child)
            position = child
        }
        return first.number
    }
}
