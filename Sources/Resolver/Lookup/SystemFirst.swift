// Order `system-first`: the system resolver's answer is given at once, and certificates judge it. Providers are asked
// if the system resolver fails or is slow, or if a verdict speaks against its answer.

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

/// What verdicts say about a system resolver's answer that would be given before a provider is asked.
enum FirstAnswerStanding {
    /// Nothing speaks against it.
    case believed
    /// Another source must be heard first: forged before, or "no such name" for a name that was verified.
    case unproven
    /// All its addresses are mismatched or unreachable.
    case condemned
}

/// How quickly the system resolver answers if it is asked first, and whether it answers at all.
struct SystemPace {
    private var latency = LatencyEstimate()
    private var silentUntil: Instant?

    mutating func answered(after elapsed: Duration, now: Instant) {
        latency.measure(elapsed, now: now)
        silentUntil = nil
    }

    mutating func failed(now: Instant) { silentUntil = now + Bounds.systemSilentPause }

    /// A provider answered before it.
    mutating func overtaken(after elapsed: Duration, now: Instant) {
        if elapsed >= Bounds.systemLeadFloor { failed(now: now) }
    }

    /// Whether it did not answer lately. A provider that is asked before its answer is then no hedge.
    func isSilent(_ now: Instant) -> Bool { silentUntil.map { now < $0 } ?? false }

    /// Time for which only the system resolver is asked: four times its usual latency.
    func lead(_ now: Instant) -> Duration {
        if isSilent(now) { return Bounds.systemLeadWhileSilent }
        guard let expected = latency.expectedAnswerTime else { return Bounds.systemLeadCeiling }
        let usual = Duration.milliseconds(expected) * Bounds.systemHedgeFactor
        return min(max(usual, Bounds.systemLeadFloor), Bounds.systemLeadCeiling)
    }
}

extension ResolverState {
    func orderInForce(_ name: Name, _ policy: NamePolicy, now: Instant) -> OrderInForce {
        guard policy.order == .systemFirst else { return .providersFirst }
        if policy.expectation != nil, let until = contradicting.systemForgedUntil(name, now: now) {
            return .contradicted(until: until)
        }
        let order = verification.systemStanding(name, now: now)
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
        let order = state.orderInForce(question.name, policy, now: now)
        var route = routing.route(
            question, policy, charged: charged, systemLead: order.isSystemFirst ? state.systemPace.lead(now) : nil,
            &state.ranking, now: now)
        if !state.systemPace.isSilent(now) { route.hedgeSystem(patience: policy.systemPatience, state.ranking) }
        return route
    }
}

extension Lookup {
    /// The answer of the source is given by choice, before a provider is asked.
    func isAskedFirst(_ source: Source) -> Bool { isSystemFirst && source == .system }

    /// The system resolver is asked first and has not replied yet.
    var awaitsFirstSystemAnswer: Bool {
        guard isSystemFirst else { return false }
        return switch system {
        case .waiting, .running: true
        case .absent, .answered, .failed: false
        }
    }

    /// Gives the system resolver's answer at once, or asks the providers if it is not believed.
    mutating func heardFirst(_ attempt: Attempt, _ answer: Answer, now: Instant, _ state: inout ResolverState) {
        switch state.verification.standing(of: answer, to: question, now: now) {
        case .condemned:
            state.verification.heard(question, answer, from: .system, policy.probes, now: now)
            leadsNowhere(attempt, answer, now: now, &state)
        case .believed where answer.kind == .records || !hasProvidersRecords:
            finish(with: policy.cache.applied(to: answer), from: .system, now: now, &state)
        case .believed, .unproven:
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
