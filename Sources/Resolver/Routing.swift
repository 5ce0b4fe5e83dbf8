// Who may be asked for a question, and in which order: by the settings, the operator's switch, the hosts file and what
// is known of the providers.

import DNSWire
import PublicSuffix

struct Routing {
    var policy = Policy()
    var hasSystem = false
    var hosts = HostsTable.empty
    /// The names that are kept from the providers for now; until when, nil for no end.
    var switchedOff: [Name: Instant?] = [:]

    /// Sets other settings; keeps the portal's names and the network's prefixes, which no setting gives.
    mutating func set(_ new: Policy) {
        let (exceptions, prefixes) = (policy.exceptions, policy.translationPrefixes)
        policy = new
        policy.exceptions = exceptions
        policy.translationPrefixes = prefixes
    }

    /// What special names have to say before anybody is asked.
    func place(of question: Question) -> LocalNames.Route { LocalNames.route(question, hosts) }

    /// While all providers are in trouble and the system resolver can stand in, one request at a time finds out whether
    /// a provider is back: an outage must not cost every name a wait, nor the provider a flood when it returns.
    ///
    /// - Parameter paid: the provider whose budget has been charged for it goes first, unless it is in trouble now.
    func route(
        _ question: Question, _ policy: NamePolicy, paid: ProviderID? = nil, _ ranking: inout UpstreamRanking,
        now: Instant
    ) -> Lookup.Route {
        let upstreams = upstreams(for: question, policy, ranking, now: now)
        var withheld = upstreams == .system ? [] : ranking.withheld(for: question.type, now: now)
        var order: [ProviderID] = []
        switch upstreams {
        case .system: break
        case .providers: order = ranking.choose(for: question.type, now: now)
        case .provider(let only):
            withheld = withheld.filter { $0 == only }
            let isAsked =
                withheld.isEmpty && ranking.state(of: only, now: now) != .blocked && !ranking.isUnreachable(only)
            order = isAsked ? [only] : []
        }
        if let paid, let index = order.firstIndex(of: paid), !ranking.isInTrouble(paid, now) {
            order.insert(order.remove(at: index), at: 0)
        }
        let hasSystem = hasSystem && (upstreams == .system || policy.standsIn != .never)
        // Somebody finds out whether one is back that failed, and is to wait no longer for it than others do.
        let working = order.filter { !ranking.isInTrouble($0, now) && !ranking.mayBeBack($0, now) }
        let inTrouble = working.isEmpty
        let onTrial = inTrouble && hasSystem ? order.filter { ranking.isOnTrial($0, now) } : []
        return Lookup.Route(
            providers: order.filter { !onTrial.contains($0) }, inReserve: onTrial,
            trialPatience: onTrial.map(ranking.hedgeDelay).max() ?? .zero, withheld: withheld, upstreams: upstreams,
            hasSystem: hasSystem, inTrouble: inTrouble,
            isUnresponsive: ranking.areUnresponsive(working, for: question.name.registrableDomain, now),
            patience: ranking.patience(of: working.prefix(Bounds.maxProviderAttempts)))
    }

    /// Who may be asked: what the settings say of the name, as far as there is somebody who can be asked.
    func upstreams(
        for question: Question, _ policy: NamePolicy, _ ranking: UpstreamRanking, now: Instant
    ) -> NameUpstreams {
        direction(of: question, policy, ranking, now: now).upstreams
    }

    /// The same with the reason.
    func direction(
        of question: Question, _ policy: NamePolicy, _ ranking: UpstreamRanking, now: Instant
    ) -> Direction {
        guard place(of: question) == .anywhere else { return Direction(upstreams: .system, grounds: .specialName) }
        guard switchedOff.covering(question.name, now: now) == nil else {
            return Direction(upstreams: .system, grounds: .switchedOff)
        }
        let isServed =
            switch policy.upstreams {
            case .system: true
            case .providers: ranking.serves(question.type)
            case .provider(let only): ranking.traits(of: only)?.supports(question.type) ?? false
            }
        return isServed ? policy.direction : Direction(upstreams: .system, grounds: .noProvider)
    }
}
