// Lists in which equal elements stand once.

extension Sequence where Element: Hashable {
    /// The elements in the order of their first appearance.
    package var withoutRepetition: [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
