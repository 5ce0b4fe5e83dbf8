// How a lookup treats the upstreams' replies: it holds an answer, gives the system resolver's, or ends. Lookup.swift
// asks the upstreams; ExpiredOffer.swift has the time of the expired answer.

import DNSWire
import PublicSuffix

extension Lookup {
    func answered(
        _ attempt: Attempt, _ answer: Answer, now: Instant, _ state: inout ResolverState
    ) {
        if attempt.upstream == .system, state.portal.covers(question.name), let usable = portalAnswer(answer, state) {
            return finishForPortal(with: usable, now: now, &state)
        }
        let usable: Answer?
        switch policy.judged(answer, to: question, from: attempt.upstream, state.ranking) {
        case .contradicts(let contradiction):
            return contradicted(attempt, answer, contradiction, now: now, &state)
        case .usable(let answer), .blocked(let answer): usable = answer
        case .onlyPrivate: usable = nil
        }
        let isFinal = state.verification.answered(
            question, answer, usable: usable, by: attempt.source,
            took: attempt.isSent ? attempt.startedAt.duration(to: now) : nil, now: now)
        state.compare(
            question, answer, usable: usable, from: attempt.source, among: upstreams, policy.standsIn,
            isAsked: hasClients, now: now)
        guard let answer = usable else {
            return hasOnlyPrivateAddresses(attempt, answer, now: now, &state)
        }
        if isFinal || answer.isBlock { return answeredFinally(attempt, answer, now: now, &state) }
        if !isSystemName, state.isUnreachableAnswer(question, answer, from: attempt.source, policy, now: now) {
            return leadsNowhere(attempt, answer, now: now, &state)
        }
        if held.hasRival, !isSystemName, answer.kind == .records,
            !held.mayBeReplaced(by: answer, to: question, attempt.source, state.verification)
        {
            state.verification.heard(question, answer, from: attempt.source, policy.probes, now: now)
            return leadsNowhere(attempt, answer, now: now, &state)
        }
        if holdsAbsence(attempt, answer, now: now, &state) { return }
        if answer.kind != .records, holdsBack(attempt, answer, now: now, &state) { return }
        switch attempt.provider {
        case let provider?:
            // The provider was removed after the request, and the cache may have been replaced.
            if state.ranking[provider] == nil { disableCaching() }
            state.answered(attempt, by: provider, now: now)
            if answer.kind == .ambiguousEmpty, !isDenialBelieved(state) {
                held.hold(ambiguousEmpty: answer, attempt.source, now: now)
                let isBilled = state.ranking[provider]?.traits.isBilled == true
                failures.ended(provider, .isEmpty(mayBeUnregistered: isBilled))
                providers.makeNextDue(now)
            } else {
                finish(
                    with: policy.cache.applied(to: answer.withoutAmbiguity), from: attempt.source, now: now, &state)
            }
        case nil where isSystemName:
            finish(with: policy.cache.applied(to: answer), from: .system, now: now, &state)
        case nil where isSystemFirst: systemAnswered(attempt, answer, now: now, &state)
        case nil: hold(systemAnswer: answer, now: now, &state)
        }
    }

    /// - Parameters:
    ///   - answer: the answer without private addresses.
    ///   - provider: the provider, asked for another question or by another lookup.
    func volunteered(_ answer: Answer, by provider: ProviderID, now: Instant, _ state: inout ResolverState) {
        guard !isSystemName, !isFinished else { return }
        if state.isFinal(answer, from: .provider(provider)) {
            return finishFinally(with: answer, by: provider, now: now, &state)
        }
        guard answer.kind == .records || lastKnownGood(against: Denial(answer.kind), state, now: now) == nil,
            !state.isUnreachableAnswer(question, answer, from: .provider(provider), policy, now: now),
            held.mayBeReplaced(by: answer, to: question, .provider(provider), state.verification)
        else { return }
        finish(with: policy.cache.applied(to: answer), from: .provider(provider), now: now, &state)
    }

