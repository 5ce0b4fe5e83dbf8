// Arrays that mostly have one element.

extension Array {
    /// Appends an element. The first one gets memory for itself alone, which costs half as much as memory to grow in.
    @inlinable
    package mutating func appendToShort(_ element: consuming Element) {
        if isEmpty { self = [element] } else { append(element) }
    }
}
