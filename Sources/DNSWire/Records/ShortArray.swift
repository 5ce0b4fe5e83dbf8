// Arrays that mostly have one element.

extension Array {
    /// Appends an element. The first one gets memory for itself alone, unless there is some: it costs half as much as
    /// memory to grow in.
    @inlinable
    package mutating func appendToShort(_ element: consuming Element) {
        if capacity == 0 { self = [element] } else { append(element) }
    }
}