    /// Returns the answer to a portal name; nil if it has only private addresses and the name is not the portal's own.
    /// A lookup begun before the portal was suspected has another policy.
    private func portalAnswer(_ answer: Answer, _ state: ResolverState) -> Answer? {
        let name = question.name
        return state.portal.names.mayBePrivate(name) ? answer : policy.withoutPrivateAddresses(answer, of: name)
    }

    /// Handles an answer with only private addresses that is no provider's block: a DNS rebinding attack, or an
    /// exception that needs a rule. The next upstream is asked, as only this upstream may answer so. If none has a
    /// better answer, the name has no address.
    private func hasOnlyPrivateAddresses(
        _ attempt: Attempt, _ answer: Answer, now: Instant, _ state: inout ResolverState
    ) {
        held.hold(
            ambiguousEmpty: Answer(negative: .ambiguousEmpty).remarked(.filteredAddresses), attempt.source, now: now)
        switch attempt.provider {
        case let provider?:
            state.answered(attempt, by: provider, now: now)
            failures.ended(provider, .isEmpty(mayBeUnregistered: false))
            providers.makeNextDue(now)
        case nil: systemFailed(now: now)
        }
    }

    /// Holds back an answer without an address against a forged one, unless its source is known to be right: a probe's
    /// verdict must not turn a name with addresses into one without.
    ///
    /// - Returns: false if the answer is treated as any other.
    private func holdsAbsence(
        _ attempt: Attempt, _ answer: Answer, now: Instant, _ state: inout ResolverState
    ) -> Bool {
        guard held.best != nil || held.excludedSource != nil,
            answer.kind == .noData || answer.kind == .noSuchName,
            !state.verification.isDenialRight(question, against: heldOfJudges, now: now)
        else { return false }
        leadsNowhere(attempt, answer, now: now, &state)
        return true
    }

    /// Holds an answer without a usable address: all addresses are unreachable or mismatched, or there are none. Makes
    /// the next upstream due.
    func leadsNowhere(
        _ attempt: Attempt, _ answer: Answer, now: Instant, _ state: inout ResolverState
    ) {
        if isJudge(attempt.source) { denies(answer, from: attempt.source, now: now, &state) }
        var answer = policy.cache.applied(to: answer)
        switch attempt.provider {
        case let provider?:
            state.answered(attempt, by: provider, now: now)
            failures.ended(provider, .disproved)
            providers.makeNextDue(now)
            if isAsking, case .answered(let systems, let learnedAt) = system,
                systems.kind != .records
                    || !state.verification.mayReplace(question, (answer, attempt.source), by: (systems, .system))
            {
                system = .failed
                held.compare(systems, to: question, .system, state.verification, now: learnedAt)
                state.verification.heard(
                    question, systems, from: .system, policy.probes, isDoubted: true, now: now)
            }
        case nil:
            answer = answer.withTTL(to: Bounds.systemSubstituteTTLSeconds)
            systemFailed(now: now)
        }
        held.compare(answer, to: question, attempt.source, state.verification, now: now)
    }

    /// Handles an error reply about the name: the upstream works, and the next provider is asked.
    func nameFailed(
        _ attempt: Attempt, _ failure: NameFailure, now: Instant, _ state: inout ResolverState
    ) {
        if let block = state.ranking.block(of: question, by: failure, policy, from: attempt.upstream) {
            state.verification.answered(
                question, block, usable: block, by: attempt.source, took: attempt.startedAt.duration(to: now), now: now)
            return answeredFinally(attempt, block, now: now, &state)
        }
        state.verification.failed(question, .name(failure), by: attempt.source, now: now)
        failures.nameFailed(failure, at: attempt.upstream)
        guard let provider = attempt.provider else { return systemFailed(now: now) }
        state.replied(failure, question.name, of: domain, by: provider, now: now)
        providers.makeNextDue(now)
    }

    /// Handles a reply that the provider does not serve the name: it works, and the next provider is asked. The reply
    /// is no answer, and gives no other answer a higher rank: without TLS, every router on the path can forge it.
    func notServed(_ attempt: Attempt, now: Instant, _ state: inout ResolverState) {
        state.verification.failed(question, .notServed, by: attempt.source, now: now)
        guard let provider = attempt.provider else { return systemFailed(now: now) }
        state.ranking.unserved.refused(question.name, by: provider, now: now)
        state.answered(attempt, by: provider, now: now)
        providers.makeNextDue(now)
    }

