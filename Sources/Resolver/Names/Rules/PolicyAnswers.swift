// Finds the rule or the local zone that answers for a name.

package import DNSWire

extension Policy {
    /// Returns the answer of a rule for the name. Names of an account are exempt from the rules of shorter names.
    package func ruleAnswer(for name: Name) -> RuleAnswer? { answeringRule(for: name)?.answer }

    /// Returns the answer of a rule for the name, with the name of the rule.
    func answeringRule(for name: Name) -> (match: Name, answer: RuleAnswer)? {
        guard let rule = rules.answer(for: name) else { return nil }
        if let account = accounts.match(for: name), account.scope.name.wire.count > rule.match.wire.count { return nil }
        return rule
    }

    /// Returns the local zone that keeps the name from upstreams; nil: there is none, or a rule for a name below the
    /// zone sends it to an upstream. Names of lists do not count: the operator did not write them.
    package func localZone(of name: Name) -> Name? {
        guard let zone = localZones.zone(of: name), rules.deciding(for: name, below: zone)?.rule.upstreams == nil else {
            return nil
        }
        return zone
    }

    /// Returns whether a rule or a local zone keeps the name from upstreams.
    package func isAnsweredHere(_ name: Name) -> Bool { ruleAnswer(for: name) != nil || localZone(of: name) != nil }
}
