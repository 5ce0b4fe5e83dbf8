// Which rule or list blocks a name, for counts and the log.

package import DNSWire

/// The rule or list by which the settings block names.
package enum BlockingRule: Hashable, Sendable {
    /// The name in a rule's `match`.
    case name(Name)
    /// The path of a list.
    case list(String)
}

extension RuleAnswer {
    /// Whether the answer blocks the name: a reply without records, with an extended error, or with the unspecified
    /// address.
    var blocks: Bool {
        switch self {
        case .noSuchName, .noData, .refused: true
        case .records(let records, let remark):
            remark != nil || !records.isEmpty && records.allSatisfy { $0.address?.isUnspecified == true }
        case .alias: false
        }
    }
}

extension RuleTable {
    /// Returns the rule or list that answers the name at `match`, the longest match with an answer.
    func blockingRule(for name: Name, at match: Name) -> BlockingRule {
        let origin = origin(ofAnswerAt: match, isWhole: match.wire.count == name.wire.count)
        return if case .list(let path, _, _) = origin { .list(path) } else { .name(match) }
    }
}
