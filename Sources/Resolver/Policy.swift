// What the settings say about answers, and what that comes to for one name: how long they are kept, whether they are
// refreshed, whether they may be used after their time.

package import DNSWire

package struct Policy: Equatable, Sendable {
    package var cache = CachePolicy(minTTLSeconds: 0, maxTTLSeconds: 86_400, negativeMaxTTLSeconds: 600)
    package var stale = StalePolicy()
    package var prefetches = true
    /// While the providers are merely late, the system resolver's answer waits so long for theirs, from the question.
    /// RFC 8767 section 5 has 1.8 s for the same choice. From 0 to 4 s.
    package var systemPatience: Duration = .milliseconds(1800)
    package var probes = ProbePolicy()
    package var standsIn = StandInPolicy.unreachable
    package var rules = RuleTable([])
    /// Names without a rule go to the system resolver.
    package var onlyListed = false
    /// No name goes to a provider.
    package var isSystemOnly = false
    /// While a captive portal is suspected: the system resolver alone says where these lead, and nobody keeps it.
    var exceptions: PortalNames?
    /// NAT64 prefixes of the network in use.
    var translationPrefixes: [TranslationPrefix] = []

    package init() {}

    /// Who may be asked for a name, as far as the settings say.
    package func upstreams(for name: Name) -> NameUpstreams { direction(by: rules.rule(for: name)).upstreams }

    /// What goes elsewhere by one than by the other is all in these; not all in these does.
    package func routesDiffering(from other: Policy) -> [QuestionScope] {
        guard onlyListed == other.onlyListed, isSystemOnly == other.isSystemOnly else { return [.everything] }
        return rules.namesDiffering(from: other.rules).map { QuestionScope($0, includesDescendants: true) }
    }

    private func direction(by rule: Rule?) -> Direction {
        if isSystemOnly { return Direction(upstreams: .system, grounds: .systemOnly) }
        if onlyListed, rule == nil { return Direction(upstreams: .system, grounds: .notListed) }
        guard let upstreams = rule?.upstreams else { return Direction(upstreams: .providers, grounds: .ordinary) }
        return Direction(upstreams: upstreams, grounds: .rule)
    }

    /// Only what the operator wrote for this name, and names of the local network. A name that goes to the system
    /// resolver for any other reason, such as a type that no provider serves, keeps the filter.
    private func allowsPrivate(_ name: Name, _ rule: Rule) -> Bool {
        rule.allowPrivate ?? (rule.upstreams == .system) || LocalNames.isOfLocalNetwork(name)
    }

    func of(_ name: Name) -> NamePolicy {
        if let exceptions, exceptions.cover(name) {
            return NamePolicy(ofPortalNames: stale, allowsPrivate: exceptions.mayBePrivate(name), translationPrefixes)
        }
        let found = rules.rule(for: name)
        let rule = found ?? Rule()
        let limits = Freshness.Limits(
            maxAgeSeconds: rule.stale ?? true ? stale.maxAgeSeconds : 0, allowsNegative: rule.staleNegative ?? false)
        return NamePolicy(
            direction: direction(by: found), standsIn: rule.standsIn ?? standsIn, systemPatience: systemPatience,
            allowsPrivate: allowsPrivate(name, rule), cache: cache.with(rule),
            limits: limits, stale: stale, prefetches: rule.prefetch ?? prefetches,
            probes: ProbeTerms(probes, rule, translationPrefixes: translationPrefixes),
            fallbackAddresses: rule.fallbackAddresses)
    }
}

/// RFC 8767 section 5, whose values are the defaults.
package struct StalePolicy: Equatable, Sendable {
    /// Counted from the expiry; 0: never.
    package var maxAgeSeconds: UInt32 = 86_400
    /// The TTL that an expired answer is given with.
    package var answerTTLSeconds: UInt32 = 30
    /// So long the upstreams have to answer first.
    package var clientTimeout: Duration = .milliseconds(1800)
    /// When every upstream has failed, the expired answer is given at once for so long.
    package var recheck: Duration = .seconds(30)

    package init() {}
}

