// Processes an upstream's reply in a lookup: ends the lookup, holds the answer as a fallback, or makes the next
// upstream due. Sends no request itself.

import DNSWire

extension Lookup {
    mutating func answered(
        _ attempt: Attempt, _ answer: Answer, now: Instant, _ state: inout ResolverState
    ) {
        if attempt.upstream == .system, state.portal.covers(question.name), let usable = portalAnswer(answer, state) {
            return finishForPortal(with: usable, now: now, &state)
        }
        let isProper = attempt.upstream == .system && isSystemName
        let usable = policy.withoutPrivateAddresses(answer)
        state.words.said(
            question, answer, usable: usable, by: attempt.source, took: attempt.startedAt.duration(to: now), now: now)
        guard let answer = usable else {
            return hasOnlyPrivateAddresses(attempt, answer, now: now, &state)
        }
        if !isProper, state.isUnreachableAnswer(question, answer, from: attempt.source, policy, now: now) {
            return leadsNowhere(attempt, answer, now: now, &state)
        }
        if !isProper, answer.kind == .records, !mayReplaceDoubted(answer, attempt.source, state.verification) {
            state.verification.heard(question, answer, from: attempt.source, policy.probes, now: now)
            return leadsNowhere(attempt, answer, now: now, &state)
        }
        // A probe's verdict must not turn a name with addresses into one without.
        if unreachableAnswer != nil || leftOut != nil, answer.kind == .noData || answer.kind == .noSuchName {
            return leadsNowhere(attempt, answer, now: now, &state)
        }
        switch attempt.upstream {
        case .provider(let provider):
            // The provider was removed after the request, and the cache may have been replaced.
            if !state.ranking.knows(provider) { disableCaching() }
            state.ranking.answered(provider, after: attempt.startedAt.duration(to: now), now: now)
            if answer.kind == .ambiguousEmpty {
                unproven = unproven ?? (answer, .provider(provider), now)
                nextProviderAt = now
            } else {
                finish(with: policy.cache.applied(to: answer), from: .provider(provider), now: now, &state)
            }
        case .system where isSystemName:
            finish(with: policy.cache.applied(to: answer), from: .system, now: now, &state)
        case .system: hold(systemAnswer: answer, now: now, &state)
        }
    }

    /// Returns the answer to a portal name; nil if it has only private addresses and the name is not the portal's own.
    /// A lookup begun before the portal was suspected has another policy.
    private func portalAnswer(_ answer: Answer, _ state: ResolverState) -> Answer? {
        state.portal.names.mayBePrivate(question.name) ? answer : policy.withoutPrivateAddresses(answer)
    }

    /// Returns whether the answer is better than the one that caused this lookup, held here or cached.
    private func mayReplaceDoubted(_ answer: Answer, _ source: Source, _ verification: Verification) -> Bool {
        let kept = besides == nil ? nil : verification.keptAnswer(question)
        guard let doubted = unreachableAnswer.map({ ($0.answer, $0.source) }) ?? kept, doubted.1 != source else {
            return true
        }
        return verification.mayReplace(question, doubted, by: (answer, source))
    }

    /// Handles an answer with only private addresses: a DNS rebinding attack, or an exception that needs a rule. The
    /// next upstream is asked, as only this one may answer so. If none has a better answer, the name has no address.
    private mutating func hasOnlyPrivateAddresses(
        _ attempt: Attempt, _ answer: Answer, now: Instant, _ state: inout ResolverState
    ) {
        let empty = Answer(negative: .ambiguousEmpty).remarked(.filteredAddresses)
        switch attempt.upstream {
        case .provider(let provider):
            state.ranking.answered(provider, after: attempt.startedAt.duration(to: now), now: now)
            state.privateAnswers[provider, default: 0] += 1
            unproven = unproven ?? (empty, .provider(provider), now)
            nextProviderAt = now
        case .system:
            unproven = unproven ?? (empty, .system, now)
            system = .failed
        }
    }

