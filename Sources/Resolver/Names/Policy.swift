// The settings for answers, resolved to one policy per name: upstreams, cache limits, prefetching, serve-stale and
// probes.

package import DNSWire

package struct Policy: Equatable, Sendable {
    package var cache = CachePolicy(minTTLSeconds: 0, maxTTLSeconds: 86_400, negativeMaxTTLSeconds: 600)
    package var stale = StalePolicy()
    package var prefetches = true
    /// Names whose addresses are refreshed whether in use or not.
    package var kept: [Name] = []
    /// Digest of the parameters and client subnets that providers get. After a change the cache serves another
    /// partition.
    package var partition: UInt32 = 0
    /// Time from the question for which the system resolver's answer waits while providers are late, from 0 to 4 s. RFC
    /// 8767 section 5 uses 1.8 s for the same choice. It is neither short nor learned: a network that forges answers is
    /// fast, and must not win because a provider is late once. The price is this wait in the first second of an outage.
    package var systemPatience: Duration = .milliseconds(1800)
    package var probes = ProbePolicy()
    package var standsIn = StandInPolicy.unreachable
    package var blockedAnswer = BlockedAnswer.noSuchName
    package var order = UpstreamOrder.providersFirst
    package var comparison = NameComparison.never
    package var rules = RuleTable([])
    package var accounts = AccountTable([])
    /// The providers for names that may go to any provider; nil: all without names of their own.
    package var providers: [ProviderID]?
    /// The clients with a policy of their own.
    package var views: [ClientView] = []
    /// The links of names whose rule sends them to their link.
    package var links = LinkRoutes.none
    /// Names without a rule that selects an upstream go to the system resolver.
    package var onlyListed = false
    /// No name goes to a provider.
    package var isSystemOnly = false
    /// Zones whose names are answered from local names alone.
    package var localZones = LocalZones.none
    /// Portal names, set while a captive portal is suspected. Only the system resolver answers them, and its answers
    /// are not cached.
    var exceptions: PortalNames?
    /// NAT64 prefixes of the network in use.
    var nat64Prefixes: [NAT64Prefix] = []

    package init() {}

    /// Returns the upstreams that the settings allow for a name.
    package func upstreams(for name: Name) -> NameUpstreams {
        direction(of: name, rules.rule(for: name), account(of: name)).upstreams
    }

    /// The names whose answers are accepted under terms only, with all names below them: answers must meet an
    /// expectation, or come from a nameserver. With a list of such names, the root.
    package var namesWithAcceptanceTerms: [Name] {
        rules.hasListsWithAcceptanceTerms ? [.root] : rules.namesWithAcceptanceTerms
    }

    /// A digest of the terms of acceptance, equal in every process; nil if there are none.
    ///
    /// - Parameter nameserver: returns a text for a nameserver; nil for one that does not exist.
    package func acceptanceDigest(_ nameserver: (NameserverID?) -> String) -> String? {
        let terms = rules.acceptanceTerms(nameserver)
        guard !terms.isEmpty else { return nil }
        var digest = StableDigest()
        digest.add(Array(terms.joined(separator: "\n").utf8))
        return String(digest.value, radix: 16)
    }

    /// Returns whether answers for the name that were accepted under the other policy may differ from answers under
    /// this one.
    package func mayDiffer(from other: Policy, for name: Name) -> Bool {
        answerTerms(of: name) != other.answerTerms(of: name)
            || localZones != other.localZones && localZone(of: name) != other.localZone(of: name)
            || views.indices.contains { views[$0].mayDiffer(fromThatOf: other, for: name) }
    }

    private func answerTerms(of name: Name) -> AnswerTerms { of(name).answerTerms(answer: ruleAnswer(for: name)) }

    /// Returns scopes that contain every name with other upstreams, substitutes, order, family, expectations or
    /// answers under the two policies. They may contain other names too. Names of lists are left out (`listsDiffer`):
    /// there may be millions.
    package func answersDiffering(from other: Policy) -> [QuestionScope] {
        guard onlyListed == other.onlyListed, isSystemOnly == other.isSystemOnly, order == other.order,
            standsIn == other.standsIn, providers == other.providers, blockedAnswer == other.blockedAnswer
        else { return [.everything] }
        let names =
            rules.namesDiffering(from: other.rules) + links.domainsDiffering(from: other.links)
            + localZones.differing(from: other.localZones)
        return names.map { QuestionScope($0, includesDescendants: true) }
            + accounts.scopesDiffering(from: other.accounts)
            + viewsInCommon(with: other).flatMap { $0.answersDiffering(from: $1) }
    }

    /// Whether names of lists may differ as in `answersDiffering`.
    package func listsDiffer(from other: Policy) -> Bool {
        rules.listsDiffer(from: other.rules)
            || viewsInCommon(with: other).contains { $0.listsDiffer(from: $1) }
    }

    /// Changes this policy and those of the views.
    mutating func changeAll(_ change: (inout Policy) -> Void) {
        change(&self)
        for index in views.indices { change(&views[index].policy) }
    }

    /// The upstreams for names that may go to any provider.
    var ordinary: NameUpstreams { providers.map { .owners($0, isExclusive: true) } ?? .providers }

    /// Returns the account match that applies to a name. A rule that names an upstream precedes it if its match is at
    /// least as long.
    func account(of name: Name) -> AccountTable.Match? {
        guard let match = accounts.match(for: name) else { return nil }
        guard let exception = rules.exception(for: name) else { return match }
        return exception.wire.count < match.scope.name.wire.count ? match : nil
    }

    /// Returns the link that a rule sends the name to; nil without such a rule or link.
    func link(of name: Name) -> (domain: Name, owner: LinkRoutes.Owner)? {
        rules.rule(for: name)?.upstreams == .link ? links.owner(of: name) : nil
    }

    /// Whether a link has no claim to a domain, because the operator has decided about it by other means. A tunnel,
    /// which the operator starts, precedes all of them except a local zone, if its domain is longer.
    package func isReserved(_ domain: Name, isOfTunnel: Bool) -> Bool {
        if localZones.zone(of: domain) != nil { return true }
        guard !isOfTunnel else { return false }
        let rule = rules.rule(for: domain)
        return accounts.match(for: domain) != nil || rule?.answer != nil
            || rule?.upstreams.map { $0 != .link } ?? false
    }

    private func direction(of name: Name, _ rule: Rule?, _ account: AccountTable.Match?) -> Direction {
        if account == nil, let upstreams = rule?.upstreams, upstreams.areFinal {
            return Direction(upstreams: links.upstreams(upstreams, of: name), grounds: .rule)
        }
        if isSystemOnly { return keptFromProviders(rule, .systemOnly) }
        if let account { return Direction(upstreams: account.upstreams, grounds: .account) }
        if onlyListed, rule?.upstreams == nil { return keptFromProviders(rule, .notListed) }
        guard let upstreams = rule?.upstreams else { return Direction(upstreams: ordinary, grounds: .ordinary) }
        return Direction(upstreams: upstreams == .providers ? ordinary : upstreams, grounds: .rule)
    }

    /// The direction of a name that may not go to providers. The system resolver does not filter: clients of a view
    /// with providers of its own are sent there only by a rule.
    func keptFromProviders(_ rule: Rule?, _ grounds: RouteGrounds) -> Direction {
        guard providers != nil, rule?.upstreams != .system else {
            return Direction(upstreams: .system, grounds: grounds)
        }
        return Direction(upstreams: .nothing(.noneOfView), grounds: grounds)
    }

    /// Names of an account, and of a rule with a provider, are asked of that provider first. An order in the rule has
    /// precedence.
    private func order(by terms: RuleTerms, _ upstreams: NameUpstreams) -> UpstreamOrder {
        switch upstreams {
        case .system, .nameserver, .nothing: .providersFirst
        case ordinary: terms.order ?? order
        case .provider, .owners, .providers: terms.order ?? .providersFirst
        }
    }

    func of(_ name: Name) -> NamePolicy { special(name) ?? ordinaryNames }

    /// The policy of names about which no rule, account or portal decides.
    var ordinaryNames: NamePolicy { policy(by: nil, direction(of: .root, nil, nil)) }

    /// Returns the policy of a name about which a rule, an account or a suspected portal decides; nil for any other.
    func special(_ name: Name) -> NamePolicy? {
        guard !rules.isEmpty || !accounts.isEmpty || exceptions != nil else { return nil }
        let (rule, account) = (rules.rule(for: name), account(of: name))
        let isPortals = exceptions?.cover(name) ?? false
        guard rule != nil || account != nil || isPortals else { return nil }
        let direction = direction(of: name, rule, account)
        if isPortals, !direction.upstreams.areFinal, let exceptions {
            return NamePolicy(ofPortalNames: stale, allowsPrivate: exceptions.mayBePrivate(name), nat64Prefixes)
        }
        return policy(by: rule, direction)
    }

    private func policy(by found: Rule?, _ direction: Direction) -> NamePolicy {
        let isFinal = direction.upstreams.areFinal
        var terms = found?.terms ?? RuleTerms()
        // Names inside a network often have certificates of an authority of their own.
        if isFinal, terms.connect == nil { terms.probe = terms.probe ?? false }
        let limits = Freshness.Limits(
            maxAgeSeconds: terms.stale ?? true ? stale.maxAgeSeconds : 0, allowsNegative: terms.staleNegative ?? false)
        let order = order(by: terms, direction.upstreams)
        // A name that goes to the system resolver for another reason than a rule, such as its type, keeps the filter.
        let allowsPrivate = terms.allowPrivate ?? (found?.upstreams == .system || isFinal)
        return NamePolicy(
            direction: direction, terms: terms, standsIn: isFinal ? .never : terms.standsIn ?? standsIn,
            order: order, systemPatience: systemPatience,
            allowsPrivate: allowsPrivate ? true : nil, blockedAnswer: blockedAnswer, cache: cache.with(terms),
            limits: limits, stale: stale, prefetches: terms.prefetch ?? prefetches,
            probes: ProbeTerms(probes, terms, order: order, nat64Prefixes: nat64Prefixes))
    }
}

