// What becomes of an upstream's word within a lookup: an end, something to fall back on, or a reason to ask the next
// one. Asks nobody itself.

import DNSWire

extension Lookup {
    mutating func answered(
        _ attempt: Attempt, _ answer: Answer, now: Instant, _ around: inout Surroundings
    ) {
        if attempt.upstream == .system, around.portal.covers(question.name), let usable = portalAnswer(answer, around) {
            return finishForPortal(with: usable, now: now, &around)
        }
        let isProper = attempt.upstream == .system && isSystemName
        let usable = policy.withoutPrivateAddresses(answer)
        around.words.said(
            question, answer, usable: usable, by: attempt.source, took: attempt.startedAt.duration(to: now), now: now)
        guard let answer = usable else {
            return hasOnlyPrivateAddresses(attempt, answer, now: now, &around)
        }
        if !isProper, around.isUseless(question, answer, from: attempt.source, policy, now: now) {
            return leadsNowhere(attempt, answer, now: now, &around)
        }
        if !isProper, answer.kind == .records, !mayReplaceDoubted(answer, attempt.source, around.verification) {
            around.verification.heard(question, answer, from: attempt.source, policy.probes, now: now)
            return leadsNowhere(attempt, answer, now: now, &around)
        }
        // No probe's result makes a name that has addresses one that has none.
        if useless != nil || leftOut != nil, answer.kind == .noData || answer.kind == .noSuchName {
            return leadsNowhere(attempt, answer, now: now, &around)
        }
        switch attempt.upstream {
        case .provider(let provider):
            // The cache is another one, perhaps, than when it was asked.
            if !around.ranking.knows(provider) { keepNothing() }
            around.ranking.answered(provider, after: attempt.startedAt.duration(to: now), now: now)
            if answer.kind == .unprovenEmpty {
                unproven = unproven ?? (answer, .provider(provider), now)
                nextProviderAt = now
            } else {
                finish(with: policy.cache.applied(to: answer), from: .provider(provider), now: now, &around)
            }
        case .system where isSystemName:
            finish(with: policy.cache.applied(to: answer), from: .system, now: now, &around)
        case .system: hold(systemAnswer: answer, now: now, &around)
        }
    }

    /// Nil where private addresses are all that is in it, and the name is not the portal's own. A lookup that began
    /// before the portal was suspected has another policy.
    private func portalAnswer(_ answer: Answer, _ around: Surroundings) -> Answer? {
        around.portal.names.mayBePrivate(question.name) ? answer : policy.withoutPrivateAddresses(answer)
    }

    /// Whether an answer is better than what others are asked because of: held here, or kept in the cache.
    private func mayReplaceDoubted(_ answer: Answer, _ source: Source, _ verification: Verification) -> Bool {
        let kept = besides == nil ? nil : verification.keptAnswer(question)
        guard let doubted = useless.map({ ($0.answer, $0.source) }) ?? kept, doubted.1 != source else { return true }
        return verification.mayReplace(question, doubted, by: (answer, source))
    }

    /// A public name that leads into the local network is an attack on it, or an exception that needs a rule. It may be
    /// this upstream alone that says so: the next one is asked, and if none knows better, the name has no address.
    private mutating func hasOnlyPrivateAddresses(
        _ attempt: Attempt, _ answer: Answer, now: Instant, _ around: inout Surroundings
    ) {
        let empty = Answer(negative: .unprovenEmpty).remarked(.filteredAddresses)
        switch attempt.upstream {
        case .provider(let provider):
            around.ranking.answered(provider, after: attempt.startedAt.duration(to: now), now: now)
            around.privateAnswers[provider, default: 0] += 1
            unproven = unproven ?? (empty, .provider(provider), now)
            nextProviderAt = now
        case .system:
            unproven = unproven ?? (empty, .system, now)
            system = .failed
        }
    }

    /// Every address in it was found to be dead, or somebody else's, or there is none: the next upstream is asked.
    private mutating func leadsNowhere(
        _ attempt: Attempt, _ answer: Answer, now: Instant, _ around: inout Surroundings
    ) {
        var answer = policy.cache.applied(to: answer)
        switch attempt.upstream {
        case .provider(let provider):
            around.ranking.answered(provider, after: attempt.startedAt.duration(to: now), now: now)
            nextProviderAt = now
            if case .answered(let held, _) = system,
                held.kind != .records
                    || !around.verification.mayReplace(question, (answer, attempt.source), by: (held, .system))
            {
                system = .failed
            }
        case .system:
            answer = answer.withTTL(to: Bounds.systemSubstituteTTLSeconds)
            system = .failed
        }
        holdUseless(answer, attempt.source, around.verification, now: now)
    }

