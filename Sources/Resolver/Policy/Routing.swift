// Selects and orders the upstreams for a question by settings, the operator's switch, the hosts file and the providers'
// state.

import DNSWire
import PublicSuffix

struct Routing {
    var policy = Policy()
    var hasSystem = false
    var hosts = HostsTable.empty
    /// Names that the operator has temporarily excluded from the providers, and until when; nil for no end.
    var switchedOff: [Name: Instant?] = [:]

    /// Replaces the settings. Keeps the portal's names and the NAT64 prefixes, which are not settings.
    mutating func set(_ new: Policy) {
        let (exceptions, prefixes) = (policy.exceptions, policy.translationPrefixes)
        policy = new
        policy.exceptions = exceptions
        policy.translationPrefixes = prefixes
    }

    /// Returns the route of special names and of names that a rule answers, which precedes any upstream.
    func place(of question: Question) -> LocalNames.Route {
        guard policy.rules.hasAnswers else { return LocalNames.route(question, hosts) }
        let route = LocalNames.route(question, hosts)
        if case .here = route { return route }
        return policy.ruleAnswer(for: question.name).map { .here($0.reply(to: question)) } ?? route
    }

    /// Whether neither /etc/hosts nor a special name precedes the answer of a rule.
    func isPlacedByRule(_ question: Question) -> Bool {
        if case .here = LocalNames.route(question, hosts) { false } else { true }
    }

    /// Returns the route of a question. While all providers fail and the system resolver can stand in, one request at a
    /// time tests whether a provider has recovered. An outage must not delay every name, nor flood the provider at its
    /// return.
    ///
    /// - Parameters:
    ///   - charged: the provider whose budget was charged for the question. It goes first unless it is failing.
    ///   - systemLead: as in `Lookup.Route`, if there is a system resolver; nil: the providers go first.
    func route(
        _ question: Question, _ policy: NamePolicy, charged: ProviderID? = nil, systemLead: Duration? = nil,
        _ ranking: inout UpstreamRanking, now: Instant
    ) -> Lookup.Route {
        let upstreams = upstreams(for: question, policy, ranking, now: now)
        let throttled = ranking.throttled(for: question.type, among: upstreams, now: now).filter {
            !ranking.unserved.isPaused(question.name, at: $0, now)
        }
        var order: [ProviderID] = []
        switch upstreams {
        case .system: break
        case .providers, .owners, .nameserver: order = ranking.choose(for: question.type, among: upstreams, now: now)
        case .provider(let only):
            let isAsked =
                throttled.isEmpty && ranking.state(of: only, now: now) != .blocked
                && ranking.mayAsk(only, for: question.type, among: upstreams)
            order = isAsked ? [only] : []
        }
        order.removeAll { ranking.unserved.isPaused(question.name, at: $0, now) }
        if let charged, let index = order.firstIndex(of: charged), !ranking.isInTrouble(charged, now),
            upstreams.isOwner(charged) == upstreams.isOwner(order[0])
        {
            order.insert(order.remove(at: index), at: 0)
        }
        let lead = hasSystem && upstreams != .system ? systemLead : nil
        let hasSystem = hasSystem && (upstreams == .system || lead != nil || policy.standsIn != .never)
        // A trial tests whether a failed provider has recovered. The trial waits for it no longer than other lookups
        // do.
        let working = order.filter { !ranking.isInTrouble($0, now) && !ranking.mayBeBack($0, now) }
        let inTrouble = working.isEmpty
        let onTrial = inTrouble && hasSystem ? order.filter { ranking.isOnTrial($0, now) } : []
        return Lookup.Route(
            providers: onTrial.isEmpty ? order : order.filter { !onTrial.contains($0) }, trialPending: onTrial,
            trialPatience: onTrial.map { ranking.hedgeDelay($0) }.max() ?? .zero, throttled: throttled,
            overQuota: throttled.filter { ranking.isOverQuota($0, now) }, upstreams: upstreams,
            hasSystem: hasSystem, systemLead: lead, inTrouble: inTrouble,
            isUnresponsive: order.count == 1
                && ranking.areUnresponsive(working, for: question.name.registrableDomain, now),
            slowestAnswerTime: ranking.slowestAnswerTime(of: working.prefix(Bounds.maxProviderAttempts)))
    }

    /// Returns the upstreams that the settings allow for the name and that exist.
    func upstreams(
        for question: Question, _ policy: NamePolicy, _ ranking: UpstreamRanking, now: Instant
    ) -> NameUpstreams {
        direction(of: question, policy, ranking, now: now).upstreams
    }

    /// The same, with the reason.
    func direction(
        of question: Question, _ policy: NamePolicy, _ ranking: UpstreamRanking, now: Instant
    ) -> Direction {
        guard !policy.upstreams.isNameserver else { return policy.direction }
        guard place(of: question) == .anywhere else { return Direction(upstreams: .system, grounds: .specialName) }
        guard switchedOff.covering(question.name, now: now) == nil else {
            return Direction(upstreams: .system, grounds: .switchedOff)
        }
        let isServed =
            switch policy.upstreams {
            case .system, .nameserver: true
            case .providers, .owners: ranking.serves(question.type, among: policy.upstreams)
            case .provider(let only): ranking.traits(of: only)?.supports(question.type) ?? false
            }
        guard isServed else {
            // The types that providers do not support belong to the system resolver, but the name may not.
            let isKept = policy.standsIn == .never && policy.upstreams != .providers
            return Direction(upstreams: isKept ? policy.upstreams : .system, grounds: .noProvider)
        }
        return policy.direction
    }
}
