// Refreshes of names in use, of names that the operator keeps fresh, and of answers from the store.

package import DNSWire

extension Policy {
    /// The questions to keep fresh: the addresses of the kept names, without the families that rules exclude.
    var keptQuestions: [Question] {
        kept.flatMap { [Question($0, .a), Question($0, .aaaa)] }.filter {
            of($0.name).treatment(of: $0.type) != .excluded
        }
    }
}

extension Resolver {
    func isPlanned(_ question: Question) -> Bool {
        routing.policy(for: question).prefetches || state.plan.isRequested(question) || state.plan.isKept(question)
    }

    /// Restores answers, the most asked first, because all answers that expired meanwhile are due at once.
    mutating func restore(_ answers: [RestoredAnswer], now: Instant) {
        for answer in answers.sorted(by: { $0.demandPerSecond > $1.demandPerSecond }) where isPlanned(answer.question) {
            state.plan.restored(answer, now: now)
        }
    }

    /// Begins a refresh at once; its cost delays later ones.
    mutating func beginRefreshNow(
        _ routed: borrowing RoutedQuestion, along route: Lookup.Route, now: Instant,
        _ join: (Lookup, inout ResolverState) -> Void
    ) {
        if !route.isSystemFirst, let first = route.providers.first { _ = state.ranking[first]?.spend(now: now) }
        refreshes.started += 1
        begin(routed, along: route, isRefresh: true, now: now, join)
    }

    /// Ends a refresh that has nothing to ask for: the daemon gives its own answer, which may be no data because of the
    /// preferred family's cached answer. The question is then looked at again when that answer has expired, or earlier,
    /// because the answer may change before.
    ///
    /// - Returns: whether the refresh ended.
    mutating func isRefreshNeedless(_ routed: borrowing RoutedQuestion, now: Instant) -> Bool {
        let (question, policy) = (routed.question, routed.policy)
        if ownReply(routed, now: now) != nil {
            state.plan.gained(question)
            return true
        }
        guard policy.treatment(of: question.type) == .yielding, let preferred = question.otherFamily,
            let known = state.knownPreferred(over: question),
            state.verification.hasUsableAddress(preferred, known.answer),
            now < known.endsAt + .seconds(Int64(policy.limits.maxAgeSeconds))
        else { return false }
        state.plan.gained(question)
        state.plan.postponed(question, beyond: min(known.endsAt, now + Bounds.yieldingPause))
        return true
    }

    /// Forgets the copies of answers that the cache lost with the former routing, and refreshes those of kept names:
    /// the cache serves another partition, or the names have other upstreams, another order, family or expectation.
    mutating func forgetAnswers(after former: Routing, now: Instant) {
        let (routing, ranking) = (routing, state.ranking)
        let isElsewhere = former.policy.partition != routing.policy.partition
        let isLost = { (question: Question) in
            let (old, new) = (former.routed(question, now: now), routing.routed(question, now: now))
            return isElsewhere || new.policy.mayDiffer(from: old.policy) || routing.isOfFormerView(question)
                || old.place != new.place
                || former.direction(of: old, ranking, now: now).upstreams
                    != routing.direction(of: new, ranking, now: now).upstreams
        }
        forgetAnswers(now: now, where: isLost)
    }

    mutating func forgetAnswers(now: Instant, where isLost: (Question) -> Bool) {
        state.plan.removed(now: now, where: isLost)
        state.verification.forgotten(where: isLost)
    }

    /// Returns the most asked questions first.
    ///
    /// - Parameter hits: uncounted cache hits of a question. Called for every question of the plan, some thousands.
    package func hottest(atMost count: Int, hits: (Question) -> Int, now: Instant) -> [AskedQuestion] {
        state.plan.hottestQuestions(atMost: count, hits: hits, now: now)
    }

    /// Time in which the lookup's upstreams answer. Adjusts the plan to it.
    mutating func learnUpstreamLatency(of lookup: Lookup, now: Instant) -> Duration {
        // The system resolver is not measured; the providers' latency stands for its own.
        let upstreams = lookup.isSystemName ? .providers : lookup.upstreams
        let latency = state.ranking.firstAndHedgeTime(for: lookup.question.kind, among: upstreams, now: now)
        // The plan knows one latency per type, that of most names.
        if upstreams == .providers { state.plan.upstreamsNeed(latency, for: lookup.question.type) }
        return latency
    }

    /// Interval of refreshes after an outage: the longest that one of the questions' upstreams needs.
    func retryStep(for questions: [Question], now: Instant) -> Duration {
        let upstreams = Set(questions.map { routing.policy(for: $0).upstreams })
        return upstreams.map { state.ranking.retryStep(among: $0, now: now) }.max() ?? Bounds.retryStep
    }
}
