// Selects and orders the upstreams for a question by settings, the operator's switch, the hosts file and the providers'
// state.

import DNSWire
import PublicSuffix

/// A question with what the settings and the local names say about its name. Valid within the event in which it is
/// made: a later one may change settings, leases or hosts files.
struct RoutedQuestion {
    let question: Question
    let policy: NamePolicy
    /// The local answer, or whether providers may get the name. It precedes any upstream. The operator's names precede
    /// the names that DHCP clients chose.
    let place: LocalNames.Route

    /// The local origin of the answer; nil: upstreams answer.
    var localOrigin: LocalOrigin? { if case .here(_, let origin) = place { origin } else { nil } }
}

struct Routing {
    var policy = Policy() {
        didSet { ordinary = ([policy] + policy.views.map(\.policy)).map(\.ordinaryNames) }
    }
    /// The policies of ordinary names, which are most: for clients without a view, and then for those of each view.
    private var ordinary = [Policy().ordinaryNames]
    var hasSystem = false
    var hosts = HostsFiles.none
    var leases = Leases.none
    /// Names that the operator has temporarily excluded from the providers, and until when; nil for no end.
    var switchedOff: [Name: Instant?] = [:]

    /// Replaces the settings. Keeps the portal's names and the NAT64 prefixes, which are not settings.
    mutating func set(_ new: Policy) {
        let (exceptions, prefixes) = (policy.exceptions, policy.nat64Prefixes)
        policy = new
        policy.changeAll {
            $0.exceptions = exceptions
            $0.nat64Prefixes = prefixes
        }
    }

    /// Returns the question with what the settings and the local names say about its name.
    func routed(_ question: Question, now: Instant) -> RoutedQuestion {
        RoutedQuestion(
            question: question, policy: policy(for: question),
            place: withPolicy(of: question) { place(of: question, by: $0, now: now) })
    }

    private func place(of question: Question, by policy: borrowing Policy, now: Instant) -> LocalNames.Route {
        let route = LocalNames.route(question, hosts)
        let hasLocalNames = !leases.isEmpty || !policy.localZones.isEmpty
        guard policy.rules.hasAnswers || hasLocalNames else { return route }
        if case .here = route { return route }
        if let (match, answer) = answeringRule(for: question.name, by: policy) {
            return .here(answer.reply(to: question), .rule(match))
        }
        guard hasLocalNames else { return route }
        let zone = policy.localZone(of: question.name)
        if let lease = lease(for: question, in: zone, now: now) {
            return .here(.answer(lease.answer), .lease(lease.place, endsAt: lease.endsAt))
        }
        return zone.map { .here(.answer(absence(of: question, in: $0, now: now)), .zone($0)) } ?? route
    }

    /// Returns the rule that answers the question, unless a hosts file or a special name precedes it.
    func answeringRule(of question: Question) -> (match: Name, answer: RuleAnswer)? {
        withPolicy(of: question) { policy in
            guard policy.rules.hasAnswers else { return nil }
            if case .here = LocalNames.route(question, hosts) { return nil }
            return answeringRule(for: question.name, by: policy)
        }
    }

    /// Returns whether a rule or a local zone keeps the question from upstreams.
    func isAnsweredHere(_ question: Question) -> Bool {
        withPolicy(of: question) { $0.isAnsweredHere(question.name) }
    }

    /// A local zone has precedence over rules of shorter and equal names, and over lists.
    private func answeringRule(for name: Name, by policy: borrowing Policy) -> (match: Name, answer: RuleAnswer)? {
        guard policy.rules.hasAnswers else { return nil }
        guard let zone = policy.localZones.zone(of: name) else { return policy.answeringRule(for: name) }
        return policy.rules.deciding(for: name, below: zone).flatMap { match, rule in
            rule.answer.map { (match, $0) }
        }
    }

    // MARK: local names

    /// Returns the answer of a lease: for its address, for the client's name in a local zone, and for the client's name
    /// alone.
    ///
    /// - Parameter zone: the local zone that has the name and keeps it.
    private func lease(for question: Question, in zone: Name?, now: Instant) -> Leases.Found? {
        guard !leases.isEmpty else { return nil }
        if question.type == .ptr { return leases.pointer(question, now: now, name: nameOfClient) }
        guard let label = labelOfClient(question, in: zone), nameOfClient(label) != nil else { return nil }
        return leases.addresses(of: label, for: question, now: now)
    }

