// Rules for names and what is under them. For each thing that rules speak of, the longest match that says something
// about it decides.

package import DNSWire

package struct Rule: Equatable, Sendable {
    package var match: [Name]
    package var upstreams: NameUpstreams?
    package var standsIn: StandInPolicy?
    /// Private addresses from providers are taken for what they say.
    package var allowPrivate: Bool?
    package var stale: Bool?
    package var staleNegative: Bool?
    package var prefetch: Bool?
    /// True: private addresses, too.
    package var probe: Bool?
    /// Empty: those of the settings.
    package var probePorts: [UInt16] = []
    package var minTTLSeconds: UInt32?
    package var maxTTLSeconds: UInt32?
    package var fallbackAddresses: [Address] = []

    package init(match: [Name] = []) {
        self.match = match
    }

    /// Says what `other` says wherever this one is silent.
    fileprivate mutating func fill(from other: Rule) {
        upstreams = upstreams ?? other.upstreams
        standsIn = standsIn ?? other.standsIn
        allowPrivate = allowPrivate ?? other.allowPrivate
        stale = stale ?? other.stale
        staleNegative = staleNegative ?? other.staleNegative
        prefetch = prefetch ?? other.prefetch
        probe = probe ?? other.probe
        if probePorts.isEmpty { probePorts = other.probePorts }
        minTTLSeconds = minTTLSeconds ?? other.minTTLSeconds
        maxTTLSeconds = maxTTLSeconds ?? other.maxTTLSeconds
        if fallbackAddresses.isEmpty { fallbackAddresses = other.fallbackAddresses }
    }

    /// Two rules for one name: an exclusion beats an inclusion; else the first one counts.
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

/// Who may be asked for a name.
package enum NameUpstreams: Equatable, Sendable {
    /// The providers, and the system resolver where they fail.
    case providers
    /// One provider, and the system resolver where it fails.
    case provider(ProviderID)
    case system
}

package struct RuleTable: Equatable, Sendable {
    private var ruleOfName: [Name: Rule] = [:]

    package init(_ rules: [Rule]) {
        for rule in rules {
            for name in rule.match { ruleOfName[name, default: Rule()].join(rule) }
        }
    }

    /// Names of rules that say something else of upstreams, or that are in one of the two only.
    func namesDiffering(from other: RuleTable) -> [Name] {
        Set(ruleOfName.keys).union(other.ruleOfName.keys).filter { name in
            let (rule, otherRule) = (ruleOfName[name], other.ruleOfName[name])
            return (rule == nil) != (otherRule == nil) || rule?.upstreams != otherRule?.upstreams
        }
    }

    /// Nil: no rule speaks of the name.
    func rule(for name: Name) -> Rule? {
        var found: Rule?
        for match in names(matching: name) {
            guard let rule = ruleOfName[match] else { continue }
            if found == nil { found = rule } else { found?.fill(from: rule) }
        }
        return found
    }

    /// The names that rules speak of which are this one or above it, the longest first.
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
