// Contradictions to the properties of genuine answers (setting `expect`): weaker evidence than a certificate, for names
// without TLS.

package import DNSWire

extension RuleExpectation {
    /// Returns what contradicts the expectation; nil if nothing does.
    ///
    /// - Parameters:
    ///   - answer: the upstream's answer before filters and TTL limits.
    ///   - carriesAliases: the upstream's format has CNAME records; without them `hasAlias` is not judged.
    ///   - prefixes: NAT64 prefixes of the network. An address behind one is judged by its IPv4 address as well.
    func contradiction(
        in answer: Answer, to question: Question, carriesAliases: Bool, behind prefixes: [NAT64Prefix]
    ) -> Contradiction? {
        guard question.type.isAddress, answer.kind == .records else { return nil }
        if let outside = answer.addresses.first(where: { !mayBeGenuine($0, behind: prefixes) }) {
            return Contradiction(rule: rule, reason: .outside(outside))
        }
        if carriesAliases, let hasAlias, hasAlias != answer.records.contains(where: { $0.type == .cname }) {
            return Contradiction(rule: rule, reason: hasAlias ? .noAlias : .alias)
        }
        let ttl = answer.records.lazy.filter { $0.type == question.type }.map(\.ttlSeconds).max()
        if let ttl, let maxTTL, ttl > maxTTL.unsignedSeconds { return Contradiction(rule: rule, reason: .ttl(ttl)) }
        return nil
    }

    private func mayBeGenuine(_ address: Address, behind prefixes: [NAT64Prefix]) -> Bool {
        let family = networks.filter { $0.address.recordType == address.recordType }
        if family.isEmpty || family.contains(where: { $0.contains(address) }) { return true }
        let hosts = prefixes.compactMap { $0.extract(address) }
        return hosts.contains { host in networks.contains { $0.contains(host) } }
    }
}

/// How an answer contradicts the expectation of a rule.
package struct Contradiction: Hashable, Sendable {
    package enum Reason: Hashable, Sendable {
        case noAlias
        case alias
        case ttl(UInt32)
        case outside(Address)
    }

    /// The name of the rule.
    package let rule: Name
    package let reason: Reason

    package init(rule: Name, reason: Reason) {
        self.rule = rule
        self.reason = reason
    }
}

extension Contradiction: CustomStringConvertible {
    /// The text has the reason first: clients get it truncated.
    package var description: String {
        let found =
            switch reason {
            case .noAlias: "no CNAME"
            case .alias: "a CNAME"
            case .ttl(let seconds): "TTL \(seconds)"
            case .outside(let address): "\(address)"
            }
        return "\(found) against expect of the rule for \(rule.isRoot ? "all names" : rule.description)"
    }
}

/// An answer that was treated as forged because it contradicts an expectation.
package struct ContradictingAnswer: Equatable, Sendable {
    package let question: Question
    /// A provider or the system resolver.
    package let source: Source
    /// All addresses of the answer.
    package let addresses: [Address]
    package let contradiction: Contradiction

    package init(question: Question, source: Source, addresses: [Address], contradiction: Contradiction) {
        self.question = question
        self.source = source
        self.addresses = addresses
        self.contradiction = contradiction
    }
}
