// Ends a lookup: replies to its clients, caches the answer, and abandons the remaining fetches.

import DNSWire

extension Lookup {
    /// Gives clients the system resolver's answer. Running fetches to providers may still fill the cache.
    mutating func settle(with answer: Answer, now: Instant, _ state: inout ResolverState) {
        if state.synthesis.isNeeded(for: question, answer) {
            return beginAwaitingIPv4(answer, .system, now: now, &state)
        }
        let kept = keep(answer, from: .system, isSubstitute: true, now: now, &state)
        replyToAll(kept, from: .system, &state)
        system = .settled(kept, at: now)
        isFinished = running.isEmpty && untried.isEmpty
    }

    /// Continues after clients got the system resolver's answer. Providers not asked yet may replace it in the cache.
    mutating func goOnAfterSettling(now: Instant, _ state: inout ResolverState) {
        if now < giveUpAt { askFurther(now: now, &state) } else { askNobodyElse() }
        isFinished = running.isEmpty && untried.isEmpty
    }

    /// Returns the only provider that can be asked, if its request timed out while no other was in flight, and the
    /// clients have no other answer; else nil. Other requests in flight would show whether the provider works.
    func providerToRepeat(_ ranking: UpstreamRanking, now: Instant) -> ProviderID? {
        guard now < giveUpAt, running.isEmpty, attemptsLeft == Bounds.maxProviderAttempts - 1, !waiters.isEmpty,
            expired == nil, unproven == nil, unreachableAnswer == nil, policy.fallback(for: question) == nil,
            keepsAnswers,
            let provider = timedOut.first, ranking.knows(provider), !ranking.isUnreachable(provider)
        else { return nil }
        return ranking.isAsked(provider) || ranking.isThrottled(provider, now) ? nil : provider
    }

    /// Repeats the request for the remaining time. The abandoned request closed its connection.
    mutating func repeatRequest(to provider: ProviderID, now: Instant, _ state: inout ResolverState) {
        attemptsLeft -= 1
        begin(.provider(provider), until: giveUpAt, now: now, &state)
    }

    /// Ends the lookup when no further reply can arrive in time.
    mutating func conclude(now: Instant, _ state: inout ResolverState) {
        if let provider = providerToRepeat(state.ranking, now: now) {
            return repeatRequest(to: provider, now: now, &state)
        }
        if let unreachableAnswer { return concludeWithoutBetter(unreachableAnswer, now: now, &state) }
        // An ambiguous empty answer must not replace a good answer, just as a failure must not.
        let isHeld = leftOut != nil || ownExpired.map { !$0.answer.isNegative } ?? hasGoodAnswer
        // A portal's resolver gives its own address for every name, so that the filtered answer proves nothing.
        let isPortals = state.portal.isSuspected && unproven?.source == .system
        if let unproven, !isPortals, !isHeld || state.synthesis.isOn(for: question) {
            let empty = Answer(negative: .noData, ttlSeconds: unproven.answer.ttlSeconds)
            // Limit the TTL first, and then subtract the time for which the answer was held.
            let answer = policy.cache.applied(to: empty).aged(since: unproven.at, now: now)
            return finish(with: answer.remarked(unproven.answer.remark), from: unproven.source, now: now, &state)
        }
        fail(now: now, &state)
    }

    mutating func fail(now: Instant, _ state: inout ResolverState) {
        var failure = LookupFailure(hasFailedUpstream ? .networkError : .noReachableAuthority)
        if let verdict { failure = LookupFailure(verdict) }
        if lacksRoom { failure = LookupFailure(.notReady) }
        if state.portal.isSuspected { failure = LookupFailure(.portalSuspected) }
        replyExpired(.failure, &state)
        if let fallback = policy.fallback(for: question) { replyToAll(fallback, from: .fallback, &state) }
        state.actions += waiters.map { .fail($0, failure.extendedError, failure.responseCode) }
        waiters = []
        abandonAll(now: now, &state)
        // Remembers no failure if a source was excluded, if a local limit was reached, or if no time was left to ask on
        // this network.
        self.failure = leftOut == nil && !lacksRoom && startedAt < giveUpAt ? failure : nil
        isFinished = true
    }

