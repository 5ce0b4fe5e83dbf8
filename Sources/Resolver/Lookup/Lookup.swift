// One question in flight: its waiters, its fetches, and the upstreams still to be asked.
//
//     asked ──> asking providers ──────────── a provider answers ──> finished
//                 │ hedge: second provider         │
//                 │ all failed, or `systemHedge`   │ (also after the clients got a reply)
//                 ▼                                │
//               asking the system resolver too ────┘
//                 │ it answers; providers get until `systemPatience` (shortest after a network change)
//                 ▼
//               settled: clients have the system resolver's answer; a late provider's still goes to the cache.
//               Not reached while a better answer exists (ranks: LookupPrecedence.swift)
//
//     any state ── the network changes ──> asking anew, without earlier replies; finished without waiters
//
// An expired answer, if there is one, is given at `clientTimeout` or when all upstreams have failed. Fetches continue,
// and late answers still go to the cache. Another network's expired answer is given after 1.8 s at the earliest. A
// refresh is a lookup without waiters.
//
// Every path terminates: each fetch by its timeout, the lookup by `giveUpAt`.

import DNSWire

struct Lookup {
    let question: Question
    /// Started before the answer's expiry, and not by a client.
    let isRefresh: Bool
    let policy: NamePolicy
    var waiters: [Waiter] = []
    var isFinished = false
    /// Reason why there was no answer; nil while in flight and after an answer.
    var failure: LookupFailure?
    var hasLearned = false
    /// An answer arrived during a network change, so it was not cached.
    var hasAnsweredDuringChange = false
    var keepsAnswers = true
    /// The cached answer that a refresh renews has records. An ambiguous empty answer must not replace it.
    var hasGoodAnswer: Bool
    /// The cache holds a provider's records that may still be served stale: for a refresh.
    private(set) var hasProviderRecords: Bool
    /// The expired answer in the cache, if the policy allows it.
    var expired: ExpiredAnswer?
    /// The same before it was downgraded because of a suspected network change.
    var expiredBeforeDoubt: ExpiredAnswer?
    /// When the expired answer is given, unless it is from another network.
    private var expiredAt: Instant
    /// The reason for giving it then.
    private var staleCause = StaleCause.timeout
    /// The upstreams allowed when the lookup began.
    let upstreams: NameUpstreams
    let startedAt: Instant
    private(set) var giveUpAt: Instant
    /// Until then the system resolver's answer waits for a provider's.
    private var holdUntil: Instant
    /// End of the network change. Until then the system resolver is not asked, and no client gets a failure.
    var awaitsNetworkUntil: Instant?
    /// Providers not asked yet, best first.
    var untried: ArraySlice<ProviderID>
    var attemptsLeft = Bounds.maxProviderAttempts
    /// Providers whose trial another lookup runs: asked after the trial, or if the system resolver does not stand in.
    var trialPending: [ProviderID]
    /// Throttled, over-budget and blocked providers: asked only if no other upstream has an answer.
    var throttled: [ProviderID]
    /// When the first of `untried` is asked: at once after a failure, else after the hedge delay.
    var nextProviderAt: Instant?
    var system: SystemStep
    /// The system resolver has answered, but a better answer exists.
    var systemIsOutranked = false
    var running: [Attempt] = []
    /// An ambiguous empty answer; given if no other upstream has a better one.
    var unproven: (answer: Answer, source: Source, at: Instant)?
    /// The best answer without a usable address: all are unreachable or mismatched. Given if no upstream has a better
    /// one.
    var unreachableAnswer: (answer: Answer, source: Source, at: Instant)?
    /// A AAAA answer without IPv6 addresses; the A answer decides about DNS64.
    var withoutIPv6: (answer: Answer, source: Source, at: Instant)?
    /// The source whose answer this lookup should replace.
    var besides: Source?
    /// The same source while it is not asked; it is asked as soon as a client waits.
    var leftOut: Source?
    /// The cached answer is better than all replies.
    var foundNothingBetter = false
    /// An upstream failed or did not reply, so it may have a better answer.
    var hasSilentUpstream = false
    /// A request got no slot within the daemon's limits, which is no reason to ask the system resolver.
    var lacksRoom = false
    /// An upstream failed other than by a timeout.
    var hasFailedUpstream = false
    /// Until then the providers in `trialPending` wait for another lookup's trial; nil: no wait.
    private(set) var trialUntil: Instant?
    /// Error replies about the name.
    var verdict: NameFailure?
    /// A provider sent one of them.
    var hasProvidersVerdict = false
    /// Providers that timed out on a working connection.
    var timedOut: [ProviderID] = []
    /// Providers whose error reply gave no reason.
    var refusedBy: [ProviderID] = []
    /// The system resolver no longer stands in, because a provider was reached.
    var isStandInOver = false
    /// A provider was not reached, or cannot serve any name.
    var hasUnreached = false