    /// Handles a reply that answers other questions and not this one: the provider works, and the next one is asked.
    func omitted(_ attempt: Attempt, now: Instant, _ state: inout ResolverState) {
        state.verification.failed(question, .fetch(.garbage), by: attempt.source, now: now)
        guard let provider = attempt.provider else { return systemFailed(now: now) }
        failures.omitted(by: provider)
        state.ranking.replied(provider, now: now)
        providers.makeNextDue(now)
    }

    func failed(
        _ attempt: Attempt, _ failure: FetchFailure, now: Instant, _ state: inout ResolverState
    ) {
        state.verification.failed(question, .fetch(failure), by: attempt.source, now: now)
        let isOfService = state.isOfService(failure, at: attempt.upstream, now: now)
        failures.failed(
            failure, at: attempt.upstream, startedAt: attempt.startedAt, isOfService: isOfService, now: now)
        guard let provider = attempt.provider else {
            state.systemPace.failed(failure, of: domain, now: now)
            return systemFailed(now: now)
        }
        guard failure != .overload else { return foundNoSlot(attempt, at: provider, now: now, &state) }
        state.ranking.failed(
            provider, failure, isOfService: isOfService, for: question.name, of: domain,
            startedAt: attempt.startedAt, now: now)
        providers.makeNextDue(now)
    }

    /// Handles a request that got no place in time, or that had to give it up because it was overdue. If the provider
    /// replies to other requests, the question fails. If it is silent, its unanswered requests hold the places. The
    /// last request is then queued again until the system resolver's answer is due.
    private func foundNoSlot(
        _ attempt: Attempt, at provider: RankedID, now: Instant, _ state: inout ResolverState
    ) {
        providers.makeNextDue(now)
        // A request that was not sent says nothing about the provider.
        if attempt.isSent {
            state.ranking.failed(provider, .overload, of: domain, startedAt: attempt.startedAt, now: now)
        }
        if state.ranking[provider]?.mayBeSilent(now) != true {
            failures.foundNoSlot()
        } else if waiters.isEmpty || isHoldOver(now) || !providers.isEmpty {
            failures.waitedInVain(for: provider, since: attempt.startedAt)
        } else {
            providers.requeue(provider, now: now)
        }
    }

    // MARK: held answers

    /// Holds the expired answer. The system resolver is asked at half of the time until it is served.
    func hold(_ cached: ExpiredAnswer) {
        expired.hold(cached)
        if case .waiting(let until) = system, let due = expired.systemDueAt {
            system = .waiting(until: min(until, due))
        }
    }

    /// Holds the system resolver's answer until the providers had their time. If a better answer stands, this one is
    /// only probed, so that a verified address can replace the expired answer later.
    func hold(systemAnswer answer: Answer, now: Instant, _ state: inout ResolverState) {
        var substitute = policy.cache.applied(to: answer)
        if !isUnserved(state.ranking, now) || state.verification.isForged(question, answer) {
            substitute = substitute.withTTL(to: state.substituteTTLSeconds)
        }
        system = .answered(substitute, at: now)
        guard isSystemFirst || isOutranked(substitute, state.verification) else { return }
        state.verification.heard(
            question, substitute, from: .system, policy.probes, isDoubted: true, now: now)
    }

    /// Discards a held system resolver answer that was found to be forged after its arrival.
    func dropForged(_ state: inout ResolverState) {
        guard case .answered(let answer, let learnedAt) = system, state.isWithheld(question, answer) else { return }
        system = .failed
        held.compare(answer, to: question, .system, state.verification, now: learnedAt)
    }

