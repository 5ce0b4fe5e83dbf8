// The gate to plain DNS: when the system resolver may answer in place of the providers.

import DNSWire

extension Lookup {
    /// The gate to plain DNS: decides whether the system resolver may answer in the providers' place now.
    ///
    /// - Parameter isAsking: whether the caller wants to ask the system resolver, so that its answer is there in time;
    ///   silence of a provider is then suspected earlier.
    /// - Returns: why the system resolver may answer; nil: it may not.
    func substituteReason(_ ranking: UpstreamRanking, isAsking: Bool = false, now: Instant) -> SubstituteReason? {
        guard !failures.lacksRoom else { return nil }
        guard policy.standsIn == .unreachable, !isSystemFirst else {
            let isTime = isAsking || areProvidersDone || isHoldOver(now)
            return isTime && (isSystemFirst || policy.standsIn == .anyFailure) ? .setting : nil
        }
        return outage(ranking, isAsking: isAsking, now: now)
    }

    /// Whether the providers that filter nothing may be asked now, in the place of those that filter. Their answer is
    /// given at once, so that silence has to be proven.
    func mayAskStandIns(_ ranking: UpstreamRanking, now: Instant) -> Bool {
        providers.hasStandIns && !failures.lacksRoom
            && outage(ranking, isAsking: false, admitsNext: true, now: now) != nil
    }

    /// Returns why no provider's answer can be had; nil: one can.
    ///
    /// - Parameters:
    ///   - isAsking: as for `substituteReason`.
    ///   - admitsNext: another provider may answer if the budget or quota of one is used up.
    private func outage(
        _ ranking: UpstreamRanking, isAsking: Bool, admitsNext: Bool = false, now: Instant
    ) -> SubstituteReason? {
        guard !failures.isAboutName else { return nil }
        var reason = SubstituteReason.unreachable
        // A provider without an outcome is in flight or not asked yet: see below. A repeat in flight keeps the outcome.
        for (provider, outcome) in failures.outcomes where !providers.includes(provider) {
            let isRunning = running.contains { $0.provider == provider }
            switch outcome {
            case .isAboutName, .isEmpty(mayBeUnregistered: false): return nil
            case .isEmpty: reason = .notServed
            case .noReply(let instant):
                let isBack = ranking[provider]?.hasReplied(since: instant) == true
                guard !isBack || isUnreachable(provider, ranking, now) else { return nil }
            case .serviceFailed:
                guard ranking[provider]?.isFailingForAll(now) == true else { return nil }
                reason = .failing
            case .disproved where isRunning, .usedUp where isRunning: break
            case .disproved: reason = .disproved
            case .usedUp:
                let setting = ranking[provider]?.traits.whenUsedUp
                guard setting == .system || admitsNext && setting == .next else { return nil }
                reason = .usedUp
            }
        }
        for attempt in running {
            guard let provider = attempt.provider, ranking[provider]?.isUnreached(now) != true else { continue }
            // A wait for a turn or for a fleet says nothing about the provider; a wait for a place at a silent one
            // does.
            if isAsking || isHoldOver(now), attempt.isSent || attempt.awaitsPlace,
                ranking[provider]?.isSilent(to: holder.parent, now) == true
            {
                continue
            }
            let isSilent = attempt.isSent && ranking[provider]?.hasReplied(since: attempt.startedAt) != true
            guard isSilent, (isAsking ? silenceSuspectedAt(attempt) : silenceProvenAt(attempt)) <= now else {
                return nil
            }
        }
        for provider in providers.askedBeforeExpired {
            guard isUnreachable(provider, ranking, now) else { return nil }
        }
        if providers.hasBlocked { reason = .failing }
        return reason
    }

    private func isUnreachable(_ provider: RankedID, _ ranking: UpstreamRanking, _ now: Instant) -> Bool {
        ranking[provider]?.isUnreached(now) == true || ranking[provider]?.isSilent(to: holder.parent, now) == true
    }

    /// Whether the lookup waits for providers that are known to be silent to names of its parent, and for no other.
    func waitsForSilence(_ ranking: UpstreamRanking, _ now: Instant) -> Bool {
        awaitsOnly { isUnreachable($0, ranking, now) }
    }

    /// Whether all providers that the lookup waits for, or may still ask before it gives an expired answer, satisfy
    /// `isSuch`; false if there are none.
    func awaitsOnly(_ isSuch: (RankedID) -> Bool) -> Bool {
        let awaited = running.compactMap(\.provider) + providers.askedBeforeExpired
        return !awaited.isEmpty && awaited.allSatisfy(isSuch)
    }

    /// Whether the answer that was given in the providers' place may be given no longer: a provider that the lookup
    /// still waits for has replied to other questions since.
    func isWithdrawn(_ ranking: UpstreamRanking, now: Instant) -> Bool {
        guard case .answeredBySystem(_, .some, let answeredAt) = phase else { return false }
        let hasRecovered = running.contains { attempt in
            attempt.provider.map { ranking[$0]?.hasReplied(since: answeredAt) == true } ?? false
        }
        return hasRecovered && substituteReason(ranking, now: now) == nil
    }

    /// When the absence of any reply since the request proves that its provider is silent.
    private func silenceProvenAt(_ attempt: Attempt) -> Instant {
        guard attempt.startedAt > startedAt else { return holdUntil }
        // Just after a network change, the first answer is needed soon.
        let isAtFirst = systemHedge == .zero && !attempt.hasWaited
        let hold = startedAt.duration(to: holdUntil)
        return max(holdUntil, attempt.startedAt + (isAtFirst ? min(hold, attempt.silentAfter) : attempt.silentAfter))
    }

    /// When the system resolver is asked, so that its answer is there when silence is proven.
    private func silenceSuspectedAt(_ attempt: Attempt) -> Instant {
        if case .waiting(let until) = system, attempt.startedAt < until || until <= startedAt { return until }
        return attempt.startedAt + min(systemHedge, Bounds.silentFloor)
    }

    /// When the system resolver may be asked because no reply has arrived; nil: no request is in flight.
    var silenceSuspicionDueAt: Instant? {
        running.lazy.filter { $0.provider != nil && $0.isSent }.map(silenceSuspectedAt).max()
    }

    /// When silence may open the gate, if no reply arrives before; nil: no request is in flight.
    var silenceDueAt: Instant? {
        var latest: Instant?
        for attempt in running where attempt.provider != nil && attempt.isSent {
            latest = max(latest ?? holdUntil, silenceProvenAt(attempt))
        }
        return latest
    }

    /// Records proven silence of providers, so that later questions need not wait for its proof.
    func noteSilence(_ ranking: UpstreamRanking, now: Instant) {
        for attempt in running {
            guard let provider = attempt.provider, attempt.isSent, silenceProvenAt(attempt) <= now,
                let standing = ranking[provider], standing.isOverdue(since: attempt.startedAt, now),
                !standing.isUnreached(now), !standing.hasReplied(since: attempt.startedAt)
            else { continue }
            ranking.waitedInVain(
                provider, question.name, parent: holder.parent, of: domain, startedAt: attempt.startedAt, now: now)
        }
    }
}