    /// - Parameters:
    ///   - hasRecords: the cached answer has records of the requested type.
    ///   - providerRecordsEnd: expiry, possibly past, of the cached records of a provider; nil: there are none.
    init(
        _ question: Question, along route: Route, policy: NamePolicy, isRefresh: Bool, hasRecords: Bool,
        providerRecordsEnd: Instant? = nil, _ terms: SystemTerms, now: Instant
    ) {
        self.question = question
        hasGoodAnswer = isRefresh && hasRecords
        let maxAge = Duration.seconds(Int64(policy.limits.maxAgeSeconds))
        hasProviderRecords = maxAge > .zero && providerRecordsEnd.map { now < $0 + maxAge } ?? false
        self.policy = policy
        self.isRefresh = isRefresh
        upstreams = route.upstreams
        startedAt = now
        giveUpAt = now + Bounds.answerWithin
        expiredAt = now + policy.stale.clientTimeout
        holdUntil = now + terms.patience
        untried = route.providers.prefix(Bounds.maxProviderAttempts)
        trialPending = Array(route.trialPending.prefix(Bounds.maxProviderAttempts - untried.count))
        // A refresh does not wait for a trial. Its budget is charged now, so its request must not be sent later with
        // others.
        trialUntil = trialPending.isEmpty || isRefresh ? nil : now + route.trialPatience
        throttled = route.throttled
        nextProviderAt = now
        system = route.hasSystem ? .waiting(until: now + terms.hedge) : .absent
    }

    /// Returns a new lookup for the same clients on another network, without the replies received so far. The clients'
    /// deadline stays.
    ///
    /// - Parameter route: the route on the current network.
    func startedAnew(along route: Route, policy: NamePolicy, _ terms: SystemTerms, now: Instant) -> Lookup {
        var new = Lookup(
            question, along: route, policy: policy, isRefresh: isRefresh, hasRecords: false, terms, now: now)
        new.waiters = waiters
        new.giveUpAt = giveUpAt
        if let until = new.trialUntil, until >= giveUpAt { new.trialUntil = now }
        new.holdUntil = min(new.holdUntil, giveUpAt)
        new.expiredAt = expiredAt
        new.expired = expired
        new.expiredBeforeDoubt = expiredBeforeDoubt
        return new
    }

    /// The system resolver is the designated upstream of this name, not a substitute.
    var isSystemName: Bool { upstreams == .system }

    /// Time after a failure for which the expired answer is served at once; nil without one.
    var recheck: Duration? { ownExpired == nil ? nil : policy.stale.recheck }

    /// When the expired answer is given. One from another network waits until this network's upstreams had their time.
    var expiredDueAt: Instant {
        guard expired?.origin == .otherNetwork else { return expiredAt }
        return max(expiredAt, startedAt + Bounds.otherNetworkPatience)
    }

