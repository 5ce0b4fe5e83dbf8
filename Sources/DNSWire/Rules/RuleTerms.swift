// The terms of the operator's rules for answers, for settings and decisions alike. A new term is a property, its line
// in `fill` and its row: the settings, `explain`, and the removal of cached answers follow the row.

package struct RuleTerms: Equatable, Sendable {
    package var standsIn: StandInPolicy?
    package var order: UpstreamOrder?
    package var family: FamilyPolicy?
    /// Private addresses from providers are accepted.
    package var allowPrivate: Bool?
    package var stale: Bool?
    /// Expired negative answers are served, too.
    package var staleNegative: Bool?
    package var prefetch: Bool?
    /// True: private addresses are probed, too.
    package var probe: Bool?
    /// The ports of probes, up to 8, all different.
    package var probePorts: [UInt16]?
    /// Addresses are probed by a connection to this port only; nil: by TLS handshakes.
    package var connect: UInt16?
    /// The minimum TTL, up to 7 days as `maxTTL`; at most `maxTTL`.
    package var minTTL: Duration?
    package var maxTTL: Duration?
    /// The addresses returned if all upstreams have failed, 1 to 16.
    package var fallbackAddresses: [Address]?
    package var expectation: RuleExpectation?
    /// Ranges whose verified addresses precede slower ones of the rule's names, 1 to 16.
    package var preferAddresses: [Prefix]?
    /// The sets that get the addresses of the rule's names, up to 8; empty exempts them from the sets of a rule for a
    /// shorter name.
    package var addressSets: [AddressSetTarget]?

    package init() {}

    /// Takes the values of `other` for terms that this rule does not have. Statements, because a miss fills rules: by
    /// the key paths of the rows it would take 1.8 µs instead of 50 ns.
    package mutating func fill(from other: RuleTerms) {
        standsIn = standsIn ?? other.standsIn
        order = order ?? other.order
        family = family ?? other.family
        allowPrivate = allowPrivate ?? other.allowPrivate
        stale = stale ?? other.stale
        staleNegative = staleNegative ?? other.staleNegative
        prefetch = prefetch ?? other.prefetch
        probe = probe ?? other.probe
        // `probe-ports` and `connect` exclude each other.
        if probePorts == nil, connect == nil { (probePorts, connect) = (other.probePorts, other.connect) }
        minTTL = minTTL ?? other.minTTL
        maxTTL = maxTTL ?? other.maxTTL
        fallbackAddresses = fallbackAddresses ?? other.fallbackAddresses
        expectation = expectation ?? other.expectation
        preferAddresses = preferAddresses ?? other.preferAddresses
        addressSets = addressSets ?? other.addressSets
    }
}

extension RuleTerm {
    /// The terms in the order of the manual. It has the keys of the daemon's own answers before `laterRows`.
    package static let rows: [RuleTerm] = [
        RuleTerm("stands-in", \.standsIn, word, exclusion: .never, decides: .cachedAnswers),
        RuleTerm("order", \.order, word, decides: .cachedAnswers),
        RuleTerm("family", \.family, word, decides: .cachedAnswers),
        RuleTerm("allow-private", \.allowPrivate, Syntax.truth, exclusion: false),
        RuleTerm("stale", \.stale, Syntax.truth, exclusion: false),
        RuleTerm("stale-negative", \.staleNegative, Syntax.truth, exclusion: false),
        RuleTerm("prefetch", \.prefetch, Syntax.truth, exclusion: false),
        RuleTerm("probe", \.probe, Syntax.truth, exclusion: false),
        RuleTerm("probe-ports", \.probePorts, Syntax.ports),
        RuleTerm("connect", \.connect, integer(1...65_535, "a TCP port")),
        RuleTerm("min-ttl", \.minTTL, Syntax.ttl),
        RuleTerm("max-ttl", \.maxTTL, Syntax.ttl),
        RuleTerm("fallback-addresses", \.fallbackAddresses, addresses),
        RuleTerm("expect", \.expectation, Syntax.expectation, decides: .acceptance),
        RuleTerm("prefer-addresses", \.preferAddresses, Syntax.prefixes),
    ]

    package static let laterRows: [RuleTerm] = [
        RuleTerm("nftset", \.addressSets, Syntax.addressSets)
    ]
}