    /// Marks the source whose answer caused this lookup. Other sources are asked, unless the verdict proves a held
    /// answer.
    ///
    /// - Parameters:
    ///   - forged: the source's answer, if it was removed from the cache. Waiters get it only if no source has a better
    ///     one.
    ///   - route: a route that includes the source if it may be asked.
    func replace(
        _ source: Source, _ forged: Answer?, on route: Route, now: Instant, _ state: inout ResolverState
    ) {
        held.replace(
            source, forged, to: question, mayBeAsked: route.includes(source), state.verification, now: now)
        // New clients must not get the forged answer either.
        if forged != nil, state.verification.isGuarded, case .answeredBySystem = phase {
            phase = .asking
            system = .failed
        }
        let isProven =
            heldVerified(state.verification, mayBeSystems: isSystemName) != nil
            || heldDenial(state.verification, now: now) != nil
        if isAsking, isProven { conclude(now: now, &state) }
    }

    /// Returns a held answer of which an address was verified since it arrived.
    private func heldVerified(_ verification: Verification, mayBeSystems: Bool) -> HeldAnswer? {
        held.best == nil
            ? nil
            : held.compared.first {
                ($0.source != .system || mayBeSystems) && verification.isVerified(question, $0.answer)
            }
    }

    /// Returns a held answer without an address that another provider, or a verdict since then, shows to be right.
    private func heldDenial(_ verification: Verification, now: Instant) -> HeldAnswer? {
        guard let denial = held.denials.first(where: { isJudge($0.source) }) else { return nil }
        return verification.isDenialRight(question, against: heldOfJudges, now: now) ? denial : nil
    }

    private var heldOfJudges: [Answer] { held.compared.filter { isJudge($0.source) }.map(\.answer) }

    // MARK: ranks

    /// Whether a better answer stands: a provider's records, in the cache or held here. Then the system resolver's
    /// answer is neither given nor cached.
    private func isOutranked(_ answer: Answer, _ verification: Verification) -> Bool {
        isProvidersCached && !verification.isVerified(question, answer)
    }

    /// Whether a provider's answer is cached that clients may get, fresh or expired.
    var isProvidersCached: Bool {
        expired.answer?.sourceRank == .provider || hasProviderRecords && isRefreshAlone
    }

    /// Updates `systemIsOutranked` after an event: a probe may have verified the answer meanwhile.
    func compareSystemAnswer(_ state: inout ResolverState) {
        systemIsOutranked =
            if isAsking, case .answered(let answer, _) = system {
                isOutranked(answer, state.verification)
            } else {
                false
            }
    }

    /// Whether no provider that the lookup waits for, or may still ask, replies to names of its domain. Throttled
    /// providers count: the lookup asks them before it serves an expired answer.
    func areProvidersUnresponsive(_ ranking: UpstreamRanking, _ now: Instant) -> Bool {
        awaitsOnly {
            ranking[$0]?.isSilent(to: holder.parent, now) == true
                || ranking[$0]?.isUnresponsive(for: domain, now) == true
        }
    }

    /// Whether every request to a provider has been in flight for more than twice that provider's usual answer time.
    func areRequestsOverdue(_ ranking: UpstreamRanking, _ now: Instant) -> Bool {
        running.allSatisfy { attempt in
            attempt.provider.map { attempt.isSent && ranking[$0]?.isOverdue(since: attempt.startedAt, now) == true }
                ?? true
        }
    }

    /// Whether every provider that may be asked has replied that it does not serve the name. The system resolver's
    /// answer then takes no provider's place: it keeps its TTL, and its rank.
    private func isUnserved(_ ranking: UpstreamRanking, _ now: Instant) -> Bool {
        areProvidersDone && ranking.unservedUntil(question, among: upstreams, now: now) != nil
    }

    // MARK: the system resolver's answer

    /// Gives the system resolver's answer when the time of a lower-ranked expired answer has come.
    ///
    /// - Returns: the answer given; nil if none was.
    func giveSystemAnswerInsteadOfExpired(now: Instant, _ state: inout ResolverState) -> Answer? {
        compareSystemAnswer(&state)
        guard isAsking, case .answered(let answer, let learnedAt) = system, expired.answer != nil,
            expired.dueAt <= now, !systemIsOutranked, let reason = substituteReason(state.ranking, now: now)
        else { return nil }
        return giveSystemAnswer(with: answer.aged(since: learnedAt, now: now), reason, now: now, &state)
    }

