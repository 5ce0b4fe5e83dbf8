// The place of a rule in its file, for `explain`.

extension Settings.Rule {
    /// The place of a rule. It is equal to every other place: a rule that only moves changes no setting.
    package enum Place: Equatable, Sendable {
        case none
        /// The line of the rule's header, which counts from 1.
        case file(String, line: Int)
        /// The rule was added at run time, for a time or until it is removed.
        case added(untilSecondsSince1970: Int64?)

        package static func == (left: Place, right: Place) -> Bool { true }
    }
}

extension [Settings.Rule] {
    /// - Parameter nodes: the nodes of the rules, in their order.
    func placed(at nodes: [Int], of document: borrowing TOMLDocument, file: String) -> [Settings.Rule] {
        var placed = self
        for (index, node) in zip(indices, nodes) {
            placed[index].place = .file(file, line: document.place(of: node, ofKey: true).line)
        }
        return placed
    }
}
