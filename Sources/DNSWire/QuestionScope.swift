// Which questions a command is about: one name or all under it, one type or all of them.

package struct QuestionScope: Hashable, Sendable {
    package let name: Name
    /// Everything under the name, too.
    package let includesDescendants: Bool
    /// Nil: every type.
    package let type: RecordType?

    package static let everything = QuestionScope(.root, includesDescendants: true)

    package init(_ name: Name, includesDescendants: Bool = false, type: RecordType? = nil) {
        self.name = name
        self.includesDescendants = includesDescendants
        self.type = type
    }

    /// The only question in it; nil when there may be more.
    package var question: Question? { includesDescendants ? nil : type.map { Question(name, $0) } }

    package func contains(_ question: Question) -> Bool {
        guard type == nil || type == question.type else { return false }
        return includesDescendants ? question.name.isWithin(name) : question.name == name
    }
}
