// The rules that apply to a name, and their origins.

package import DNSWire

/// The origin of a rule.
package enum RuleOrigin: Hashable, Sendable {
    case file(String, line: Int)
    /// A line of a list.
    ///
    /// - Parameter rule: the number of the list's rule in the settings, from 1.
    case list(String, line: Int, rule: Int)
    /// The operator added the rule at run time, for a time or until it is removed.
    case added(untilSecondsSince1970: Int64?)
}

/// A file with names.
package struct RuleList: Equatable, Sendable {
    package let path: String
    package let names: NameList

    package init(path: String, names: NameList) {
        self.path = path
        self.names = names
    }
}

/// A name at which a rule matches a question's name.
package struct RuleMatch: Equatable, Sendable {
    package let name: Name
    package var scope = NameList.Scope.tree
    /// The line of a list, or the origins of the rules with the name in `match`, in their order.
    package var origins: [RuleOrigin] = []
}