    /// Holds an answer without a usable address: all are unreachable or mismatched, or there is none. Makes the next
    /// upstream due.
    private mutating func leadsNowhere(
        _ attempt: Attempt, _ answer: Answer, now: Instant, _ state: inout ResolverState
    ) {
        var answer = policy.cache.applied(to: answer)
        switch attempt.upstream {
        case .provider(let provider):
            state.ranking.answered(provider, after: attempt.startedAt.duration(to: now), now: now)
            nextProviderAt = now
            if case .answered(let held, _) = system,
                held.kind != .records
                    || !state.verification.mayReplace(question, (answer, attempt.source), by: (held, .system))
            {
                system = .failed
            }
        case .system:
            answer = answer.withTTL(to: Bounds.systemSubstituteTTLSeconds)
            system = .failed
        }
        holdUnreachable(answer, attempt.source, state.verification, now: now)
    }

    /// - Parameters:
    ///   - answer: without private addresses.
    ///   - provider: the provider, asked for another question or by another lookup.
    mutating func volunteered(
        _ answer: Answer, by provider: ProviderID, now: Instant, _ state: inout ResolverState
    ) {
        guard !isSystemName, !isFinished,
            !state.isUnreachableAnswer(question, answer, from: .provider(provider), policy, now: now),
            mayReplaceDoubted(answer, .provider(provider), state.verification)
        else { return }
        finish(with: policy.cache.applied(to: answer), from: .provider(provider), now: now, &state)
    }

    /// Handles an error reply about the name: the upstream works, and the next provider is asked.
    mutating func nameFailed(
        _ attempt: Attempt, _ failure: NameFailure, now: Instant, _ state: inout ResolverState
    ) {
        hasSilentUpstream = true
        state.words.failed(question, .name(failure), by: attempt.source, now: now)
        verdict = failure.combined(with: verdict)
        switch attempt.upstream {
        case .provider(let provider):
            hasProvidersVerdict = true
            state.ranking.replied(provider, now: now)
            if failure.extendedError == nil { refusedBy.append(provider) }
            nextProviderAt = now
        case .system: system = .failed
        }
    }

    /// Stops the system resolver from standing in once a provider was reached (setting `stands-in`). A timeout on a
    /// working connection counts as reached if no provider asked failed otherwise. A shortage of the daemon's own slots
    /// never leads to plain DNS.
    mutating func dropStandIn(now: Instant, _ state: inout ResolverState) {
        guard !isSystemName else { return }
        let areReached = providersAreDone && !hasUnreached && unproven == nil && unreachableAnswer == nil
        let isOver = hasProvidersVerdict || areReached && !timedOut.isEmpty
        guard isOver && policy.standsIn == .unreachable || areReached && lacksRoom else { return }
        switch system {
        case .absent, .failed, .settled: return
        case .answered where !hasProvidersVerdict && !lacksRoom && isHoldOver(now): return
        case .waiting, .running, .answered: break
        }
        isStandInOver = true
        for attempt in running where attempt.upstream == .system { state.abandon(attempt, now: now) }
        running.removeAll { $0.upstream == .system }
        system = .failed
    }

    mutating func failed(
        _ attempt: Attempt, _ failure: FetchFailure, now: Instant, _ state: inout ResolverState
    ) {
        hasSilentUpstream = true
        if failure != .timeout, failure != .overload { hasFailedUpstream = true }
        state.words.failed(question, .fetch(failure), by: attempt.source, now: now)
        switch attempt.upstream {
        case .provider(let provider):
            switch failure {
            case .timeout: timedOut.append(provider)
            case .overload: return foundNoPlace(attempt, at: provider, now: now, &state)
            default: hasUnreached = true
            }
            state.ranking.failed(provider, failure, of: attempt.domain, startedAt: attempt.startedAt, now: now)
            nextProviderAt = now
        case .system: system = .failed
        }
    }

    /// Handles a request that got no slot. If the provider replies to others, the question fails. If it is silent, its
    /// unanswered requests hold the slots. Then the request is queued again until the system resolver's answer is due.
    private mutating func foundNoPlace(
        _ attempt: Attempt, at provider: ProviderID, now: Instant, _ state: inout ResolverState
    ) {
        nextProviderAt = now
        if !state.ranking.mayBeSilent(provider, now) {
            lacksRoom = true
            if case .waiting = system { system = .absent }
        } else if !throttled.isEmpty || !trialPending.isEmpty {
            hasUnreached = true
        } else if waiters.isEmpty || isHoldOver(now) {
            timedOut.append(provider)
            state.ranking.failed(provider, .overload, of: attempt.domain, startedAt: attempt.startedAt, now: now)
        } else {
            if untried.isEmpty { nextProviderAt = now + Bounds.queueFloor }
            untried.append(provider)
            attemptsLeft += 1
        }
    }
}