/// Limits for serving expired answers. The defaults are those of RFC 8767 section 5.
package struct StalePolicy: Equatable, Sendable {
    /// Seconds after the expiry during which an answer may be served stale; 0: never.
    package var maxAgeSeconds: UInt32 = 86_400
    /// TTL of an expired answer in a reply.
    package var answerTTLSeconds: UInt32 = 30
    /// Time for which the upstreams may answer before the expired answer is served, whose addresses may be obsolete. A
    /// failure is remembered (`recheck`), so only the first client waits.
    package var clientTimeout: Duration = .milliseconds(1800)
    /// Time after the failure of every upstream during which the expired answer is served at once.
    package var recheck: Duration = .seconds(30)
    /// Longest time for which a last known good answer is given although an upstream denies it; zero: never. After its
    /// expiry, an answer is the last known good one for as long.
    package var lastKnownGood: Duration = .seconds(600)

    package init() {}
}

/// TTL limits of the settings, applied to upstream answers.
package struct CachePolicy: Equatable, Sendable {
    package let minTTLSeconds: UInt32
    package let maxTTLSeconds: UInt32
    package let negativeMaxTTLSeconds: UInt32

    package init(minTTLSeconds: UInt32, maxTTLSeconds: UInt32, negativeMaxTTLSeconds: UInt32) {
        self.minTTLSeconds = minTTLSeconds
        self.maxTTLSeconds = maxTTLSeconds
        self.negativeMaxTTLSeconds = negativeMaxTTLSeconds
    }

    package func applied(to answer: Answer) -> Answer {
        switch answer.kind {
        case .records: answer.withTTL(from: minTTLSeconds, to: maxTTLSeconds)
        case .noData, .noSuchName, .ambiguousEmpty:
            answer.withTTL(from: minTTLSeconds, to: min(maxTTLSeconds, negativeMaxTTLSeconds))
        }
    }

    /// Returns the limits with those of the rule in place of them.
    fileprivate func with(_ terms: RuleTerms) -> CachePolicy {
        CachePolicy(
            minTTLSeconds: terms.minTTL?.unsignedSeconds ?? minTTLSeconds,
            maxTTLSeconds: terms.maxTTL?.unsignedSeconds ?? maxTTLSeconds,
            negativeMaxTTLSeconds: negativeMaxTTLSeconds)
    }
}

