// Order `system-first`: the system resolver's answer is given at once, and certificates judge it. Providers are asked
// if the system resolver fails or is slow, or if probes find its answer mismatched or unreachable.

package import DNSWire

/// How the order applies to one name at present.
package enum OrderInForce: Equatable, Sendable {
    /// The setting.
    case providersFirst
    /// The system resolver is asked first.
    ///
    /// - Parameter isVerified: a probe has verified its latest answer.
    case systemFirst(isVerified: Bool)
    /// The providers go first until this instant: the system resolver gave only mismatched addresses.
    case forged(until: Instant)
    /// The same: its answer contradicted the rule for the name.
    case contradicted(until: Instant)
    /// Its answer was forged earlier. It is asked first, and must be verified before it is given again.
    case onProbation
    /// The providers go first: the system resolver has forged answers about several registrable domains.
    case mistrusted

    var isSystemFirst: Bool {
        switch self {
        case .systemFirst, .onProbation: true
        case .providersFirst, .forged, .contradicted, .mistrusted: false
        }
    }
}

/// Whether a system resolver's answer may be given before a provider is asked.
enum FirstAnswerStanding {
    case usable
    /// A provider is asked first: the system resolver forged the name before, or answers "no such name" for a name with
    /// a verified address.
    case needsProvider
    /// All its addresses are mismatched or unreachable.
    case unusable
}

/// How quickly the system resolver answers if it is asked first, and whether it answers at all.
struct SystemPace {
    private var latency = LatencyEstimate()
    /// Registrable domains without an answer since the last answer, at most `Bounds.silentDomains`: the nameservers of
    /// one domain may be slow or down.
    private var silentDomains: Set<Name> = []
    private var silentAt: Instant?

    /// Any reply ends the silence. Errors come faster than answers, so only answers are measured.
    mutating func fetchFinished(_ result: FetchResult, after elapsed: Duration, now: Instant) {
        guard result.isHeard else { return }
        if case .success = result { latency.measure(elapsed, now: now) }
        silentDomains = []
    }

    /// A failure that the system resolver reported is an answer, and a shortage of slots is the daemon's own.
    mutating func failed(_ failure: FetchFailure, of domain: Name, now: Instant) {
        if failure.isUnheard { silent(domain, now: now) }
    }

    /// A provider answered before it.
    mutating func overtaken(of domain: Name, after elapsed: Duration, now: Instant) {
        if elapsed >= Bounds.systemLeadFloor { silent(domain, now: now) }
    }

    private mutating func silent(_ domain: Name, now: Instant) {
        if let silentAt, now - silentAt > Bounds.unresponsiveMemory { silentDomains = [] }
        silentAt = now
        if silentDomains.count < Bounds.silentDomains { silentDomains.insert(domain) }
    }

    /// Whether it did not answer lately. A provider that is asked before its answer is then no hedge.
    func isSilent(_ now: Instant) -> Bool {
        guard silentDomains.count >= Bounds.silentDomains, let silentAt else { return false }
        return now - silentAt < Bounds.systemSilentPause
    }

    /// Time for which only the system resolver is asked: four times its usual latency.
    func lead(_ now: Instant) -> Duration {
        if isSilent(now) { return Bounds.systemLeadWhileSilent }
        guard let expected = latency.expectedAnswerTime else { return Bounds.systemLeadCeiling }
        let usual = Duration.milliseconds(expected) * Bounds.systemHedgeFactor
        return min(max(usual, Bounds.systemLeadFloor), Bounds.systemLeadCeiling)
    }
}

extension ResolverState {
    func orderInForce(for question: Question, _ policy: NamePolicy, now: Instant) -> OrderInForce {
        guard policy.order == .systemFirst else { return .providersFirst }
        if policy.expectation != nil, let until = contradicting.systemForgedUntil(question.name, now: now) {
            return .contradicted(until: until)
        }
        let order = verification.systemStanding(of: question, now: now)
        if case .systemFirst(isVerified: false) = order, systemTrust.isLost(now) { return .mistrusted }
        return order
    }

    /// Returns whether a probe is yet to judge the answer. Until then its TTL is limited, so that a forged answer is
    /// soon gone from clients.
    func awaitsVerdict(_ question: Question, _ answer: Answer, _ policy: NamePolicy, now: Instant) -> Bool {
        verification.awaitsVerdict(question, answer, policy.probes, now: now)
    }
}

extension Resolver {
    /// Returns the route of a question under the order in force for its name.
    mutating func route(
        _ question: Question, _ policy: NamePolicy, charged: ProviderID? = nil, now: Instant
    ) -> Lookup.Route {
        let order = state.orderInForce(for: question, policy, now: now)
        var route = routing.route(
            question, policy, charged: charged, systemLead: order.isSystemFirst ? state.systemPace.lead(now) : nil,
            &state.ranking, now: now)
        if !state.systemPace.isSilent(now) { route.hedgeSystem(patience: policy.systemPatience, state.ranking) }
        return route
    }
}

extension Lookup {
    /// The system resolver is asked first and has not replied yet.
    var awaitsFirstSystemAnswer: Bool {
        guard isSystemFirst else { return false }
        return switch system {
        case .waiting, .running: true
        case .absent, .answered, .failed: false
        }
    }

    /// Gives the system resolver's answer at once, or asks the providers if it may not be given.
    mutating func systemAnswered(_ attempt: Attempt, _ answer: Answer, now: Instant, _ state: inout ResolverState) {
        switch state.verification.standing(of: answer, to: question, now: now) {
        case .unusable:
            state.verification.heard(question, answer, from: .system, policy.probes, now: now)
            leadsNowhere(attempt, answer, now: now, &state)
        case .usable where answer.kind == .records || !hasProvidersRecords:
            finish(with: policy.cache.applied(to: answer), from: .system, now: now, &state)
        case .usable, .needsProvider:
            hold(systemAnswer: answer, now: now, &state)
            providers.makeNextDue(now)
        }
    }

    /// The system resolver has no usable answer. If it was asked first, the providers follow at once.
    mutating func systemFailed(now: Instant) {
        system = .failed
        if isSystemFirst { providers.makeNextDue(now) }
    }

    /// A provider's records, fresh or expired, outrank "no such name" and "no data".
    private var hasProvidersRecords: Bool {
        if let expired = expired.own { return expired.origin == .provider && !expired.answer.isNegative }
        return isRefresh && hasProviderRecords
    }
}