/// The settings' limits, applied to what upstreams say.
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
        case .noData, .noSuchName, .unprovenEmpty:
            answer.withTTL(from: minTTLSeconds, to: min(maxTTLSeconds, negativeMaxTTLSeconds))
        }
    }

    /// What a rule says of a limit replaces it.
    fileprivate func with(_ rule: Rule) -> CachePolicy {
        CachePolicy(
            minTTLSeconds: rule.minTTLSeconds ?? minTTLSeconds, maxTTLSeconds: rule.maxTTLSeconds ?? maxTTLSeconds,
            negativeMaxTTLSeconds: negativeMaxTTLSeconds)
    }
}

/// Where a question goes, and why.
struct Direction {
    let upstreams: NameUpstreams
    let grounds: RouteGrounds
}

/// Why a question goes where it goes.
package enum RouteGrounds: Sendable {
    /// Nothing says otherwise.
    case ordinary
    case rule
    /// No rule lists the name, and only those go to providers.
    case notListed
    /// The settings keep every name from the providers.
    case systemOnly
    /// The operator keeps it from the providers for now.
    case switchedOff
    /// A portal may stand in the way, and it is one of the names that find that out.
    case portal
    /// It is known to the local network alone, or to ourselves.
    case specialName
    /// No provider can be asked for such a record.
    case noProvider
}

/// All that concerns one name.
struct NamePolicy {
    /// As far as the settings say.
    let direction: Direction
    /// When the system resolver may answer in place of the providers.
    let standsIn: StandInPolicy
    /// As in `Policy`.
    let systemPatience: Duration
    /// Private addresses are taken for what they say.
    let allowsPrivate: Bool
    let cache: CachePolicy
    let limits: Freshness.Limits
    let stale: StalePolicy
    let prefetches: Bool
    let probes: ProbeTerms
    let fallbackAddresses: [Address]

    var upstreams: NameUpstreams { direction.upstreams }

    /// Nil when it may not be used.
    func usable(_ aged: AgedAnswer, now: Instant) -> ExpiredAnswer? {
        guard aged.isUsable(limits) else { return nil }
        let wholeSeconds = Int64(aged.lifetimeSeconds) + Int64(limits.maxAgeSeconds)
        return ExpiredAnswer(
            answer: aged.answer.withEveryTTL(stale.answerTTLSeconds),
            extendedError: aged.answer.responseCode == .noSuchName ? .staleNoSuchName : .staleAnswer,
            usableUntil: now + .milliseconds(wholeSeconds * 1000 - aged.ageMilliseconds), origin: aged.origin)
    }

    /// What is left when every upstream and every expired answer has failed: the operator's own addresses. Nil for
    /// types that no address answers; "no data" for the family of which there is none, since musl takes the failure of
    /// one family for that of both.
    func fallback(for question: Question) -> Answer? {
        guard !fallbackAddresses.isEmpty, question.type.isAddress else { return nil }
        let records = fallbackAddresses.filter { $0.recordType == question.type }.map {
            ResourceRecord(owner: question.name, address: $0, ttlSeconds: Bounds.fallbackTTLSeconds)
        }
        let answer =
            records.isEmpty
            ? Answer(negative: .noData, ttlSeconds: Bounds.fallbackTTLSeconds) : Answer(records: records)
        return answer.remarked(.fallbackAddresses)
    }
}

extension NamePolicy {
    /// TTL 0 is never kept. No certificate is expected of a portal.
    fileprivate init(ofPortalNames stale: StalePolicy, allowsPrivate: Bool, _ prefixes: [TranslationPrefix]) {
        self.init(
            direction: Direction(upstreams: .system, grounds: .portal), standsIn: .unreachable, systemPatience: .zero,
            allowsPrivate: allowsPrivate,
            cache: CachePolicy(minTTLSeconds: 0, maxTTLSeconds: 0, negativeMaxTTLSeconds: 0),
            limits: Freshness.Limits(maxAgeSeconds: 0, allowsNegative: false), stale: stale, prefetches: false,
            probes: ProbeTerms(ProbePolicy(), Rule(), translationPrefixes: prefixes), fallbackAddresses: [])
    }
}