    /// - Parameters:
    ///   - answer: without private addresses.
    ///   - provider: asked for something else, or for this by another lookup.
    mutating func volunteered(
        _ answer: Answer, by provider: ProviderID, now: Instant, _ around: inout Surroundings
    ) {
        guard !isSystemName, !isFinished,
            !around.isUseless(question, answer, from: .provider(provider), policy, now: now),
            mayReplaceDoubted(answer, .provider(provider), around.verification)
        else { return }
        finish(with: policy.cache.applied(to: answer), from: .provider(provider), now: now, &around)
    }

    /// The upstream works and has no answer for the name: the next provider is asked.
    mutating func nameFailed(
        _ attempt: Attempt, _ failure: NameFailure, now: Instant, _ around: inout Surroundings
    ) {
        someoneIsUnheard = true
        around.words.failed(question, .name(failure), by: attempt.source, now: now)
        verdict = failure.combined(with: verdict)
        switch attempt.upstream {
        case .provider(let provider):
            hasProvidersVerdict = true
            around.ranking.replied(provider, now: now)
            if failure.extendedError == nil { refusedBy.append(provider) }
            nextProviderAt = now
        case .system: system = .failed
        }
    }

    /// Once a provider was reached, the system resolver does not answer in its place (setting `stands-in`). A provider
    /// whose connection works and that has no answer in time was reached too, if that holds for all that were asked. A
    /// shortage of the daemon's own never leads to plain DNS.
    mutating func dropStandIn(now: Instant, _ around: inout Surroundings) {
        guard !isSystemName else { return }
        let areReached = providersAreDone && !hasUnreached && unproven == nil && useless == nil
        let isOver = hasProvidersVerdict || areReached && !timedOut.isEmpty
        guard isOver && policy.standsIn == .unreachable || areReached && lacksRoom else { return }
        switch system {
        case .absent, .failed, .settled: return
        case .answered where !hasProvidersVerdict && !lacksRoom && isHoldOver(now): return
        case .waiting, .running, .answered: break
        }
        isStandInOver = true
        for attempt in running where attempt.upstream == .system { around.abandon(attempt, now: now) }
        running.removeAll { $0.upstream == .system }
        system = .failed
    }

    mutating func failed(
        _ attempt: Attempt, _ failure: FetchFailure, now: Instant, _ around: inout Surroundings
    ) {
        someoneIsUnheard = true
        if failure != .timeout, failure != .overload { someoneFailed = true }
        around.words.failed(question, .fetch(failure), by: attempt.source, now: now)
        switch attempt.upstream {
        case .provider(let provider):
            switch failure {
            case .timeout: timedOut.append(provider)
            case .overload: return foundNoPlace(attempt, at: provider, now: now, &around)
            default: hasUnreached = true
            }
            around.ranking.failed(provider, failure, of: attempt.domain, startedAt: attempt.startedAt, now: now)
            nextProviderAt = now
        case .system: system = .failed
        }
    }

    /// If the provider replies to others, there are too few places: the question fails. If it is silent, its silence
    /// holds the places: the request is queued again until the system resolver's answer is due, as for a late provider.
    private mutating func foundNoPlace(
        _ attempt: Attempt, at provider: ProviderID, now: Instant, _ around: inout Surroundings
    ) {
        nextProviderAt = now
        if !around.ranking.mayBeSilent(provider, now) {
            lacksRoom = true
            if case .waiting = system { system = .absent }
        } else if !withheld.isEmpty || !inReserve.isEmpty {
            hasUnreached = true
        } else if waiters.isEmpty || isHoldOver(now) {
            timedOut.append(provider)
            around.ranking.failed(provider, .overload, of: attempt.domain, startedAt: attempt.startedAt, now: now)
        } else {
            if untried.isEmpty { nextProviderAt = now + Bounds.queueFloor }
            untried.append(provider)
            attemptsLeft += 1
        }
    }
}
