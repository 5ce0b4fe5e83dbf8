// Rules for names and their subdomains. For each setting, the longest matching rule that specifies it decides.

package import DNSWire

package struct Rule: Equatable, Sendable {
    package var match: [Name]
    package var upstreams: NameUpstreams?
    package var standsIn: StandInPolicy?
    package var order: UpstreamOrder?
    package var family: FamilyPolicy?
    /// Private addresses from providers are accepted.
    package var allowPrivate: Bool?
    package var stale: Bool?
    package var staleNegative: Bool?
    package var prefetch: Bool?
    /// True: private addresses, too.
    package var probe: Bool?
    /// Empty: those of the settings.
    package var probePorts: [UInt16] = []
    /// Addresses are probed by a connection to this port only; nil: by TLS handshakes.
    package var connect: UInt16?
    package var minTTLSeconds: UInt32?
    package var maxTTLSeconds: UInt32?
    package var fallbackAddresses: [Address] = []
    package var expectation: RuleExpectation?

    package init(match: [Name] = []) {
        self.match = match
    }

    /// Takes the values of `other` for settings that this rule does not specify.
    fileprivate mutating func fill(from other: Rule) {
        upstreams = upstreams ?? other.upstreams
        standsIn = standsIn ?? other.standsIn
        order = order ?? other.order
        family = family ?? other.family
        allowPrivate = allowPrivate ?? other.allowPrivate
        stale = stale ?? other.stale
        staleNegative = staleNegative ?? other.staleNegative
        prefetch = prefetch ?? other.prefetch
        probe = probe ?? other.probe
        if probePorts.isEmpty, connect == nil { (probePorts, connect) = (other.probePorts, other.connect) }
        minTTLSeconds = minTTLSeconds ?? other.minTTLSeconds
        maxTTLSeconds = maxTTLSeconds ?? other.maxTTLSeconds
        if fallbackAddresses.isEmpty { fallbackAddresses = other.fallbackAddresses }
        expectation = expectation ?? other.expectation
    }

    /// Merges two rules for one name: an exclusion beats an inclusion; else the first value counts.
    fileprivate mutating func join(_ other: Rule) {
        if other.upstreams == .system { upstreams = .system }
        if other.standsIn == .never { standsIn = .never }
        if other.allowPrivate == false { allowPrivate = false }
        if other.stale == false { stale = false }
        if other.staleNegative == false { staleNegative = false }
        if other.prefetch == false { prefetch = false }
        if other.probe == false { probe = false }
        fill(from: other)
    }
}

/// The settings for a name, beside its upstreams, that decide which answers it gets.
struct AnswerTerms: Equatable {
    let order: UpstreamOrder?
    let family: FamilyPolicy?
    let expectation: RuleExpectation?
}

extension Rule {
    fileprivate var answerTerms: AnswerTerms {
        AnswerTerms(order: order, family: family, expectation: expectation)
    }
}

/// Setting `order`: which upstreams are asked first for names that may go to providers.
package enum UpstreamOrder: String, Sendable, CaseIterable {
    case providersFirst = "providers-first"
    /// The system resolver's answer is given at once, and a certificate judges it.
    case systemFirst = "system-first"
}

/// The upstreams that may be asked for a name.
package enum NameUpstreams: Hashable, Sendable {
    /// The providers without names of their own, and the system resolver if they fail.
    case providers
    /// The accounts that the name belongs to; then, unless exclusive, the other providers. The system resolver if they
    /// fail.
    case owners([ProviderID], isExclusive: Bool)
    /// One provider, and the system resolver if it fails.
    case provider(ProviderID)
    case system

    /// Whether lookups of the name may ask the provider.
    func include(_ provider: ProviderTraits) -> Bool {
        switch self {
        case .providers: !provider.hasOwnNames
        case .owners(let owners, let isExclusive):
            owners.contains(provider.id) || !isExclusive && !provider.hasOwnNames
        case .provider(let only): provider.id == only
        case .system: false
        }
    }

    /// Whether shadow providers may be asked for the name.
    var allowsComparison: Bool {
        switch self {
        case .providers: true
        case .owners(_, let isExclusive): !isExclusive
        case .provider, .system: false
        }
    }

    /// Whether lookups of the name measure the providers that they may ask.
    var allowsMeasurement: Bool {
        switch self {
        case .providers, .owners: true
        case .provider, .system: false
        }
    }

    func isOwner(_ provider: ProviderID) -> Bool {
        if case .owners(let owners, _) = self { owners.contains(provider) } else { false }
    }
}

package struct RuleTable: Equatable, Sendable {
    private var ruleOfName: [Name: Rule] = [:]
    /// A rule has a `family`. Without one, no question pays for a look-up.
    let hasFamilies: Bool

    package init(_ rules: [Rule]) {
        hasFamilies = rules.contains { $0.family != nil }
        for var rule in rules {
            for name in rule.match {
                rule.expectation?.rule = name
                ruleOfName[name, default: Rule()].join(rule)
            }
        }
    }

    /// Returns the names of rules with different upstreams, another order, family or expectation, and of rules in only
    /// one of the tables.
    func namesDiffering(from other: RuleTable) -> [Name] {
        Set(ruleOfName.keys).union(other.ruleOfName.keys).filter { name in
            let (rule, otherRule) = (ruleOfName[name], other.ruleOfName[name])
            return (rule == nil) != (otherRule == nil) || rule?.upstreams != otherRule?.upstreams
                || rule?.answerTerms != otherRule?.answerTerms
        }
    }

    /// The rule names with an expectation of their own, sorted by their text.
    var expectations: [(name: Name, expectation: RuleExpectation)] {
        ruleOfName.compactMap { name, rule in rule.expectation.map { (name, "\(name)", $0) } }
            .sorted { $0.1 < $1.1 }.map { ($0.0, $0.2) }
    }

    /// Returns the merged rule for a name; nil if no rule matches.
    func rule(for name: Name) -> Rule? {
        var found: Rule?
        for match in names(matching: name) {
            guard let rule = ruleOfName[match] else { continue }
            if found == nil { found = rule } else { found?.fill(from: rule) }
        }
        return found
    }

    /// Returns the longest match that sends the name to the system resolver or to one provider; nil if none does.
    func exception(for name: Name) -> Name? {
        for match in names(matching: name) {
            switch ruleOfName[match]?.upstreams {
            case nil: continue
            case .providers, .owners: return nil
            case .provider, .system: return match
            }
        }
        return nil
    }

    /// Returns the rule names that equal the name or are its ancestors, the longest first.
    func names(matching name: Name) -> [Name] {
        guard !ruleOfName.isEmpty else { return [] }
        var matching: [Name] = []
        var next: Name? = name
        while let name = next {
            if ruleOfName[name] != nil { matching.append(name) }
            next = name.parent
        }
        return matching
    }
}