/// The upstreams of a question, and why it goes to them.
struct Direction: Sendable {
    let upstreams: NameUpstreams
    let grounds: RouteGrounds
}

/// Why a question goes to its upstreams.
package enum RouteGrounds: Sendable {
    /// The default.
    case ordinary
    case rule
    /// The name belongs to an account.
    case account
    /// No rule lists the name, and only listed names go to providers.
    case notListed
    /// The settings send every name to the system resolver.
    case systemOnly
    /// The operator has temporarily excluded the name from the providers.
    case switchedOff
    /// A captive portal is suspected, and the name is one of those that detect it.
    case portal
    /// A special name: only the local network or the daemon knows it.
    case specialName
    /// No provider supports the record type.
    case noProvider
}

/// The settings that apply to one name. Immutable. A class, because a miss hands it on a dozen times.
final class NamePolicy: Sendable {
    /// Direction by the settings alone.
    let direction: Direction
    /// Terms of the rules for the name; those below are joined with the general settings.
    let terms: RuleTerms
    /// When the system resolver may answer in place of the providers.
    let standsIn: StandInPolicy
    let order: UpstreamOrder
    /// `Policy.systemPatience`.
    let systemPatience: Duration
    /// Private addresses in answers are accepted; nil: if the name is of the local network.
    let allowsPrivate: Bool?
    let blockedAnswer: BlockedAnswer
    let cache: CachePolicy
    let limits: Freshness.Limits
    let stale: StalePolicy
    let prefetches: Bool
    let probes: ProbeTerms

