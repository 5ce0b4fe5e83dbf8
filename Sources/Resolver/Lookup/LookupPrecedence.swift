// Selects the answer that a lookup gives and caches, by the ranks below.

import DNSWire
import PublicSuffix

// Ranks of answers, best first:
//
//     1. a provider's answer
//     2. the system resolver's answer, if a probe has verified one of its addresses
//     3. a provider's expired answer (RFC 8767)
//     4. the system resolver's answer otherwise: unverified, "no such name" or "no data"
//     5. another network's expired answer
//
// An attacker that blocks the providers and answers in the system resolver's place cannot exceed rank 4.
extension Lookup {
    /// Whether a better answer stands: a provider's records, in the cache or held here. Then the system resolver's
    /// answer is neither given nor cached.
    func isOutranked(_ answer: Answer, _ verification: Verification) -> Bool {
        guard !verification.isVerified(question, answer) else { return false }
        if expired?.origin == .provider { return true }
        return isRefresh && hasProviderRecords && waiters.isEmpty
    }

    /// Whether no provider that the lookup waits for, or may still ask, replies to names of its domain. Throttled
    /// providers count: the lookup asks them before it serves an expired answer.
    func areProvidersUnresponsive(_ ranking: UpstreamRanking, _ now: Instant) -> Bool {
        let asked = running.compactMap { attempt -> ProviderID? in
            if case .provider(let provider) = attempt.upstream { provider } else { nil }
        }
        let all = asked + untried + trialPending + throttled
        return ranking.areUnresponsive(all, for: question.name.registrableDomain, now)
    }

    /// Whether every request to a provider has been in flight for more than twice that provider's usual answer time.
    func areRequestsOverdue(_ ranking: UpstreamRanking, _ now: Instant) -> Bool {
        running.allSatisfy { attempt in
            guard case .provider(let provider) = attempt.upstream else { return true }
            return ranking.isOverdue(provider, since: attempt.startedAt, now)
        }
    }

    /// Updates `systemIsOutranked` after an event: a probe may have verified the answer meanwhile.
    mutating func compareSystemAnswer(_ verification: Verification) {
        guard case .answered(let answer, _) = system else {
            systemIsOutranked = false
            return
        }
        systemIsOutranked = isOutranked(answer, verification)
    }

    /// Gives the system resolver's answer when the time of a lower-ranked expired answer has come.
    mutating func settleInsteadOfExpired(now: Instant, _ state: inout ResolverState) {
        compareSystemAnswer(state.verification)
        guard case .answered(let answer, let learnedAt) = system, expired != nil, expiredDueAt <= now,
            !systemIsOutranked
        else { return }
        settle(with: answer.aged(since: learnedAt, now: now), now: now, &state)
    }

    /// Holds the system resolver's answer until the providers had their time. If a better answer stands, this one is
    /// only probed, so that a verified address can replace the expired answer later.
    mutating func hold(systemAnswer answer: Answer, now: Instant, _ state: inout ResolverState) {
        let substitute = policy.cache.applied(to: answer).withTTL(to: state.substituteTTLSeconds)
        system = .answered(substitute, at: now)
        guard isOutranked(substitute, state.verification) else { return }
        state.verification.heard(
            question, substitute, from: .system, policy.probes, isDoubted: true, now: now)
    }
}
