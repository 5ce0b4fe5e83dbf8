// Rules for names and what is under them. For each thing that rules speak of, the longest match that says something
// about it decides.

package import DNSWire

package struct Rule: Equatable, Sendable {
    package var match: [Name]
    package var stale: Bool?
    package var staleNegative: Bool?
    package var prefetch: Bool?
    package var minTTLSeconds: UInt32?
    package var maxTTLSeconds: UInt32?
    package var fallbackAddresses: [Address] = []

    package init(match: [Name] = []) {
        self.match = match
    }

    /// Says what `other` says wherever this one is silent.
    fileprivate mutating func fill(from other: Rule) {
        stale = stale ?? other.stale
        staleNegative = staleNegative ?? other.staleNegative
        prefetch = prefetch ?? other.prefetch
        minTTLSeconds = minTTLSeconds ?? other.minTTLSeconds
        maxTTLSeconds = maxTTLSeconds ?? other.maxTTLSeconds
        if fallbackAddresses.isEmpty { fallbackAddresses = other.fallbackAddresses }
    }

    /// Two rules for one name: an exclusion beats an inclusion; else the first one counts.
    fileprivate mutating func join(_ other: Rule) {
        if other.stale == false { stale = false }
        if other.staleNegative == false { staleNegative = false }
        if other.prefetch == false { prefetch = false }
        fill(from: other)
    }
}

package struct RuleTable: Equatable, Sendable {
    private var ruleOfName: [Name: Rule] = [:]

    package init(_ rules: [Rule]) {
        for rule in rules {
            for name in rule.match { ruleOfName[name, default: Rule()].join(rule) }
        }
    }

    func rule(for name: Name) -> Rule {
        var found = Rule()
        guard !ruleOfName.isEmpty else { return found }
        var next: Name? = name
        while let name = next {
            if let rule = ruleOfName[name] { found.fill(from: rule) }
            next = name.parent
        }
        return found
    }
}