    var nextDeadline: Instant {
        var earliest = running.first?.until ?? giveUpAt
        for attempt in running { earliest = min(earliest, attempt.until) }
        switch system {
        case .settled: return untried.isEmpty ? earliest : min(earliest, nextProviderAt ?? earliest)
        case .waiting(let until): earliest = min(earliest, max(until, trialUntil ?? until))
        case .answered:
            if !systemIsOutranked || expired != nil && !waiters.isEmpty && !hasJoinedLate {
                earliest = min(earliest, holdUntil)
            }
        case .absent, .running, .failed: break
        }
        earliest = min(earliest, giveUpAt)
        if let awaitsNetworkUntil, running.isEmpty { earliest = min(earliest, awaitsNetworkUntil) }
        if !trialPending.isEmpty || mayAskThrottled(at: holdUntil) { earliest = min(earliest, holdUntil) }
        if let nextProviderAt { earliest = min(earliest, nextProviderAt) }
        if let trialUntil { earliest = min(earliest, trialUntil) }
        if expired != nil, !waiters.isEmpty { earliest = min(earliest, expiredDueAt) }
        return earliest
    }

    // MARK: events

    /// Applies shorter deadlines, counted from the start of the lookup.
    mutating func hurry(_ terms: SystemTerms, now: Instant, _ state: inout ResolverState) {
        holdUntil = min(holdUntil, startedAt + terms.patience)
        if case .waiting(let until) = system { system = .waiting(until: min(until, startedAt + terms.hedge)) }
        proceed(now: now, &state)
    }

    /// - Parameter expired: the expired answer from the cache. All waiters use it if none is held yet.
    mutating func join(_ waiter: Waiter, _ expired: ExpiredAnswer?, now: Instant, _ state: inout ResolverState) {
        dropTooOld(now)
        if ownExpired == nil, let expired { hold(expired) }
        // The cache gave this client no provider's answer, so none outranks the system resolver's.
        if self.expired?.origin != .provider { hasProviderRecords = false }
        // A refresh does not ask throttled providers. They are asked for a client, so the full timeout begins now.
        if isRefresh, waiters.isEmpty, !throttled.isEmpty { expiredAt = now + policy.stale.clientTimeout }
        if self.expired != nil {
            let remainsLost = staleCause == .unresponsive && areRequestsOverdue(state.ranking, now)
            hurryExpired(remainsLost || areProvidersUnresponsive(state.ranking, now), now: now)
        }
        settleInsteadOfExpired(now: now, &state)
        if case .settled(let answer, let learnedAt) = system {
            let arranged = state.verification.arranged(question, answer, now: now)
            state.actions.append(.reply(waiter, arranged.aged(since: learnedAt, now: now), .system))
        } else if isExpiredDue(now), let expired = self.expired {
            state.actions.append(.replyExpired(waiter, expired, expired.cause(staleCause)))
        } else if waiters.count < Bounds.maxWaiters {
            let wasOutranked = systemIsOutranked
            waiters.append(waiter)
            compareSystemAnswer(state.verification)
            if askLeftOut(now: now) || mayAskThrottled(at: now) || wasOutranked { proceed(now: now, &state) }
        } else {
            state.refuse(waiter, self.expired)
        }
    }

    /// Serves the expired answer at once while no provider replies.
    private mutating func hurryExpired(_ areUnresponsive: Bool, now: Instant) {
        guard areUnresponsive != (staleCause == .unresponsive) else { return }
        staleCause = areUnresponsive ? .unresponsive : .timeout
        expiredAt = areUnresponsive ? min(expiredAt, now) : startedAt + policy.stale.clientTimeout
    }

    /// Asks the excluded source too, because a client waits.
    ///
    /// - Returns: whether a source was excluded.
    private mutating func askLeftOut(now: Instant) -> Bool {
        guard let source = leftOut.take() else { return false }
        switch source {
        case .provider(let provider):
            untried.append(provider)
            nextProviderAt = nextProviderAt ?? now
        case .system: system = .waiting(until: now + Bounds.systemHedge)
        case .local, .fallback: break
        }
        return true
    }

