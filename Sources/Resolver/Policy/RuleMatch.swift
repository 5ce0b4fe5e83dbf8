// Which rules apply to a name, and where they come from.

package import DNSWire

/// Where a rule comes from.
package enum RuleOrigin: Hashable, Sendable {
    case file(String, line: Int)
    /// Added by the operator at run time, for a time or until it is removed.
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
    /// Where a list has the name.
    package struct Place: Equatable, Sendable {
        /// The number of the rule in the settings, from 1.
        package let rule: Int
        package let path: String
        package let line: Int
    }

    package let name: Name
    package var scope = NameList.Scope.tree
    /// Nil: in `match`.
    package var place: Place?
    /// Of the rules with the name in `match`, in their order.
    package var origins: [RuleOrigin] = []
}