    /// Gives clients the system resolver's answer. Running fetches to providers may still fill the cache.
    ///
    /// - Parameter reason: why the system resolver answers in the providers' place.
    /// - Returns: the answer given; nil if it waits for the other family's.
    func giveSystemAnswer(
        with answer: Answer, _ reason: SubstituteReason, now: Instant, _ state: inout ResolverState
    ) -> Answer? {
        if state.dns64.isNeeded(for: question, answer) || awaitsPreferred(answer) {
            let substituteReason = isSubstitute(.system, state.ranking, now) ? reason : nil
            beginAwaitingOtherFamily(answer, .system, substituteReason: substituteReason, now: now, &state)
            return nil
        }
        let substituteReason = isUnserved(state.ranking, now) ? nil : reason
        let kept = keep(answer, from: .system, substituteReason: substituteReason, now: now, &state)
        replyToAll(kept, from: .system, &state)
        phase = .answeredBySystem(kept, substituteReason: substituteReason, at: now)
        finishIfIdle()
        return kept
    }

    /// Continues after clients got the system resolver's answer. Providers not asked yet may replace it in the cache.
    func goOnAfterSystemAnswer(now: Instant, _ state: inout ResolverState) {
        if now < giveUpAt { askFurther(now: now, &state) } else { providers.removeAll() }
        finishIfIdle()
    }

    private func finishIfIdle() {
        if running.isEmpty, providers.isEmpty { phase = .finished(.answered) }
    }

    // MARK: ending

    /// Ends the lookup when no further reply can arrive in time.
    func conclude(now: Instant, _ state: inout ResolverState) {
        if let held = heldVerified(state.verification, mayBeSystems: isSystemName) {
            return finish(with: held, nil, now: now, &state)
        }
        let unheard = providerToConfirm(state.ranking, now: now)
        if unheard == nil, givesLastKnownGood(now: now, &state) { return }
        if let provider = unheard ?? providerToRepeat(state.ranking, now: now) {
            // The abandoned request closed its connection. The new one has the remaining time.
            providers.countRepeatedRequest()
            held.hasAskedAgain = true
            if isRefreshAlone { _ = state.ranking[provider]?.spend(now: now) }
            return begin(Upstream(provider), until: giveUpAt, now: now, &state)
        }
        if askAgain(now: now, state.ranking) { return }
        let substituteReason = substituteReason(state.ranking, now: now)
        let maySystemAnswer = isSystemName || substituteReason != nil
        if let held = heldVerified(state.verification, mayBeSystems: maySystemAnswer)
            ?? heldDenial(state.verification, now: now)
        {
            return finish(with: held, substituteReason, now: now, &state)
        }
        if let answer = held.compared.last(where: { $0.source != .system || maySystemAnswer }) {
            return concludeWithoutBetter(answer, substituteReason, now: now, &state)
        }
        if let denial = held.denial {
            // A provider that has not replied may still have the name.
            let isCertain = !failures.hasSilentUpstream && !isAnotherUnheard
            let mostSeconds = isCertain ? UInt32.max : Bounds.lastKnownGoodTTLSeconds
            let answer = denial.aged(now: now).withTTL(to: mostSeconds)
            return finish(with: answer, from: denial.source, now: now, &state)
        }
        // An ambiguous empty answer must not replace a good answer, just as a failure must not.
        let isHeld = held.excludedSource != nil || expired.own.map { !$0.answer.isNegative } ?? held.hasGoodAnswer
        // A portal's resolver gives its own address for every name, so that the filtered answer proves nothing.
        let isSystems = held.ambiguousEmpty?.source == .system
        let isPortals = isSystems && (state.portal.isSuspected || !maySystemAnswer)
        if let found = held.ambiguousEmpty, !isPortals, !isHeld || state.dns64.isOn(for: question) {
            // Limit the TTL first, and then subtract the time for which the answer was held.
            let answer = policy.cache.applied(to: found.answer.withoutAmbiguity).aged(since: found.at, now: now)
            return finish(
                with: answer, from: found.source, substituteReason: substituteReason,
                now: now, &state)
        }
        fail(now: now, &state)
    }