    mutating func finish(with answer: Answer, from source: Source, now: Instant, _ state: inout ResolverState) {
        if state.synthesis.isNeeded(for: question, answer) {
            return beginAwaitingIPv4(answer, source, now: now, &state)
        }
        end(with: answer, from: source, isSubstitute: false, now: now, &state)
    }

    mutating func end(
        with answer: Answer, from source: Source, isSubstitute: Bool, now: Instant, _ state: inout ResolverState
    ) {
        if case .provider = source, answer.kind == .records {
            for provider in refusedBy { state.ranking.contradicted(provider, now: now) }
        }
        let kept = keep(answer, from: source, isSubstitute: isSubstitute, now: now, &state)
        replyToAll(kept, from: source, &state)
        abandonAll(now: now, &state)
        isFinished = true
    }

    /// Answers a portal's detection name, with TTL 0 and without caching. All waiters get the current address.
    mutating func finishForPortal(with answer: Answer, now: Instant, _ state: inout ResolverState) {
        disableCaching()
        finish(with: answer.withTTL(to: 0), from: .system, now: now, &state)
    }

    /// Caches the answer, and records if the system resolver stood in. An answer with TTL 0 is given to the waiters and
    /// not cached (RFC 1035 section 3.2.1).
    ///
    /// - Returns: the answer to give.
    private mutating func keep(
        _ answer: Answer, from source: Source, isSubstitute: Bool, now: Instant, _ state: inout ResolverState
    ) -> Answer {
        var answer = answer
        if isSubstitute {
            let reason: StandInReason = !providersAreDone ? .late : hasSilentUpstream ? .failed : .down
            state.standIns[reason, default: 0] += 1
            state.words.stoodIn(question, reason, now: now)
            answer = answer.remarked(reason.extendedError)
        }
        guard state.isSettled else {
            hasAnsweredDuringChange = true
            return state.verification.arranged(question, answer, now: now)
        }
        state.learned = Learned(
            ttlSeconds: answer.ttlSeconds, isNegative: answer.kind != .records, isSubstitute: isSubstitute,
            isProviders: source.isProvider)
        state.shadows.used(question, answer)
        hasLearned = true
        // The cache prefers a provider's answer, even an unreachable one, to the system resolver's.
        if besides != nil, source == .system { state.actions.append(.remove(question)) }
        // The cache prefers a provider's answer. A substitute that expires before that answer would never be served.
        let isIdle =
            isRefresh && isSubstitute && besides == nil
            && state.verification.outlives(answer.ttlSeconds, question, now: now)
        guard answer.ttlSeconds > 0, keepsAnswers, !isIdle else {
            if keepsAnswers { state.verification.heard(question, answer, from: source, policy.probes, now: now) }
            return state.verification.arranged(question, answer, now: now)
        }
        return state.store(
            question, answer, from: source, policy, isInUse: isRefresh, isDoubted: isSubstitute, now: now)
    }

    private mutating func replyToAll(_ answer: Answer, from source: Source, _ state: inout ResolverState) {
        state.actions += waiters.map { .reply($0, answer, source) }
        waiters = []
    }

    mutating func replyExpired(_ cause: StaleCause, _ state: inout ResolverState) {
        guard let expired else { return }
        state.actions += waiters.map { .replyExpired($0, expired, expired.cause(cause)) }
        waiters = []
    }

    mutating func abandonAll(now: Instant, _ state: inout ResolverState) {
        for attempt in running {
            state.abandon(attempt, now: now)
            if case .provider(let provider) = attempt.upstream {
                state.ranking.overtaken(provider, after: attempt.startedAt.duration(to: now))
            }
        }
        running = []
    }

    // MARK: networks

    /// Abandons all fetches without recording failures. Ends the lookup if no client waits.
    mutating func leaveNetwork(now: Instant, _ state: inout ResolverState) {
        for attempt in running { state.abandon(attempt, now: now) }
        running = []
        isFinished = waiters.isEmpty
    }

    /// Abandons fetches to providers without a route, without recording failures, and asks the next provider.
    mutating func leaveUnreachable(now: Instant, _ state: inout ResolverState) {
        let ranking = state.ranking
        let isLost = { (attempt: Attempt) in
            if case .provider(let provider) = attempt.upstream { ranking.isUnreachable(provider) } else { false }
        }
        for attempt in running where isLost(attempt) {
            state.abandon(attempt, now: now)
            hasSilentUpstream = true
            nextProviderAt = now
        }
        running.removeAll(where: isLost)
        untried.removeAll(where: ranking.isUnreachable)
        trialPending.removeAll(where: ranking.isUnreachable)
        throttled.removeAll(where: ranking.isUnreachable)
        proceed(now: now, &state)
    }