    init(
        direction: Direction, terms: RuleTerms, standsIn: StandInPolicy, order: UpstreamOrder,
        systemPatience: Duration, allowsPrivate: Bool?, blockedAnswer: BlockedAnswer, cache: CachePolicy,
        limits: Freshness.Limits, stale: StalePolicy, prefetches: Bool, probes: ProbeTerms
    ) {
        self.direction = direction
        self.terms = terms
        self.standsIn = standsIn
        self.order = order
        self.systemPatience = systemPatience
        self.allowsPrivate = allowsPrivate
        self.blockedAnswer = blockedAnswer
        self.cache = cache
        self.limits = limits
        self.stale = stale
        self.prefetches = prefetches
        self.probes = probes
    }

    var expectation: RuleExpectation? { terms.expectation }
    var family: FamilyPolicy? { terms.family }
    var upstreams: NameUpstreams { direction.upstreams }

    /// Returns whether the upstreams may give another answer under the other policy.
    func mayDiffer(from other: NamePolicy) -> Bool { answerTerms() != other.answerTerms() }

    /// - Parameter answer: the rule's answer, if it counts.
    fileprivate func answerTerms(answer: RuleAnswer? = nil) -> AnswerTerms {
        var terms = terms
        (terms.standsIn, terms.order) = (standsIn, order)
        return AnswerTerms(upstreams: upstreams, answer: answer, terms: terms)
    }

    /// Returns the expired answer ready to be served; nil if the limits forbid it.
    func usable(_ aged: AgedAnswer, now: Instant) -> ExpiredAnswer? {
        guard aged.isUsable(limits) else { return nil }
        let wholeSeconds = Int64(aged.lifetimeSeconds) + Int64(limits.maxAgeSeconds)
        return ExpiredAnswer(
            answer: aged.answer.withEveryTTL(stale.answerTTLSeconds),
            extendedError: aged.answer.responseCode == .noSuchName ? .staleNoSuchName : .staleAnswer,
            usableUntil: now + .milliseconds(wholeSeconds * 1000 - aged.ageMilliseconds), sourceRank: aged.sourceRank)
    }

    /// Returns the operator's fallback addresses, used when every upstream and every expired answer has failed. Nil for
    /// types other than A and AAAA. Returns "no data" for a family without an address, because musl treats the failure
    /// of one family as that of both.
    func fallback(for question: Question) -> Answer? {
        guard let fallbackAddresses = terms.fallbackAddresses, question.type.isAddress else { return nil }
        let records = fallbackAddresses.filter { $0.recordType == question.type }.map {
            ResourceRecord(owner: question.name, address: $0, ttlSeconds: Bounds.fallbackTTLSeconds)
        }
        let answer =
            records.isEmpty
            ? .nothing(.noData, inZone: question.name, ttlSeconds: Bounds.fallbackTTLSeconds)
            : Answer(records: records)
        return answer.remarked(.fallbackAddresses)
    }
}

extension NamePolicy {
    /// Creates the policy of portal names. With TTL 0 no answer is cached. There are no probes, as a portal has no
    /// certificate for the name.
    fileprivate convenience init(ofPortalNames stale: StalePolicy, allowsPrivate: Bool, _ prefixes: [NAT64Prefix]) {
        self.init(
            direction: Direction(upstreams: .system, grounds: .portal), terms: RuleTerms(), standsIn: .unreachable,
            order: .providersFirst, systemPatience: .zero, allowsPrivate: allowsPrivate, blockedAnswer: .noSuchName,
            cache: CachePolicy(minTTLSeconds: 0, maxTTLSeconds: 0, negativeMaxTTLSeconds: 0),
            limits: Freshness.Limits(maxAgeSeconds: 0, allowsNegative: false), stale: stale, prefetches: false,
            probes: ProbeTerms(ProbePolicy(), RuleTerms(), nat64Prefixes: prefixes))
    }
}