    /// Disables caching after a change of routing. No further upstream is asked; waiters still get the answer.
    mutating func disableCaching() {
        keepsAnswers = false
        askNobodyElse()
    }

    mutating func askNobodyElse() {
        untried = []
        trialPending = []
        trialUntil = nil
        throttled = []
    }

    mutating func forgetExpired() {
        expired = nil
        expiredBeforeDoubt = nil
        hasProviderRecords = false
    }

    private mutating func dropTooOld(_ now: Instant) {
        if let held = expired, held.usableUntil <= now { expired = nil }
    }

    /// Holds the expired answer. The system resolver is asked at half of the time until it is served.
    private mutating func hold(_ expired: ExpiredAnswer) {
        self.expired = expired
        guard expired.origin != .otherNetwork else { return }
        if case .waiting(let until) = system, policy.stale.clientTimeout > .zero {
            system = .waiting(until: min(until, expiredAt - policy.stale.clientTimeout / 2))
        }
    }

    mutating func fetchFinished(
        _ id: FetchID, _ result: FetchResult, now: Instant, _ state: inout ResolverState
    ) {
        guard let index = running.firstIndex(where: { $0.id == id }) else { return }
        let attempt = running.remove(at: index)
        state.heard(attempt.upstream, result, now: now)
        state.end(attempt, isHeard: result.isHeard, now: now)
        switch result {
        case .success(let answer): answered(attempt, answer, now: now, &state)
        case .nameFailed(let failure): nameFailed(attempt, failure, now: now, &state)
        case .failure(let failure): failed(attempt, failure, now: now, &state)
        }
        proceed(now: now, &state)
    }

    mutating func timePassed(now: Instant, _ state: inout ResolverState) {
        for attempt in running where attempt.until <= now {
            state.abandon(attempt, now: now)
            failed(attempt, .timeout, now: now, &state)
        }
        running.removeAll { $0.until <= now }
        proceed(now: now, &state)
    }

    /// Takes the steps that are due. Called after every event.
    mutating func proceed(now: Instant, _ state: inout ResolverState) {
        guard !isFinished else { return }
        if let until = awaitsNetworkUntil, until <= now { awaitsNetworkUntil = nil }
        dropTooOld(now)
        if withoutIPv6 != nil { return awaitIPv4(now: now, &state) }
        if case .settled = system { return goOnAfterSettling(now: now, &state) }
        dropThrottled(state)
        dropStandIn(now: now, &state)
        compareSystemAnswer(state.verification)
        if now < giveUpAt { askFurther(now: now, &state) }
        settleInsteadOfExpired(now: now, &state)
        if case .settled = system { return }
        if withoutIPv6 != nil { return }
        if case .answered(let answer, let learnedAt) = system, !systemIsOutranked,
            providersAreDone || holdUntil <= now
        {
            settle(with: answer.aged(since: learnedAt, now: now), now: now, &state)
        } else if isIdle(now) || giveUpAt <= now {
            conclude(now: now, &state)
        } else if !waiters.isEmpty, isExpiredDue(now) {
            replyExpired(staleCause, &state)
        }
    }

    /// Whether the expired answer is due: at its time, or when the lower-ranked system resolver's answer would be
    /// given. A client that joins late has its own timeout.
    private func isExpiredDue(_ now: Instant) -> Bool {
        expiredDueAt <= now || systemIsOutranked && holdUntil <= now && !hasJoinedLate
    }
    private var hasJoinedLate: Bool { expiredAt > startedAt + policy.stale.clientTimeout }

    /// Whether no fetch runs and no timer is pending.
    private func isIdle(_ now: Instant) -> Bool {
        running.isEmpty && trialUntil == nil && nextProviderAt == nil && !isAwaitingNetwork(now)
    }

    var providersAreDone: Bool {
        untried.isEmpty && trialUntil == nil && !running.contains { $0.upstream != .system }
    }