    /// Ends the lookup with an answer from local data.
    mutating func answeredHere(_ answer: Answer, _ state: inout ResolverState) {
        replyToAll(answer, from: .local, &state)
        isFinished = true
    }

    // MARK: verified addresses

    /// Concludes with an answer without a usable address, unless a better one is cached.
    private mutating func concludeWithoutBetter(
        _ unreachableAnswer: (answer: Answer, source: Source, at: Instant), now: Instant, _ state: inout ResolverState
    ) {
        guard !state.isThrottled(question, unreachableAnswer.answer) else { return fail(now: now, &state) }
        let isCertain = !hasSilentUpstream && running.isEmpty
        // A held system resolver answer has no verified address; with one it would be usable.
        let stands =
            unreachableAnswer.source == .system && isOutranked(unreachableAnswer.answer, state.verification)
            || standsBefore(unreachableAnswer.answer, unreachableAnswer.source, state.verification)
        if isCertain || !stands {
            let pause = isCertain ? Bounds.noneBetterPause : Bounds.elsewherePause
            state.verification.recordNoBetterSource(question, for: pause, now: now)
        }
        if !stands {
            let left = unreachableAnswer.answer.aged(since: unreachableAnswer.at, now: now)
            let answer = isCertain ? left : left.withTTL(to: Bounds.uselessTTLSeconds)
            finish(with: answer, from: unreachableAnswer.source, now: now, &state)
        } else if waiters.isEmpty {
            abandonAll(now: now, &state)
            // With an excluded source, the cached answer keeps its own expiry and refresh.
            foundNothingBetter = besides == nil
            isFinished = true
        } else {
            fail(now: now, &state)
        }
    }

    /// Discards a held system resolver answer that was found to be forged after its arrival.
    mutating func dropThrottled(_ state: ResolverState) {
        guard case .answered(let answer, let learnedAt) = system, state.isThrottled(question, answer) else { return }
        system = .failed
        holdUnreachable(answer, .system, state.verification, now: learnedAt)
    }

    /// Holds an answer without a usable address if it is better than the one held. The best one is given at the end.
    mutating func holdUnreachable(_ answer: Answer, _ source: Source, _ verification: Verification, now: Instant) {
        if let unreachableAnswer,
            !verification.mayReplace(
                question, (unreachableAnswer.answer, unreachableAnswer.source), by: (answer, source))
        {
            return
        }
        unreachableAnswer = (answer, source, now)
    }

    /// Marks the source whose answer caused this lookup. Other sources are asked.
    ///
    /// - Parameters:
    ///   - forged: that answer, if it was removed from the cache. Waiters get it only if no source has a better one.
    ///   - route: a route that includes the source if it may be asked.
    mutating func isBesides(
        _ source: Source, _ forged: Answer?, on route: Route, _ verification: Verification, now: Instant
    ) {
        besides = source
        if let forged {
            holdUnreachable(forged, source, verification, now: now)
            hasGoodAnswer = false
            leftOut = nil
            // New clients must not get it either.
            if verification.isGuarded, case .settled = system { system = .failed }
        } else if route.includes(source) {
            leftOut = source
        }
    }

    private func standsBefore(_ answer: Answer, _ source: Source, _ verification: Verification) -> Bool {
        // The source of the cached answer was not asked again.
        if leftOut != nil {
            return verification.keptAnswer(question).map {
                !verification.mayReplace(question, $0, by: (answer, source))
            } ?? (verification.worth(question, answer) <= .open)
        }
        let (kept, worth) = (verification.worthKept(question), verification.worth(question, answer))
        let stands = ownExpired.map { !$0.answer.isNegative } ?? (hasGoodAnswer && waiters.isEmpty)
        return stands && kept > worth
    }

    /// Updates the held expired answer after the cached answer was rearranged.
    mutating func rearranged(_ answer: Answer) {
        guard let ownExpired else { return }
        let rendered = RenderedAnswer(answer, to: question).withEveryTTL(policy.stale.answerTTLSeconds)
        expired = ownExpired.with(rendered)
    }
}
