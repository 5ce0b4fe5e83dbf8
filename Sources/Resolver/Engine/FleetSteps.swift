// The other members' decisions about a fetch: one has the answer, or all together have used up the budget.

package import DNSWire

extension Resolver {
    mutating func fetchShared(_ id: FetchID, _ answer: Answer, now: Instant) {
        guard let number = number(of: id), let lookup = lookups[number] else { return }
        let provider = lookup.provider(sent: id)
        change(number, now: now) { $0.fetchShared(id, answer, now: now, &$1) }
        if let provider { volunteered(lookup.question, answer, provider, now: now) }
    }

    /// Returns a provider's answer without private addresses, before the verdicts of probes, which each member makes
    /// itself; a block as the provider gave it. Nil while the network is changing, for an unknown provider, with TTL 0,
    /// and for an answer that is ambiguous or contradicts the settings.
    package func shareable(_ question: Question, _ answer: Answer, from provider: ProviderID) -> Answer? {
        let policy = routing.policy(for: question)
        guard state.isStable, answer.kind != .ambiguousEmpty, answer.ttlSeconds > 0,
            state.ranking[.provider(provider)] != nil
        else { return nil }
        let judgement = policy.judged(answer, to: question, from: .provider(provider), state.ranking)
        return if case .blocked = judgement { answer } else { judgement.usable }
    }

    /// Forgets answers, and repeats the lookups in flight.
    mutating func flush(_ scope: QuestionScope, now: Instant) {
        forget(scope, now: now)
        for number in lookups.indices {
            guard let question = lookups[number]?.question, scope.contains(question) else { continue }
            change(number, now: now) { $0.leaveNetwork(now: now, &$1) }
            startAnew(number, on: changeEnd(now) == nil ? .same : .inDoubt, now: now)
        }
    }

    mutating func fetchAwaitsFleet(_ id: FetchID, now: Instant) {
        guard let number = number(of: id) else { return }
        change(number, now: now) { $0.holdBack(id, now: now, &$1) }
    }

    mutating func fetchSent(_ id: FetchID, now: Instant) {
        guard let number = number(of: id) else { return }
        change(number, now: now) { $0.fetchSent(id, now: now, &$1) }
    }

    mutating func fetchDeferred(_ id: FetchID, until end: Instant, now: Instant) {
        guard let number = number(of: id), let question = lookups[number]?.question else { return }
        change(number, now: now) { $0.fetchDeferred(id, until: end, now: now, &$1) }
        guard self.number(of: question) == nil, isPlanned(question) else { return }
        state.plan.deferred(question, until: end, within: .seconds(1))
    }

    /// When the fleet's budget allows the refresh, if all providers of the route are over it; otherwise nil. The
    /// refresh waits until then, and does not ask the system resolver.
    func budgetEnd(of route: Lookup.Route, now: Instant) -> Instant? {
        guard route.providers.isEmpty, route.trialPending.isEmpty, !route.isSystemFirst else { return nil }
        return route.throttled.compactMap { state.ranking[$0]?.overBudgetUntil.flatMap { $0 > now ? $0 : nil } }.min()
    }

    /// Queries per second of this machine's clients; nil for a question that was not asked lately.
    package func demand(for question: Question, now: Instant) -> Double? { state.plan.demand(for: question, now: now) }
}

extension Lookup {
    /// Holds the fetch back. Until it is sent, its time is no latency of the provider, and no hedge is due.
    func holdBack(_ id: FetchID, now: Instant, _ state: inout ResolverState) {
        guard let index = running.firstIndex(where: { $0.id == id && $0.isSent }),
            let provider = running[index].provider
        else { return }
        (running[index].isSent, running[index].hasWaited) = (false, true)
        running[index].until = giveUpAt
        // Another provider may have a place.
        if !running[index].awaitsPlace { providers.holdHedge() }
        state.ranking[provider]?.unbegun(holder, now: now)
    }

    func fetchSent(_ id: FetchID, now: Instant, _ state: inout ResolverState) {
        guard let index = running.firstIndex(where: { $0.id == id && !$0.isSent }),
            let provider = running[index].provider
        else { return }
        running[index].isSent = true
        running[index].awaitsPlace = false
        running[index].startedAt = now
        running[index].until = now + state.ranking.timeout(of: provider)
        state.ranking[provider]?.begun(holder, now: now)
        holdSystem(until: now + min(systemHedge, Bounds.silentFloor))
        if providers.isHedgeHeld {
            providers.hedge(after: state.ranking.hedgeDelay(provider), startedAt: now, state.ranking, at: now)
        }
    }

    /// The provider of a fetch that was sent and has not ended; nil for any other fetch.
    func provider(sent id: FetchID) -> ProviderID? {
        running.first { $0.id == id && $0.isSent }?.provider?.provider
    }

    /// Ends the fetch if it was not sent.
    func fetchShared(_ id: FetchID, _ answer: Answer, now: Instant, _ state: inout ResolverState) {
        mayHaveAged = true
        guard let attempt = takeUnsent(id, now: now, &state) else { return }
        answered(attempt, answer, now: now, &state)
        proceed(now: now, &state)
    }

    /// A refresh waits for the budget; a client gets the answer of another upstream, and the provider is its last
    /// resort.
    func fetchDeferred(_ id: FetchID, until end: Instant, now: Instant, _ state: inout ResolverState) {
        guard let attempt = takeUnsent(id, now: now, &state), let provider = attempt.provider else { return }
        state.ranking[provider]?.overBudgetUntil = end
        if isRefreshAlone, isAsking, !isSystemFirst, running.isEmpty { return displaced(now: now, &state) }
        failures.ended(provider, .usedUp)
        providers.spare(provider, now: now)
        proceed(now: now, &state)
    }

    /// Ends an attempt that was not sent.
    private func takeUnsent(_ id: FetchID, now: Instant, _ state: inout ResolverState) -> Attempt? {
        guard let index = running.firstIndex(where: { $0.id == id && !$0.isSent }) else { return nil }
        let attempt = running.remove(at: index)
        state.end(attempt, of: holder, isHeard: false, now: now)
        if isRefresh, let provider = attempt.provider { state.ranking[provider]?.unspend(now: now) }
        return attempt
    }
}
