// How a lookup ends: who is told what, what is kept, and what is left in the air.

import DNSWire

extension Lookup {
    /// Clients get the system resolver's answer; providers that are still running may fill the cache.
    mutating func settle(with answer: Answer, now: Instant, _ state: inout ResolverState) {
        if state.synthesis.isWanted(for: question, answer) {
            return beginAwaitingIPv4(answer, .system, now: now, &state)
        }
        let kept = keep(answer, from: .system, isSubstitute: true, now: now, &state)
        replyToAll(kept, from: .system, &state)
        system = .settled(kept, at: now)
        isFinished = running.isEmpty && untried.isEmpty
    }

    /// The clients have the system resolver's answer. Providers that were not asked yet may replace it in the cache.
    mutating func goOnAfterSettling(now: Instant, _ state: inout ResolverState) {
        if now < giveUpAt { askFurther(now: now, &state) } else { askNobodyElse() }
        isFinished = running.isEmpty && untried.isEmpty
    }

    /// The only provider that could be asked, if its request timed out while no other was out, and there is nothing
    /// else for the clients. Other requests would show whether the provider works.
    func providerToRepeat(_ ranking: UpstreamRanking, now: Instant) -> ProviderID? {
        guard now < giveUpAt, running.isEmpty, attemptsLeft == Bounds.maxProviderAttempts - 1, !waiters.isEmpty,
            expired == nil, unproven == nil, unreachableAnswer == nil, policy.fallback(for: question) == nil,
            keepsAnswers,
            let provider = timedOut.first, ranking.knows(provider), !ranking.isUnreachable(provider)
        else { return nil }
        return ranking.isAsked(provider) || ranking.isWithheld(provider, now) ? nil : provider
    }

    /// Sends the request once more, for the time that is left. The former one took its connection with it.
    mutating func repeatRequest(to provider: ProviderID, now: Instant, _ state: inout ResolverState) {
        attemptsLeft -= 1
        begin(.provider(provider), until: giveUpAt, now: now, &state)
    }

    /// Nothing more will come, or not in time.
    mutating func conclude(now: Instant, _ state: inout ResolverState) {
        if let provider = providerToRepeat(state.ranking, now: now) {
            return repeatRequest(to: provider, now: now, &state)
        }
        if let unreachableAnswer { return concludeWithoutBetter(unreachableAnswer, now: now, &state) }
        // Nothing proven hides nothing good: no more than a failure would.
        let isHeld = leftOut != nil || ownExpired.map { !$0.answer.isNegative } ?? hasGoodAnswer
        // Behind a portal its address is what stands for every name.
        let isPortals = state.portal.isSuspected && unproven?.source == .system
        if let unproven, !isPortals, !isHeld || state.synthesis.isOn(for: question) {
            let empty = Answer(negative: .noData, ttlSeconds: unproven.answer.ttlSeconds)
            // Limited first: the time that it was held counts.
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
        // Whoever was left out has not failed, nor who was not asked on this network because time was over. A shortage
        // of our own may be over with the next question.
        self.failure = leftOut == nil && !lacksRoom && startedAt < giveUpAt ? failure : nil
        isFinished = true
    }

    mutating func finish(with answer: Answer, from source: Source, now: Instant, _ state: inout ResolverState) {
        if state.synthesis.isWanted(for: question, answer) {
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

    /// A name that a portal is found by; who has waited for it so far waits for where it leads now.
    mutating func finishForPortal(with answer: Answer, now: Instant, _ state: inout ResolverState) {
        disableCaching()
        finish(with: answer.withTTL(to: 0), from: .system, now: now, &state)
    }

    /// Keeps the answer, and notes where the system resolver stood in. TTL 0 is for those who asked, and is not kept
    /// (RFC 1035 section 3.2.1).
    ///
    /// - Returns: the answer as it is to be given.
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
            hasAnsweredUnsettled = true
            return state.verification.arranged(question, answer, now: now)
        }
        state.learned = Learned(
            ttlSeconds: answer.ttlSeconds, isNegative: answer.kind != .records, isSubstitute: isSubstitute,
            isProviders: source.isProvider)
        state.shadows.used(question, answer)
        hasLearned = true
        // The cache would go on giving what is known to lead nowhere before anything of the system resolver.
        if besides != nil, source == .system { state.actions.append(.remove(question)) }
        // The cache gives a provider's answer first: what stands in for its refresh, and ends before it, is for nobody.
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

    /// What was asked there does not come any more, and nobody is to blame for that. Without clients it is over.
    mutating func leaveNetwork(now: Instant, _ state: inout ResolverState) {
        for attempt in running { state.abandon(attempt, now: now) }
        running = []
        isFinished = waiters.isEmpty
    }

    /// Providers that no route leads to any more have not failed; the next one is asked.
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
        withheld.removeAll(where: ranking.isUnreachable)
        proceed(now: now, &state)
    }

    /// We know it ourselves by now.
    mutating func answeredHere(_ answer: Answer, _ state: inout ResolverState) {
        replyToAll(answer, from: .local, &state)
        isFinished = true
    }

    // MARK: verified addresses

    /// What there is leads nowhere, or to somebody else, as far as is known: an answer that stands and leads further
    /// goes before it, and it goes before none.
    private mutating func concludeWithoutBetter(
        _ unreachableAnswer: (answer: Answer, source: Source, at: Instant), now: Instant, _ state: inout ResolverState
    ) {
        guard !state.isWithheld(question, unreachableAnswer.answer) else { return fail(now: now, &state) }
        let isCertain = !hasSilentUpstream && running.isEmpty
        // The system resolver's has no verified address, else it would lead somewhere.
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
            // Else what stands has its own end, and its own refresh.
            foundNothingBetter = besides == nil
            isFinished = true
        } else {
            fail(now: now, &state)
        }
    }

