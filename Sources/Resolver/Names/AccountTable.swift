// Names that belong to providers' accounts. For each name, the longest match decides; an exact name precedes the tree
// of the same name.

package import DNSWire

/// The names of one provider, such as those registered for a vendor's account.
package struct AccountNames: Equatable, Sendable {
    package let provider: ProviderID
    /// The names, each with all names below it, or alone. Their types are ignored.
    package let names: [QuestionScope]
    /// Only accounts that have the name are asked.
    package let isExclusive: Bool

    package init(_ provider: ProviderID, _ names: [QuestionScope], isExclusive: Bool = false) {
        self.provider = provider
        self.names = names
        self.isExclusive = isExclusive
    }
}

package struct AccountTable: Equatable, Sendable {
    /// The accounts that a name belongs to.
    struct Match: Equatable, Sendable {
        let scope: QuestionScope
        /// The owners in the order of the settings; one or more.
        fileprivate(set) var owners: [ProviderID]
        fileprivate(set) var isExclusive: Bool

        var upstreams: NameUpstreams { .owners(owners, isExclusive: isExclusive) }
    }

    private var matches: [QuestionScope: Match] = [:]

    var isEmpty: Bool { matches.isEmpty }

    package init(_ accounts: [AccountNames]) {
        for account in accounts {
            for name in account.names {
                add(QuestionScope(name.name, includesDescendants: name.includesDescendants), account)
            }
        }
    }

    /// If one of several owners is exclusive, only exclusive owners remain: an exclusion beats an inclusion.
    private mutating func add(_ scope: QuestionScope, _ account: AccountNames) {
        let new = Match(scope: scope, owners: [account.provider], isExclusive: account.isExclusive)
        guard var match = matches[scope], match.isExclusive || !account.isExclusive else {
            matches[scope] = new
            return
        }
        guard match.isExclusive == account.isExclusive, !match.owners.contains(account.provider) else { return }
        match.owners.append(account.provider)
        matches[scope] = match
    }

    /// Returns the longest match; nil if the name belongs to no account.
    func match(for name: Name) -> Match? {
        guard !matches.isEmpty else { return nil }
        if let exact = matches[QuestionScope(name)] { return exact }
        var next: Name? = name
        while let name = next {
            if let tree = matches[QuestionScope(name, includesDescendants: true)] { return tree }
            next = name.parent
        }
        return nil
    }

    /// Returns the scopes whose owners differ.
    func scopesDiffering(from other: AccountTable) -> [QuestionScope] {
        Set(matches.keys).union(other.matches.keys).filter { matches[$0] != other.matches[$0] }
            .sorted { $0.name != $1.name ? $0.name < $1.name : !$0.includesDescendants && $1.includesDescendants }
    }
}
