// Names with all names below them.

package struct NameTrees: Equatable, Sendable {
    private let roots: Set<Name>

    package init(_ roots: some Sequence<Name>) { self.roots = Set(roots) }

    package func contains(_ name: Name) -> Bool {
        guard !roots.isEmpty else { return false }
        var next: Name? = name
        while let candidate = next {
            if roots.contains(candidate) { return true }
            next = candidate.parent
        }
        return false
    }
}