    /// Returns the client's label; nil for a name that no client can have.
    private func labelOfClient(_ question: Question, in zone: Name?) -> Name? {
        let name = question.name
        if name.isSingleLabel {
            // The zone itself is no client, and a rule for the name has precedence.
            let isElsewhere = withPolicy(of: question) {
                $0.rules.deciding(for: name, below: .root)?.rule.upstreams != nil
            }
            return policy.localZones.zone(of: name) == nil && !isElsewhere ? name : nil
        }
        guard let zone, name.parent == zone else { return nil }
        return name.firstLabel
    }

    /// Returns the whole name of a client. Nil if a hosts file has the name, alone or in a zone, or a rule decides
    /// about it: hosts files and rules precede clients.
    private func nameOfClient(_ label: Name) -> Name? {
        let names = policy.localZones.names.compactMap { label.appending($0) }
        guard !hosts.speaks(of: label), !names.contains(where: hosts.speaks) else { return nil }
        let name = policy.localZones.ofClients.flatMap { label.appending($0) } ?? label
        let zone = policy.localZones.zone(of: name) ?? .root
        return policy.rules.deciding(for: name, below: zone) == nil ? name : nil
    }

    private func absence(of question: Question, in zone: Name, now: Instant) -> Answer {
        // A host may appear at any time.
        let nothing = { (kind: Answer.Kind) in
            Answer.nothing(kind, inZone: zone, ttlSeconds: Bounds.hostsTTLSeconds)
        }
        if question.name == zone { return question.type == .soa ? .apex(zone) : nothing(.noData) }
        let exists =
            hosts.speaks(of: question.name) || hosts.isNonTerminal(question.name)
            || leases.isNonTerminal(question.name) || hasLease(question.name, in: zone, now: now)
        return nothing(exists ? .noData : .noSuchName)
    }

    /// Returns whether a lease in force has the name, with data of another type.
    private func hasLease(_ name: Name, in zone: Name, now: Instant) -> Bool {
        [.a, .ptr].contains { lease(for: Question(name, $0), in: zone, now: now) != nil }
    }

    /// Returns the route of a question. While all providers fail and the system resolver can stand in, one request at a
    /// time tests whether a provider has recovered. An outage must not delay every name, nor flood the provider at its
    /// return.
    ///
    /// - Parameters:
    ///   - charged: the provider whose budget was charged for the question. It goes first unless it is failing.
    ///   - systemLead: as in `Lookup.Route`, if there is a system resolver; nil: the providers go first.
    func route(
        _ routed: borrowing RoutedQuestion, charged: RankedID? = nil, systemLead: Duration? = nil,
        _ ranking: UpstreamRanking, now: Instant
    ) -> Lookup.Route {
        let question = routed.question
        lazy var domain = question.name.registrableDomain
        let upstreams = direction(of: routed, ranking, now: now).upstreams
        let spared = ranking.throttled(for: question.kind, among: upstreams, now: now).filter {
            !ranking.unserved.isPaused(question.name, at: $0, now)
        }
        let usedUp = spared.filter { ranking[$0]?.isUsedUp(now) == true }
        let blocked = spared.filter { ranking[$0]?.isBlocked(now) == true && !usedUp.contains($0) }
        var order: [RankedID] = []
        switch upstreams {
        case .system: break
        case .providers, .owners, .nameserver, .nothing:
            order = ranking.choose(for: question.kind, among: upstreams, now: now)
        case .provider(let only):
            let isAsked =
                spared.isEmpty && ranking.mayAsk(.provider(only), for: question.kind, among: upstreams)
            order = isAsked ? [.provider(only)] : []
        }
        var standIns = ranking.standIns(for: question.kind, among: upstreams, now: now).filter { !order.contains($0) }
        if !ranking.unserved.isEmpty {
            order.removeAll { ranking.unserved.isPaused(question.name, at: $0, now) }
            standIns.removeAll { ranking.unserved.isPaused(question.name, at: $0, now) }
        }
        if standIns.count > Bounds.maxStandIns { standIns = Array(standIns.prefix(Bounds.maxStandIns)) }
        if let charged, let index = order.firstIndex(of: charged), !ranking.isInTrouble(charged, now),
            upstreams.isOwner(charged) == upstreams.isOwner(order[0])
        {
            order.insert(order.remove(at: index), at: 0)
        }
        let mayUseSystem = hasSystem && !upstreams.areFinal
        let lead = mayUseSystem && upstreams != .system ? systemLead : nil
        let hasSystem = mayUseSystem && (upstreams == .system || lead != nil || routed.policy.standsIn != .never)
        // A trial tests whether a failed provider has recovered. The trial waits for it no longer than other lookups
        // do.
        func isUnreached(_ provider: RankedID) -> Bool { ranking[provider]?.isUnreached(now) == true }
        let working = order.contains(where: isUnreached) ? order.filter { !isUnreached($0) } : order
        let isSilent =
            !working.isEmpty && areSilent(working, to: ShareHolder.parent(of: question.name, in: domain), ranking, now)
        let inTrouble = working.isEmpty && spared.allSatisfy { blocked.contains($0) }
        let onTrial =
            inTrouble && (hasSystem || !standIns.isEmpty) ? order.filter { ranking[$0]?.isOnTrial(now) == true } : []
        return Lookup.Route(
            providers: onTrial.isEmpty ? order : order.filter { !onTrial.contains($0) }, trialPending: onTrial,
            trialPatience: onTrial.isEmpty ? .zero : Bounds.systemPatienceInTrouble, standIns: standIns,
            throttled: spared.filter { !usedUp.contains($0) && !blocked.contains($0) }, blocked: blocked,
            usedUp: usedUp, upstreams: upstreams, hasSystem: hasSystem, systemLead: lead,
            inTrouble: inTrouble, isSilent: isSilent,
            isUnresponsive: order.count == 1 && working.count == 1
                && (isSilent || ranking[working[0]]?.isUnresponsive(for: domain, now) == true),
            slowestAnswerTime: ranking.slowestAnswerTime(of: working.prefix(Bounds.maxProviderAttempts)))
    }

