// Clients with a policy of their own: the setting [[view]].

import DNSWire

package struct ClientView: Equatable, Sendable {
    package let name: String
    /// The number of the view, as in `ClientGroup`.
    package let number: UInt32
    /// The policy of the view, which has no views.
    package var policy: Policy

    package init(name: String, number: UInt32, policy: Policy) {
        (self.name, self.number, self.policy) = (name, number, policy)
    }

    /// Whether this view and the same view of the other policy may decide differently about the name
    /// (`Policy.mayDiffer`). Without rules and providers of its own, a view decides as all other clients do.
    func mayDiffer(fromThatOf other: Policy, for name: Name) -> Bool {
        guard let index = other.views.firstIndex(where: { $0.number == number }) else { return false }
        let hasRules = policy.rules.hasRulesOfView || other.views[index].policy.rules.hasRulesOfView
        let hasProviders = policy.providers != nil || other.views[index].policy.providers != nil
        guard hasRules || hasProviders else { return false }
        return policy.mayDiffer(from: other.views[index].policy, for: name)
    }
}

extension Policy {
    /// Returns the view of a question; nil: its clients are in none, or in one that a reload has removed.
    func view(of question: Question) -> ClientView? { index(of: question.clients).map { views[$0] } }

    func index(of clients: ClientGroup) -> Int? {
        clients.view == 0 ? nil : views.firstIndex { $0.number == clients.view }
    }

    /// Returns the policies of the views that both policies have.
    func viewsInCommon(with other: Policy) -> [(Policy, Policy)] {
        views.compactMap { view in
            other.views.first { $0.number == view.number }.map { (view.policy, $0.policy) }
        }
    }
}
