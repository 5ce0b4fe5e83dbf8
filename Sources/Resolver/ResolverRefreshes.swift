// Runs refreshes: requests hit counts for due answers, and starts lookups without waiters for those in use, within
// limits and budgets. Clients' questions are never postponed here.

import DNSWire

extension Resolver {
    /// Restores answers, the most asked first, because all answers that expired meanwhile are due at once.
    mutating func restore(_ answers: [RestoredAnswer], now: Instant) {
        for answer in answers.sorted(by: { $0.demandPerSecond > $1.demandPerSecond })
        where routing.policy.of(answer.question.name).prefetches {
            plan.restored(answer, now: now)
        }
    }

    /// Returns whether a refresh may start: there is room, the network is stable, and an upstream is reachable.
    var mayRefresh: Bool {
        refreshesInFlight < Bounds.maxRefreshes && lookupsInFlight < Bounds.maxLookups && state.isSettled
            && (routing.hasSystem || !state.ranking.isCutOff)
    }

    mutating func popDueRefreshes(now: Instant) {
        guard mayRefresh else { return }
        var due = plan.popDue(now)
        guard let first = due.first else { return }
        let provider = state.ranking.best(for: first.type, now: now)
        while due.count < Bounds.maxRefreshes - refreshesInFlight {
            let next = plan.popDue(now)
            if next.isEmpty { break }
            due += next
        }
        let batch = provider.flatMap { state.ranking.traits(of: $0) }
        let room = batch.map { ($0.maxNames - due.count % $0.maxNames) % $0.maxNames } ?? 0
        state.actions.append(.countHits(due + plan.popEarly(now, atMost: room)))
    }

    mutating func hitsCounted(_ counts: [(question: Question, hits: Int)], now: Instant) {
        for (question, hits) in counts {
            let prospect = plan.counted(question, hits: hits, now: now)
            if prospect.wasUsed { refreshes.used += 1 }
            if prospect.isInUse || prospect.isRequested { refresh(question, prospect, now: now) }
        }
    }

    mutating func refresh(_ question: Question, _ prospect: RefreshPlan.Prospect, now: Instant) {
        let policy = routing.policy.of(question.name)
        guard policy.prefetches || prospect.isRequested, numberOfQuestion[question] == nil else { return }
        if case .here = routing.place(of: question) { return }
        if let failure = failures.failure(of: question, hasExpired: false, now: now) {
            return plan.failed(question, retryAt: failure.until)
        }
        guard mayRefresh, hasRoom(for: question) else { return plan.postponed(question, now: now) }
        let route = routing.route(question, policy, paid: prospect.paidTo, &state.ranking, now: now)
        if let first = route.providers.first, first != prospect.paidTo,
            let paidAt = state.ranking.spend(on: first, now: now)
        {
            return plan.paid(question, to: first, until: paidAt)
        }
        guard !route.hasOnlyThrottled else { return plan.failed(question, retryAt: now + Bounds.throttleFloor) }
        refreshes.started += 1
        begin(question, along: route, policy, isRefresh: true, now: now) { _, _ in }
    }
}
