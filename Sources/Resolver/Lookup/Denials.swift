// What a lookup does with an upstream's answer that denies the last known good one. It asks the next provider. If that
// one denies the answer too, the lookup believes both. If only one source denies it, the answer is given on while its
// addresses show a valid certificate, for `StalePolicy.lastKnownGood` at most. Without a certificate the denial counts,
// unless another provider's reply is lost or late: then the answer is given for `Bounds.unansweredDoubt`.
//
// The system resolver in the providers' place is no judge: it neither confirms a denial nor ends a certificate's word.

import DNSWire

extension Lookup {
    /// Holds back a negative answer that denies the last known good one.
    ///
    /// - Returns: false if the answer is treated as any other.
    func holdsBack(_ attempt: Attempt, _ answer: Answer, now: Instant, _ state: inout ResolverState) -> Bool {
        guard denies(answer, from: attempt.source, now: now, &state), !isDenialBelieved(state),
            answer.kind != .ambiguousEmpty
        else { return false }
        // The system resolver's denial never replaces a provider's records.
        if attempt.provider != nil || isSystemName {
            held.hold(denial: policy.cache.applied(to: answer), attempt.source, now: now)
        }
        guard let provider = attempt.provider else {
            systemFailed(now: now)
            return true
        }
        // The provider was removed after the request, and the cache may have been replaced.
        if state.ranking[provider] == nil { disableCaching() }
        state.answered(attempt, by: provider, now: now)
        failures.ended(provider, .isAboutName)
        providers.makeNextDue(now)
        return true
    }

    /// Records whether the answer denies the last known good one, which clients then get if the next provider is late.
    @discardableResult
    func denies(_ answer: Answer, from source: Source, now: Instant, _ state: inout ResolverState) -> Bool {
        let denial = Denial(answer.kind)
        // Addresses that fail verification deny a verified answer only: many names have no TLS.
        guard mayDeny(answer, from: source, state), let good = lastKnownGood(against: denial, state, now: now),
            denial != .disproved || good.isVerified, isJudge(source) || good.isVerified && !isProvidersCached
        else { return false }
        // An account's empty reply may mean that the name is not registered.
        let mayBeUnregistered =
            answer.kind == .ambiguousEmpty && source.ranked.flatMap { state.ranking[$0]?.traits.isBilled } == true
        held.denies(denial, by: isJudge(source) && !mayBeUnregistered ? source : nil)
        guard !isDenialBelieved(state) else { return true }
        doubt(denial, by: source, now: now, &state)
        guard mayGive(good, against: denial, state, now: now) else { return true }
        // The expired answer's error stands beside the answer's own.
        let offer = state.verification.arranged(question, good.answer, now: now)
        let rendered = RenderedAnswer(offer, to: question).withEveryTTL(Bounds.lastKnownGoodTTLSeconds)
        expired.offer(
            lastKnownGood: ExpiredAnswer(
                answer: rendered, extendedError: denial.extendedError, usableUntil: now + policy.stale.lastKnownGood,
                sourceRank: good.source.isProvider ? .provider : .system),
            at: isJudge(source) ? nextIsLateAt(state.ranking, now: now) : max(now, holdUntil))
        return true
    }

    /// Gives the last known good answer because only one source denies it.
    ///
    /// - Returns: false if there is none, if it may not be given, or if the denial is believed.
    func givesLastKnownGood(now: Instant, _ state: inout ResolverState) -> Bool {
        let replaced = held.replacedSource.flatMap { isJudge($0) ? $0 : nil }
        guard let denial = held.denied ?? (replaced == nil ? nil : .disproved), mayDoubt(state),
            let good = lastKnownGood(against: denial, state, now: now),
            mayGive(good, against: denial, state, now: now)
        else { return false }
        if let replaced { held.denies(.disproved, by: replaced) }
        guard !isDenialBelieved(state) else { return false }
        doubt(denial, by: held.deniers.first ?? .system, now: now, &state)
        gaveLastKnownGood(now: now, &state)
        finish(with: given(good, against: denial), from: good.source, now: now, &state)
        return true
    }

    /// Counts the last known good answer once for the lookup.
    func gaveLastKnownGood(now: Instant, _ state: inout ResolverState) {
        guard !held.isLastKnownGoodGiven else { return }
        held.isLastKnownGoodGiven = true
        state.verification.gaveLastKnownGood(question, within: policy.stale.lastKnownGood, now: now)
    }