    private func finish(
        with held: HeldAnswer, _ substituteReason: SubstituteReason?, now: Instant, _ state: inout ResolverState
    ) {
        finish(
            with: held.aged(now: now), from: held.source, substituteReason: substituteReason, now: now, &state)
    }

    /// Returns the only provider that can be asked, if its request timed out while no other was in flight, and the
    /// clients have no other answer; else nil. Another request in flight would show whether the provider works.
    private func providerToRepeat(_ ranking: UpstreamRanking, now: Instant) -> RankedID? {
        guard mayRepeat(now), providers.attempts == 1,
            let provider = failures.timedOut.first, ranking.mayAsk(provider, for: question.kind, among: upstreams)
        else { return nil }
        return ranking[provider]?.isAsked == true || ranking[provider]?.isThrottled(now) == true ? nil : provider
    }

    /// Whether the clients have no other answer, and time is left for another request.
    func mayRepeat(_ now: Instant) -> Bool {
        now < giveUpAt && running.isEmpty && hasClients && expired.answer == nil && held.isEmpty
            && policy.fallback(for: question) == nil && mayCache
    }

    /// Concludes with an answer without a usable address, unless a better one is cached.
    ///
    /// - Parameter substituteReason: why the system resolver may answer; nil: it may not.
    private func concludeWithoutBetter(
        _ best: HeldAnswer, _ substituteReason: SubstituteReason?, now: Instant, _ state: inout ResolverState
    ) {
        guard !state.isWithheld(question, best.answer) else { return fail(now: now, &state) }
        let isCertain = !failures.hasSilentUpstream && running.isEmpty
        // A held system resolver answer has no verified address; with one it would be usable.
        let isCachedBetter =
            best.source == .system && isOutranked(best.answer, state.verification)
            || held.isCachedBetter(
                than: best.answer, to: question, best.source, expired.own, hasWaiters: hasClients, state.verification)
        if isCertain || !isCachedBetter {
            state.verification.recordNoBetterSource(question, isCertain: isCertain, now: now)
        }
        if !isCachedBetter {
            let left = best.aged(now: now)
            let answer = isCertain ? left : left.withTTL(to: Bounds.unreachableTTLSeconds)
            finish(with: answer, from: best.source, substituteReason: substituteReason, now: now, &state)
        } else if waiters.isEmpty {
            abandonAll(now: now, &state)
            // With a replaced source, the cached answer keeps its own expiry and refresh.
            phase = .finished(held.replacedSource == nil ? .foundNothingBetter : .failed(nil))
        } else {
            fail(now: now, &state)
        }
    }

    func fail(now: Instant, _ state: inout ResolverState) {
        let failure = failures.reason(
            isKeptFromView: upstreams == .nothing(.noneOfView), isPortalSuspected: state.portal.isSuspected,
            hasNoRoute: state.ranking.isCutOff,
            isUnserved: isUnserved(state.ranking, now))
        replyExpired(.failure, &state)
        if let fallback = policy.fallback(for: question) { replyToAll(fallback, from: .fallback, &state) }
        state.actions += waiters.map { .fail($0, failure.extendedError, failure.responseCode) }
        waiters = []
        if awaitLate(failure, now: now, &state) { return }
        abandonAll(now: now, &state)
        // Remembers no failure if a source was excluded, if a local limit was reached, if the settings have changed, or
        // if no time was left to ask on this network.
        let isRemembered =
            held.excludedSource == nil && !failures.wasUnplaced && !isObsolete && startedAt < giveUpAt
        phase = .finished(.failed(isRemembered ? failure : nil))
    }

