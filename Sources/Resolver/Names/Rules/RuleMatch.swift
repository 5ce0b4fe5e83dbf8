// Which rules apply to a name, and where they come from.

package import DNSWire

/// Where a rule comes from.
package enum RuleOrigin: Hashable, Sendable {
    case file(String, line: Int)
    /// A line of a list.
    ///
    /// - Parameter rule: the number of the list's rule in the settings, from 1.
    case list(String, line: Int, rule: Int)
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
    package let name: Name
    package var scope = NameList.Scope.tree
    /// A list's line, or where the rules with the name in `match` come from, in their order.
    package var origins: [RuleOrigin] = []
}
