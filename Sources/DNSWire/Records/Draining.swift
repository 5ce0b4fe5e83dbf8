// Empties lists in order.

extension Array {
    /// Moves the elements out in order. The memory stays for the next ones. A loop over the elements would copy each.
    @inlinable @inline(__always)
    package mutating func drain(_ take: (consuming Element) -> Void) {
        guard !isEmpty else { return }
        reverse()
        while let element = popLast() { take(consume element) }
    }
}