    /// - Parameter substituteReason: why the system resolver may answer in the providers' place; nil: the answer is
    ///   theirs, or the name is the system resolver's.
    func finish(
        with answer: Answer, from source: Source, substituteReason: SubstituteReason? = nil, now: Instant,
        _ state: inout ResolverState
    ) {
        let substituteReason = isSubstitute(source, state.ranking, now) ? substituteReason : nil
        if state.dns64.isNeeded(for: question, answer) || awaitsPreferred(answer) {
            return beginAwaitingOtherFamily(answer, source, substituteReason: substituteReason, now: now, &state)
        }
        end(with: answer, from: source, substituteReason: substituteReason, now: now, &state)
    }

    func end(
        with answer: Answer, from source: Source, substituteReason: SubstituteReason?, now: Instant,
        _ state: inout ResolverState
    ) {
        if !failures.refusedBy.isEmpty, source.isProvider, answer.kind == .records, !answer.isBlock,
            !answer.isLastKnownGood
        {
            for provider in failures.refusedBy { state.ranking.contradicted(provider, now: now) }
        }
        let limited = limited(answer, from: source, state.ranking)
        let kept = keep(limited, from: source, substituteReason: substituteReason, now: now, &state)
        replyToAll(kept, from: source, &state)
        abandonAll(now: now, &state)
        phase = .finished(.answered)
    }

    /// Answers a portal's detection name, with TTL 0 and without caching. All waiters get the current address.
    private func finishForPortal(with answer: Answer, now: Instant, _ state: inout ResolverState) {
        disableCaching()
        finish(with: answer.withTTL(to: 0), from: .system, now: now, &state)
    }

    /// Caches the answer, and records if it is a substitute. An answer with TTL 0 is given to the waiters and
    /// not cached (RFC 1035 section 3.2.1).
    ///
    /// - Parameter substituteReason: why the answer is given in a provider's place; nil: it is no substitute.
    /// - Returns: the answer to give.
    private func keep(
        _ answer: Answer, from source: Source, substituteReason: SubstituteReason?, now: Instant,
        _ state: inout ResolverState
    ) -> Answer {
        var answer = answer
        let isSubstitute = substituteReason != nil
        if let reason = substituteReason {
            state.substituteCounts[reason, default: 0] += 1
            state.verification.substituteGiven(question, reason, now: now)
            // What a filter did matters more to clients than who answered.
            if answer.remark?.isAboutName != true { answer = answer.remarked(reason.extendedError) }
        }
        // Only an answer that the system resolver gives by the settings needs no verdict.
        let isDoubted =
            isSubstitute
            || source == .system && !isSystemName && state.awaitsVerdict(question, answer, policy, now: now)
        if isDoubted { answer = answer.withTTL(to: state.substituteTTLSeconds) }
        guard state.isStable else {
            hasAnsweredDuringChange = true
            return state.verification.arranged(question, answer, now: now)
        }
        state.learned = Learned(
            ttlSeconds: answer.ttlSeconds, isNegative: answer.kind != .records, isSubstitute: isDoubted,
            isProviders: source.isProvider, isPublic: isPublic(answer, from: source),
            mayHaveAged: mayHaveAged || answer.isLastKnownGood)
        // Addresses of DNS64 are made here.
        if answer.isLastKnownGood || state.dns64.isOn(for: question) {
            state.shadows.cannotCompare(question)
        } else {
            state.used(question, answer, from: source, now: now)
        }
        hasLearned = true
        // The cache prefers a provider's answer, even an unreachable one, to the system resolver's.
        if held.replacedSource != nil, source == .system { state.actions.append(.remove(question)) }
        // The cache prefers a provider's answer. A substitute that expires before that answer would never be served.
        let isOutlived =
            isRefresh && isSubstitute && held.replacedSource == nil
            && state.verification.outlives(answer.ttlSeconds, question, now: now)
        guard answer.ttlSeconds > 0, mayCache, !isOutlived else {
            if mayCache { state.verification.heard(question, answer, from: source, policy.probes, now: now) }
            return state.verification.arranged(question, answer, now: now)
        }
        return state.store(
            question, answer, from: source, policy, isInUse: isRefresh, isDoubted: isDoubted, now: now)
    }

