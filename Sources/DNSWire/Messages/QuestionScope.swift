// The questions that a command applies to: one name or its subtree, one type or all types.

package struct QuestionScope: Hashable, Sendable {
    package let name: Name
    /// Includes all names below `name`.
    package let includesDescendants: Bool
    /// The record type; nil: every type.
    package let type: RecordType?

    package static let everything = QuestionScope(.root, includesDescendants: true)

    package init(_ name: Name, includesDescendants: Bool = false, type: RecordType? = nil) {
        self.name = name
        self.includesDescendants = includesDescendants
        self.type = type
    }

    /// The only question in scope; nil if there may be several.
    package var question: Question? { includesDescendants ? nil : type.map { Question(name, $0) } }

    package func contains(_ question: Question) -> Bool {
        guard type == nil || type == question.type else { return false }
        return includesDescendants ? question.name.isWithin(name) : question.name == name
    }
}