    /// Whether every provider that a lookup would ask is silent to names of this parent.
    private func areSilent(
        _ providers: [RankedID], to parent: @autoclosure () -> Name, _ ranking: UpstreamRanking, _ now: Instant
    ) -> Bool {
        providers.prefix(Bounds.maxProviderAttempts).allSatisfy { ranking[$0]?.isSilent(to: parent(), now) == true }
    }

    /// Returns whether the name's upstreams serve the other address family only, and the system resolver may not answer
    /// either. Such a question gets no data, because musl treats the failure of one family as that of both.
    func isFamilyUnserved(_ routed: borrowing RoutedQuestion, _ ranking: UpstreamRanking, now: Instant) -> Bool {
        let question = routed.question
        // A system resolver that may stand in gets the question.
        guard !hasSystem || routed.policy.standsIn == .never, !ranking.isServed(question, by: routed.policy.upstreams),
            let other = question.otherFamily,
            ranking.isServed(other, by: routed.policy.upstreams)
        else { return false }
        let direction = direction(of: routed, ranking, now: now)
        return direction.grounds == .noProvider && (direction.upstreams != .system || !hasSystem)
    }

    /// Returns the upstreams that the settings allow for the name and that exist, with the reason.
    func direction(of routed: borrowing RoutedQuestion, _ ranking: UpstreamRanking, now: Instant) -> Direction {
        let question = routed.question
        if isOfFormerView(question) { return Direction(upstreams: .nothing(.removed), grounds: .rule) }
        guard !routed.policy.upstreams.areFinal else { return routed.policy.direction }
        guard routed.place == .anywhere else {
            return Direction(upstreams: .system, grounds: .specialName)
        }
        guard switchedOff.covering(question.name, now: now) == nil else {
            return withPolicy(of: question) {
                $0.keptFromProviders($0.rules.rule(for: question.name), .switchedOff)
            }
        }
        guard ranking.isServed(question, by: routed.policy.upstreams) else {
            // The types that providers do not support belong to the system resolver, but the name may not.
            let upstreams = routed.policy.upstreams
            let isKept = routed.policy.standsIn == .never && upstreams != withPolicy(of: question) { $0.ordinary }
            return Direction(upstreams: isKept ? upstreams : .system, grounds: .noProvider)
        }
        return routed.policy.direction
    }
}

extension Routing {
    /// Whether a reload has changed or removed the view of the question's clients. No upstream is asked then: only
    /// upstreams of the former view may get the question.
    func isOfFormerView(_ question: Question) -> Bool {
        question.clients.view > 0 && policy.view(of: question) == nil
    }

    /// Returns the policy for the clients and the name of a question.
    func policy(for question: Question) -> NamePolicy {
        withPolicy(of: question) { $0.special(question.name) }
            ?? ordinary[policy.index(of: question.clients).map { $0 + 1 } ?? 0]
    }

    /// Calls `use` with the policy for the clients of a question. A copy would count its many references, which costs
    /// 3 % of a miss.
    @inline(__always)
    func withPolicy<Result>(of question: Question, _ use: (borrowing Policy) -> Result) -> Result {
        guard question.clients.view > 0, let index = policy.index(of: question.clients) else { return use(policy) }
        return use(policy.views[index].policy)
    }
}
