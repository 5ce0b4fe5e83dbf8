// Queries about the rules of a name, for reports.

package import DNSWire

extension Resolver {
    /// Returns the rule that blocks the question, or the name that it is an alias of; nil: there is none.
    package func blockingRule(of question: Question) -> BlockingRule? {
        let question = aliases(of: question)?.target ?? question
        guard let (match, answer) = routing.answeringRule(of: question), answer.blocks else { return nil }
        return routing.withPolicy(of: question) { $0.rules.blockingRule(for: question.name, at: match) }
    }

    /// Returns the probes of these addresses of a name. The resolver need not have seen the addresses in its answers.
    package func probeTargets(of name: Name, _ addresses: [Address]) -> [ProbeTarget] {
        let terms = routing.policy.of(name).probes
        return addresses.flatMap { terms.targets(name, $0) }
    }

    /// Number of the provider's blocks that clients got, or that the cache got for them.
    package func blocks(by provider: ProviderID) -> UInt64 { state.blocks[provider] ?? 0 }

    /// Returns the aliases that answer the question; nil: its name has none, or the question is about the CNAME record
    /// itself.
    package func aliases(of question: Question) -> AliasQuestions? {
        guard question.type != .cname, routing.withPolicy(of: question, { $0.rules.hasAliases }) else { return nil }
        return routing.aliases(of: question)
    }
}
