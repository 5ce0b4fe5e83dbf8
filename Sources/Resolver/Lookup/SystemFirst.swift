// Order `system-first`: the system resolver's answer is given at once, and certificates judge it. Providers are asked
// if the system resolver fails or is slow, or if probes find its answer mismatched or unreachable.

import DNSWire

extension ResolverState {
    @inline(__always)
    func orderInForce(for question: Question, _ policy: NamePolicy, now: Instant) -> OrderInForce {
        guard policy.order == .systemFirst else { return .providersFirst }
        if policy.expectation != nil, let until = contradicting.systemForgedUntil(question.name, now: now) {
            return .contradicted(until: until)
        }
        let order = verification.systemStanding(of: question, now: now)
        if case .systemFirst(isVerified: false) = order, systemCredibility.isLost(now) { return .mistrusted }
        return order
    }

    /// Returns whether a probe is yet to judge the answer. Until then its TTL is limited, so that a forged answer is
    /// soon gone from clients.
    func awaitsVerdict(_ question: Question, _ answer: Answer, _ policy: NamePolicy, now: Instant) -> Bool {
        verification.awaitsVerdict(question, answer, policy.probes, now: now)
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
    func systemAnswered(_ attempt: Attempt, _ answer: Answer, now: Instant, _ state: inout ResolverState) {
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
    func systemFailed(now: Instant) {
        system = .failed
        if isSystemFirst { providers.makeNextDue(now) }
    }

    /// A provider's records, fresh or expired, outrank "no such name" and "no data".
    private var hasProvidersRecords: Bool {
        if let expired = expired.own { return expired.sourceRank == .provider && !expired.answer.isNegative }
        return isRefresh && hasProviderRecords
    }
}