    /// Whether the providers had their time, so that the system resolver's answer is due.
    func isHoldOver(_ now: Instant) -> Bool { holdUntil <= now }

    private var systemHasFailed: Bool { if case .failed = system { true } else { false } }

    /// Ends the wait for other lookups' trials. Providers whose trial succeeded or takes too long are asked. Providers
    /// whose trial failed stay in `trialPending`.
    private mutating func endTrialWait(now: Instant, _ state: ResolverState) {
        guard let until = trialUntil else { return }
        let ranking = state.ranking
        guard until <= now || !trialPending.contains(where: { ranking.isOnTrial($0, now) }) else { return }
        trialUntil = nil
        let mayAnswer = { (provider: ProviderID) in
            !ranking.isInTrouble(provider, now) || ranking.isAsked(provider) && !ranking.isOnTrial(provider, now)
        }
        let ready = trialPending.filter(mayAnswer)
        guard !ready.isEmpty else { return }
        trialPending.removeAll(where: mayAnswer)
        if ready.contains(where: { !ranking.isInTrouble($0, now) }) {
            // The outage is over, so the system resolver's usual deadlines apply.
            if case .waiting = system { system = .waiting(until: now + Bounds.systemHedge) }
            holdUntil = min(max(holdUntil, now + policy.systemPatience), giveUpAt)
        }
        untried += ready
        nextProviderAt = now
    }

    mutating func askFurther(now: Instant, _ state: inout ResolverState) {
        endTrialWait(now: now, state)
        if !trialPending.isEmpty, systemHasFailed || systemIsOutranked || holdUntil <= now {
            untried += trialPending
            trialPending = []
            nextProviderAt = now
        }
        if let due = nextProviderAt, due <= now {
            nextProviderAt = nil
            throttled += untried.filter { state.ranking.isThrottled($0, now) }
            untried.removeAll { state.ranking.isThrottled($0, now) }
            askNextProvider(now: now, &state)
        }
        if case .waiting(let until) = system, isSystemDue(at: until, now: now) {
            system = .running
            begin(.system, until: giveUpAt, now: now, &state)
        }
        if mayAskThrottled(at: now) {
            untried = (untried + throttled).prefix(attemptsLeft)
            throttled = []
            askNextProvider(now: now, &state)
        }
    }

    private mutating func askNextProvider(now: Instant, _ state: inout ResolverState) {
        untried.removeAll { !state.ranking.knows($0) || state.ranking.isUnreachable($0) }
        guard let provider = untried.popFirst() else { return }
        // A refresh was charged for its first request before it began.
        if isRefresh, attemptsLeft < Bounds.maxProviderAttempts { _ = state.ranking.spend(on: provider, now: now) }
        attemptsLeft -= 1
        begin(.provider(provider), until: now + Bounds.providerTimeout, now: now, &state)
        guard !untried.isEmpty else { return }
        let share = max(now.duration(to: startedAt + Bounds.allAskedWithin) / untried.count, Bounds.hedgeFloor)
        nextProviderAt = now + min(state.ranking.hedgeDelay(provider), share)
    }

    /// Whether throttled providers may be asked: only to prevent a failure for a client, and not because the name
    /// failed at another provider.
    private func mayAskThrottled(at instant: Instant) -> Bool {
        if lacksRoom || isStandInOver { return false }
        if throttled.isEmpty || attemptsLeft <= 0 || !trialPending.isEmpty || isRefresh && waiters.isEmpty {
            return false
        }
        switch system {
        case .absent, .failed: return providersAreDone || holdUntil <= instant
        case .running: return holdUntil <= instant
        case .answered: return systemIsOutranked && (providersAreDone || holdUntil <= instant)
        case .waiting, .settled: return false
        }
    }

    mutating func begin(_ upstream: Upstream, until: Instant, now: Instant, _ state: inout ResolverState) {
        let attempt = state.begin(upstream, question, until: until, now: now)
        running.append(attempt)
        state.actions.append(.fetch(attempt.id, question, upstream))
    }
}