    /// Whether two sources deny the last known good answer. Behind a captive portal none is believed.
    func isDenialBelieved(_ state: ResolverState) -> Bool {
        held.isDenialConfirmed && !state.portal.isSuspected
    }

    /// Whether the answer may be a mistake or a lie about a last known good answer.
    private func mayDeny(_ answer: Answer, from source: Source, _ state: ResolverState) -> Bool {
        mayDoubt(state) && !answer.isSigned && !answer.isAuthentic
            && !state.verification.filters.makeFinal(answer, from: source)
    }

    /// Whether the settings and the network allow doubts. With DNS64, "no data" leads to synthesised addresses.
    private func mayDoubt(_ state: ResolverState) -> Bool {
        policy.stale.lastKnownGood > .zero && policy.limits.maxAgeSeconds > 0 && policy.cache.maxTTLSeconds > 0
            && !upstreams.areFinal && mayCache
            && state.isStable && !state.dns64.isOn(for: question)
    }

    /// Whether the source's answers have rank 1, so that they count as denials.
    func isJudge(_ source: Source) -> Bool {
        source.isProvider || source == .system && (isSystemName || isSystemFirst)
    }

    /// Whether the last known good answer may be given against the word of one source: while an address is verified, or
    /// soon after the first denial while another provider has not said anything. A lost reply proves nothing.
    private func mayGive(
        _ good: LastKnownGood, against denial: Denial, _ state: ResolverState, now: Instant
    ) -> Bool {
        guard !good.isVerified else { return true }
        guard denial != .disproved, held.deniers.contains(where: \.isProvider), isAnotherUnheard,
            let doubt = state.verification.doubt(about: question)
        else { return false }
        return now + .seconds(Int64(Bounds.lastKnownGoodTTLSeconds)) <= doubt.since + Bounds.unansweredDoubt
    }

    /// Whether another provider than those that deny the last known good answer may have it: its reply is awaited or
    /// lost, or it is asked next. A last resort is not asked after a denial.
    var isAnotherUnheard: Bool {
        running.contains { $0.provider != nil } || !providers.isDone || providers.hasTrialPending
            || failures.hasUnheard(besides: held.deniers)
    }

    /// Returns the provider to ask once more because its lost reply would confirm or refute a denial; nil: there is
    /// none, or no budget for it.
    func providerToConfirm(_ ranking: UpstreamRanking, now: Instant) -> RankedID? {
        guard held.denied != nil, !held.isDenialConfirmed, !held.hasAskedAgain, now < giveUpAt, running.isEmpty,
            mayCache, failures.timedOut.count == 1, let provider = failures.timedOut.first,
            ranking.mayAsk(provider, for: question.kind, among: upstreams), !ranking.isInTrouble(provider, now),
            !isRefreshAlone || ranking[provider]?.canSpend(now) == true
        else { return nil }
        return provider
    }

    func lastKnownGood(against denial: Denial, _ state: ResolverState, now: Instant) -> LastKnownGood? {
        state.verification.lastKnownGood(question, against: denial, within: policy.stale.lastKnownGood, now: now)
    }

    private func given(_ good: LastKnownGood, against denial: Denial) -> Answer {
        let seconds = min(Bounds.lastKnownGoodTTLSeconds, policy.cache.maxTTLSeconds)
        return good.answer.mapTTLs { _ in seconds }.remarked(denial.extendedError)
    }

    private func doubt(_ denial: Denial, by source: Source, now: Instant, _ state: inout ResolverState) {
        // A portal's denials are not counted, and its probes tell nothing.
        guard !state.portal.isSuspected else { return }
        state.verification.doubted(question, denial, by: source, within: policy.stale.lastKnownGood, now: now)
    }

    /// When the provider that is asked next, or the last one in flight, is late.
    private func nextIsLateAt(_ ranking: UpstreamRanking, now: Instant) -> Instant {
        if let next = providers.next { return now + ranking.hedgeDelay(next) }
        let late = running.compactMap { attempt in attempt.provider.map { attempt.startedAt + ranking.hedgeDelay($0) } }
        return max(now, late.max() ?? now)
    }
}
