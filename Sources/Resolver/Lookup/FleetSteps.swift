// What other members of a fleet decide for a fetch: one has the answer, or together they have used the budget up.

package import DNSWire

extension Resolver {
    mutating func fetchShared(_ id: FetchID, _ answer: Answer, now: Instant) {
        guard let number = lookupOfFetch[id] else { return }
        change(number, now: now) { $0.fetchShared(id, answer, now: now, &$1) }
    }

    /// Returns a provider's answer as other machines may have it: what no network of theirs decides. Verdicts of probes
    /// are not part of it: what cannot be reached from here may be reached from there. Nil if it is of no use for them.
    package func shareable(_ question: Question, _ answer: Answer, from provider: ProviderID) -> Answer? {
        let policy = routing.policy(for: question)
        guard state.isSettled, answer.kind != .ambiguousEmpty, answer.ttlSeconds > 0, state.ranking.knows(provider),
            state.contradiction(in: answer, to: question, policy, from: .provider(provider)) == nil
        else { return nil }
        return policy.withoutPrivateAddresses(answer)
    }

    mutating func fetchDeferred(_ id: FetchID, until end: Instant, now: Instant) {
        guard let number = lookupOfFetch[id], let question = lookups[number]?.question else { return }
        change(number, now: now) { $0.fetchDeferred(id, until: end, now: now, &$1) }
        if numberOfQuestion[question] == nil, isPlanned(question) { plan.deferred(question, until: end) }
    }

    /// Queries per second of this machine's clients; nil for a question that was not asked lately.
    package func demand(for question: Question, now: Instant) -> Double? { plan.demand(for: question, now: now) }
}

extension Lookup {
    mutating func fetchShared(_ id: FetchID, _ answer: Answer, now: Instant, _ state: inout ResolverState) {
        guard let index = running.firstIndex(where: { $0.id == id }) else { return }
        var attempt = running.remove(at: index)
        attempt.isMeasured = false
        state.end(attempt, isHeard: true, now: now)
        answered(attempt, answer, now: now, &state)
        proceed(now: now, &state)
    }

    /// The request was not made. A refresh waits for the budget; a client gets the answer of another upstream, and the
    /// provider is its last resort.
    mutating func fetchDeferred(_ id: FetchID, until end: Instant, now: Instant, _ state: inout ResolverState) {
        guard let index = running.firstIndex(where: { $0.id == id }) else { return }
        let attempt = running.remove(at: index)
        state.end(attempt, isHeard: false, now: now)
        guard let provider = attempt.provider else { return }
        state.ranking.overBudget(provider, until: end)
        if isRefresh, waiters.isEmpty { return leaveNetwork(now: now, &state) }
        providers.spare(provider, now: now)
        proceed(now: now, &state)
    }
}
