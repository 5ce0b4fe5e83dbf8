// How a lookup ends: who is told what, what is kept, and what is left in the air.

import DNSWire

extension Lookup {
    /// Clients get the system resolver's answer; providers that are still running may fill the cache.
    mutating func settle(with answer: Answer, now: Instant, _ around: inout Surroundings) {
        if around.synthesis.isWanted(for: question, answer) {
            return beginAwaitingIPv4(answer, .system, now: now, &around)
        }
        let kept = keep(answer, from: .system, isSubstitute: true, now: now, &around)
        replyToAll(kept, from: .system, &around)
        system = .settled(kept, at: now)
        isFinished = running.isEmpty && untried.isEmpty
    }

    /// The clients have the system resolver's answer. Providers that were not asked yet may replace it in the cache.
    mutating func goOnAfterSettling(now: Instant, _ around: inout Surroundings) {
        if now < giveUpAt { askFurther(now: now, &around) } else { askNobodyElse() }
        isFinished = running.isEmpty && untried.isEmpty
    }

    /// The only provider that could be asked, if its request timed out while no other was out, and there is nothing
    /// else for the clients. Other requests would show whether the provider works.
    func providerToRepeat(_ ranking: UpstreamRanking, now: Instant) -> ProviderID? {
        guard now < giveUpAt, running.isEmpty, attemptsLeft == Bounds.maxProviderAttempts - 1, !waiters.isEmpty,
            expired == nil, unproven == nil, useless == nil, policy.fallback(for: question) == nil, keepsAnswers,
            let provider = timedOut.first, ranking.knows(provider), !ranking.isUnreachable(provider)
        else { return nil }
        return ranking.isAsked(provider) || ranking.isWithheld(provider, now) ? nil : provider
    }

    /// Sends the request once more, for the time that is left. The former one took its connection with it.
    mutating func repeatRequest(to provider: ProviderID, now: Instant, _ around: inout Surroundings) {
        attemptsLeft -= 1
        begin(.provider(provider), until: giveUpAt, now: now, &around)
    }

    /// Nothing more will come, or not in time.
    mutating func conclude(now: Instant, _ around: inout Surroundings) {
        if let provider = providerToRepeat(around.ranking, now: now) {
            return repeatRequest(to: provider, now: now, &around)
        }
        if let useless { return concludeWithoutBetter(useless, now: now, &around) }
        // Nothing proven hides nothing good: no more than a failure would.
        let isHeld = leftOut != nil || ownExpired.map { !$0.answer.isNegative } ?? hasGoodAnswer
        // Behind a portal its address is what stands for every name.
        let isPortals = around.portal.isSuspected && unproven?.source == .system
        if let unproven, !isPortals, !isHeld || around.synthesis.isOn(for: question) {
            let empty = Answer(negative: .noData, ttlSeconds: unproven.answer.ttlSeconds)
            // Limited first: the time that it was held counts.
            let answer = policy.cache.applied(to: empty).aged(since: unproven.at, now: now)
            return finish(with: answer.remarked(unproven.answer.remark), from: unproven.source, now: now, &around)
        }
        fail(now: now, &around)
    }

    mutating func fail(now: Instant, _ around: inout Surroundings) {
        var failure = LookupFailure(someoneFailed ? .networkError : .noReachableAuthority)
        if let verdict { failure = LookupFailure(verdict) }
        if lacksRoom { failure = LookupFailure(.notReady) }
        if around.portal.isSuspected { failure = LookupFailure(.portalSuspected) }
        replyExpired(.failure, &around)
        if let fallback = policy.fallback(for: question) { replyToAll(fallback, from: .fallback, &around) }
        around.actions += waiters.map { .fail($0, failure.extendedError, failure.responseCode) }
        waiters = []
        abandonAll(now: now, &around)
        // Whoever was left out has not failed, nor who was not asked on this network because time was over. A shortage
        // of our own may be over with the next question.
        self.failure = leftOut == nil && !lacksRoom && startedAt < giveUpAt ? failure : nil
        isFinished = true
    }

    mutating func finish(with answer: Answer, from source: Source, now: Instant, _ around: inout Surroundings) {
        if around.synthesis.isWanted(for: question, answer) {
            return beginAwaitingIPv4(answer, source, now: now, &around)
        }
        end(with: answer, from: source, isSubstitute: false, now: now, &around)
    }

    mutating func end(
        with answer: Answer, from source: Source, isSubstitute: Bool, now: Instant, _ around: inout Surroundings
    ) {
        if case .provider = source, answer.kind == .records {
            for provider in refusedBy { around.ranking.contradicted(provider, now: now) }
        }
        let kept = keep(answer, from: source, isSubstitute: isSubstitute, now: now, &around)
        replyToAll(kept, from: source, &around)
        abandonAll(now: now, &around)
        isFinished = true
    }

    /// A name that a portal is found by; who has waited for it so far waits for where it leads now.
    mutating func finishForPortal(with answer: Answer, now: Instant, _ around: inout Surroundings) {
        keepNothing()
        finish(with: answer.withTTL(to: 0), from: .system, now: now, &around)
    }