    private func isPublic(_ answer: Answer, from source: Source) -> Bool {
        guard case .provider = source, answer.kind == .records else { return false }
        return !answer.isBlock && !answer.isLastKnownGood
    }

    func replyToAll(_ answer: Answer, from source: Source, _ state: inout ResolverState) {
        for waiter in waiters { state.actions.append(.reply(waiter, answer, source)) }
        waiters = []
    }

    func replyExpired(_ cause: StaleCause, _ state: inout ResolverState) {
        guard let answer = expired.answer else { return }
        state.actions += waiters.map { .replyExpired($0, answer, answer.cause(cause)) }
        waiters = []
    }

    private func abandonAll(now: Instant, _ state: inout ResolverState) {
        for attempt in running {
            state.abandon(attempt, of: holder, now: now)
            guard attempt.isSent else { continue }
            let elapsed = attempt.startedAt.duration(to: now)
            if let provider = attempt.provider {
                state.ranking.overtaken(provider, after: elapsed, now: now)
            } else if isSystemFirst {
                state.systemPace.overtaken(of: domain, after: elapsed, now: now)
            }
        }
        running = []
    }

    // MARK: the other address family

    /// Abandons all fetches of the lookup. For DNS64 it requests the other family's answer; a preferred one was
    /// requested before.
    private func beginAwaitingOtherFamily(
        _ answer: Answer, _ source: Source, substituteReason: SubstituteReason?, now: Instant,
        _ state: inout ResolverState
    ) {
        if case .awaitingOtherFamily = phase { return }
        phase = .awaitingOtherFamily(
            HeldAnswer(answer: answer, source: source, at: now, substituteReason: substituteReason))
        abandonAll(now: now, &state)
        providers.stop()
        _ = held.takeExcludedSource()
        system = .absent
        if !awaitsPreferred(answer) { state.otherFamilies.need(question) }
    }

    /// Ends the wait at the same deadlines as a wait for a first answer. An answer in hand waits less for a preferred
    /// family.
    func awaitOtherFamily(now: Instant, _ state: inout ResolverState) {
        if let dueAt = preferredDueAt {
            if dueAt <= now { winAgainstPreferred(now: now, &state) }
        } else if giveUpAt <= now {
            fail(now: now, &state)
        } else if !waiters.isEmpty, expired.dueAt <= now {
            replyExpired(.timeout, &state)
        }
    }

    func heardOfOtherFamily(
        _ outcome: OtherFamilyLookups.Outcome, now: Instant, _ state: inout ResolverState
    ) {
        if case .undecided = preference { return heardOfPreferred(outcome, now: now, &state) }
        guard case .awaitingOtherFamily(let withoutIPv6) = phase else { return }
        guard case .answer(let answer, let source) = outcome else {
            failures.failedForIPv4()
            return fail(now: now, &state)
        }
        guard let made = state.dns64.answer(from: answer, withoutIPv6.aged(now: now)) else {
            return end(with: withoutIPv6, now: now, &state)
        }
        mayHaveAged = true
        // The result ranks no higher than the lower-ranked of the two sources.
        let isSubstitute = isSubstitute(source, state.ranking, now)
        let substituteReason =
            withoutIPv6.substituteReason
            ?? (isSubstitute ? substituteReason(state.ranking, now: now) ?? .unreachable : nil)
        let kept = policy.cache.applied(to: made)
        end(
            with: substituteReason == nil ? kept : kept.withTTL(to: Bounds.systemSubstituteTTLSeconds),
            from: substituteReason == nil ? source : .system, substituteReason: substituteReason, now: now, &state)
    }

    /// Ends the lookup with an answer that waited for the other family's.
    func end(with held: HeldAnswer, now: Instant, _ state: inout ResolverState) {
        end(with: held.aged(now: now), from: held.source, substituteReason: held.substituteReason, now: now, &state)
    }

    /// Whether an answer of the source takes the place of a provider's.
    func isSubstitute(_ source: Source, _ ranking: UpstreamRanking, _ now: Instant) -> Bool {
        source == .system && !isSystemName && !isSystemFirst && !isUnserved(ranking, now)
    }
}