    /// It was not known to be forged when it came.
    mutating func dropWithheld(_ state: ResolverState) {
        guard case .answered(let answer, let learnedAt) = system, state.isWithheld(question, answer) else { return }
        system = .failed
        holdUnreachable(answer, .system, state.verification, now: learnedAt)
    }

    /// The best of them is given in the end.
    mutating func holdUnreachable(_ answer: Answer, _ source: Source, _ verification: Verification, now: Instant) {
        if let unreachableAnswer,
            !verification.mayReplace(
                question, (unreachableAnswer.answer, unreachableAnswer.source), by: (answer, source))
        {
            return
        }
        unreachableAnswer = (answer, source, now)
    }

    /// Others are asked because of what this source said.
    ///
    /// - Parameters:
    ///   - forged: taken out of the cache: it is given to those who wait only when nobody knows better.
    ///   - route: with the source in it, if it may be asked.
    mutating func isBesides(
        _ source: Source, _ forged: Answer?, on route: Route, _ verification: Verification, now: Instant
    ) {
        besides = source
        if let forged {
            holdUnreachable(forged, source, verification, now: now)
            hasGoodAnswer = false
            leftOut = nil
            // It is not given to those who come now either.
            if verification.isGuarded, case .settled = system { system = .failed }
        } else if route.includes(source) {
            leftOut = source
        }
    }

    private func standsBefore(_ answer: Answer, _ source: Source, _ verification: Verification) -> Bool {
        // The source of what stands was not asked again.
        if leftOut != nil {
            return verification.keptAnswer(question).map {
                !verification.mayReplace(question, $0, by: (answer, source))
            } ?? (verification.worth(question, answer) <= .open)
        }
        let (kept, worth) = (verification.worthKept(question), verification.worth(question, answer))
        let stands = ownExpired.map { !$0.answer.isNegative } ?? (hasGoodAnswer && waiters.isEmpty)
        return stands && kept > worth
    }

    /// The cache's answer has changed, and with it the expired one that is held ready here.
    mutating func rearranged(_ answer: Answer) {
        guard let ownExpired else { return }
        let rendered = RenderedAnswer(answer, to: question).withEveryTTL(policy.stale.answerTTLSeconds)
        expired = ownExpired.with(rendered)
    }
}