    /// Keeps the answer, and notes where the system resolver stood in. TTL 0 is for those who asked, and is not kept
    /// (RFC 1035 section 3.2.1).
    ///
    /// - Returns: the answer as it is to be given.
    private mutating func keep(
        _ answer: Answer, from source: Source, isSubstitute: Bool, now: Instant, _ around: inout Surroundings
    ) -> Answer {
        var answer = answer
        if isSubstitute {
            let reason: StandInReason = !providersAreDone ? .late : someoneIsUnheard ? .failed : .down
            around.standIns[reason, default: 0] += 1
            around.words.stoodIn(question, reason, now: now)
            answer = answer.remarked(reason.extendedError)
        }
        guard around.isSettled else {
            hasAnsweredUnsettled = true
            return around.verification.arranged(question, answer, now: now)
        }
        around.learned = Learned(
            ttlSeconds: answer.ttlSeconds, isNegative: answer.kind != .records, isSubstitute: isSubstitute,
            isProviders: source.isProvider)
        around.shadows.used(question, answer)
        hasLearned = true
        // The cache would go on giving what is known to lead nowhere before anything of the system resolver.
        if besides != nil, source == .system { around.actions.append(.remove(question)) }
        // The cache gives a provider's answer first: what stands in for its refresh, and ends before it, is for nobody.
        let isIdle =
            isRefresh && isSubstitute && besides == nil
            && around.verification.outlives(answer.ttlSeconds, question, now: now)
        guard answer.ttlSeconds > 0, keepsAnswers, !isIdle else {
            if keepsAnswers { around.verification.heard(question, answer, from: source, policy.probes, now: now) }
            return around.verification.arranged(question, answer, now: now)
        }
        return around.store(
            question, answer, from: source, policy, isInUse: isRefresh, isDoubted: isSubstitute, now: now)
    }

    private mutating func replyToAll(_ answer: Answer, from source: Source, _ around: inout Surroundings) {
        around.actions += waiters.map { .reply($0, answer, source) }
        waiters = []
    }

    mutating func replyExpired(_ cause: StaleCause, _ around: inout Surroundings) {
        guard let expired else { return }
        around.actions += waiters.map { .replyExpired($0, expired, expired.cause(cause)) }
        waiters = []
    }

    mutating func abandonAll(now: Instant, _ around: inout Surroundings) {
        for attempt in running {
            around.abandon(attempt, now: now)
            if case .provider(let provider) = attempt.upstream {
                around.ranking.overtaken(provider, after: attempt.startedAt.duration(to: now))
            }
        }
        running = []
    }

    // MARK: networks

    /// What was asked there does not come any more, and nobody is to blame for that. Without clients it is over.
    mutating func leaveNetwork(now: Instant, _ around: inout Surroundings) {
        for attempt in running { around.abandon(attempt, now: now) }
        running = []
        isFinished = waiters.isEmpty
    }

    /// Providers that no route leads to any more have not failed; the next one is asked.
    mutating func leaveUnreachable(now: Instant, _ around: inout Surroundings) {
        let ranking = around.ranking
        let isLost = { (attempt: Attempt) in
            if case .provider(let provider) = attempt.upstream { ranking.isUnreachable(provider) } else { false }
        }
        for attempt in running where isLost(attempt) {
            around.abandon(attempt, now: now)
            someoneIsUnheard = true
            nextProviderAt = now
        }
        running.removeAll(where: isLost)
        untried.removeAll(where: ranking.isUnreachable)
        inReserve.removeAll(where: ranking.isUnreachable)
        withheld.removeAll(where: ranking.isUnreachable)
        proceed(now: now, &around)
    }

    /// We know it ourselves by now.
    mutating func answeredHere(_ answer: Answer, _ around: inout Surroundings) {
        replyToAll(answer, from: .local, &around)
        isFinished = true
    }

    // MARK: verified addresses

    /// What there is leads nowhere, or to somebody else, as far as is known: an answer that stands and leads further
    /// goes before it, and it goes before none.
    private mutating func concludeWithoutBetter(
        _ useless: (answer: Answer, source: Source, at: Instant), now: Instant, _ around: inout Surroundings
    ) {
        guard !around.isWithheld(question, useless.answer) else { return fail(now: now, &around) }
        let isCertain = !someoneIsUnheard && running.isEmpty
        // The system resolver's has no verified address, else it would lead somewhere.
        let stands =
            useless.source == .system && isOutranked(useless.answer, around.verification)
            || standsBefore(useless.answer, useless.source, around.verification)
        if isCertain || !stands {
            let pause = isCertain ? Bounds.noneBetterPause : Bounds.elsewherePause
            around.verification.noneBetter(question, for: pause, now: now)
        }
        if !stands {
            let left = useless.answer.aged(since: useless.at, now: now)
            let answer = isCertain ? left : left.withTTL(to: Bounds.uselessTTLSeconds)
            finish(with: answer, from: useless.source, now: now, &around)
        } else if waiters.isEmpty {
            abandonAll(now: now, &around)
            // Else what stands has its own end, and its own refresh.
            foundNothingBetter = besides == nil
            isFinished = true
        } else {
            fail(now: now, &around)
        }
    }

    /// It was not known to be forged when it came.
    mutating func dropWithheld(_ around: Surroundings) {
        guard case .answered(let answer, let learnedAt) = system, around.isWithheld(question, answer) else { return }
        system = .failed
        holdUseless(answer, .system, around.verification, now: learnedAt)
    }

    /// The best of them is given in the end.
    mutating func holdUseless(_ answer: Answer, _ source: Source, _ verification: Verification, now: Instant) {
        if let useless, !verification.mayReplace(question, (useless.answer, useless.source), by: (answer, source)) {
            return
        }
        useless = (answer, source, now)
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
            holdUseless(forged, source, verification, now: now)
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
