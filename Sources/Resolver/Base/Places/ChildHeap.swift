// The order of a node's children in a fair queue: a binary heap by count, then by turn, from which any child can leave.

struct ChildHeap: Sendable {
    private struct Entry: Sendable {
        let node: Int
        var rank: (count: Int, turn: UInt64)

        func precedes(_ other: Entry) -> Bool { rank < other.rank }
    }

    /// The position of each node in its heap. Nodes are in one heap at most, so all heaps of a queue share a table.
    struct Positions: Sendable {
        fileprivate var of: [Int] = []

        fileprivate subscript(node: Int) -> Int? {
            get { node < of.count && of[node] >= 0 ? of[node] : nil }
            set {
                while of.count <= node { of.append(-1) }
                of[node] = newValue ?? -1
            }
        }
    }

    private var heap: [Entry] = []

    var first: Int? { heap.first?.node }

    /// Adds or moves a node.
    mutating func set(_ node: Int, _ rank: (count: Int, turn: UInt64), _ positions: inout Positions) {
        if let position = positions[node] {
            guard heap[position].rank != rank else { return }
            heap[position].rank = rank
            settle(position, &positions)
        } else {
            heap.append(Entry(node: node, rank: rank))
            positions[node] = heap.count - 1
            settle(heap.count - 1, &positions)
        }
    }

    /// Removes a node. An absent one is ignored.
    mutating func remove(_ node: Int, _ positions: inout Positions) {
        guard let position = positions[node] else { return }
        positions[node] = nil
        let last = heap.removeLast()
        guard position < heap.count else { return }
        heap[position] = last
        positions[last.node] = position
        settle(position, &positions)
    }

    private mutating func settle(_ start: Int, _ positions: inout Positions) {
        var position = start
        while position > 0, heap[position].precedes(heap[(position - 1) / 2]) {
            swap(position, (position - 1) / 2, &positions)
            position = (position - 1) / 2
        }
        while let child = smallerChild(of: position), heap[child].precedes(heap[position]) {
            swap(position, child, &positions)
            position = child
        }
    }

    private func smallerChild(of position: Int) -> Int? {
        let left = 2 * position + 1
        guard left < heap.count else { return nil }
        return left + 1 < heap.count && heap[left + 1].precedes(heap[left]) ? left + 1 : left
    }

    private mutating func swap(_ first: Int, _ second: Int, _ positions: inout Positions) {
        heap.swapAt(first, second)
        positions[heap[first].node] = first
        positions[heap[second].node] = second
    }
}
