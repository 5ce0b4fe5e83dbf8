// One question in flight: who waits, whom we asked, what is still to be tried.
//
//     asked ──> asking providers ──────────── a provider answers ──> finished
//                 │ hedge: second provider         │
//                 │ all failed, or `systemHedge`   │ (also after the clients were settled)
//                 ▼                                │
//               asking the system resolver too ────┘
//                 │ it answers; providers get until `systemPatience` (soonest just after a change of the network)
//                 ▼
//               settled: clients have the system resolver's answer, a late provider's still goes to the cache.
//               Not reached while a better answer stands: LookupPrecedence.swift has the order
//
//     anywhere ── the network changes ──> asking anew, without what was heard; finished when nobody waits
//
// Beside that, where there is an expired answer: at `clientTimeout`, or when all have failed, the clients get it; the
// fetches go on, and what comes late still goes to the cache. Another network's answer is given likewise, but never
// before 1.8 s. A refresh is a lookup that nobody waits for yet.
//
// Every path ends: each fetch by its time-out, the whole by `giveUpAt`.

import DNSWire

struct Lookup {
    let question: Question
    /// Begun ahead of the expiry, and not by a client.
    let isRefresh: Bool
    let policy: NamePolicy
    var waiters: [Waiter] = []
    var isFinished = false
    /// Why there was no answer; nil while it is in flight, and when there was one.
    var failure: LookupFailure?
    var hasLearned = false
    /// There was an answer while nobody knew of which network it was.
    var hasAnsweredUnsettled = false
    var keepsAnswers = true
    /// Better than the word of somebody who cannot tell.
    var hasGoodAnswer: Bool
    /// The cache holds a provider's records that may be given after their end, too: for a refresh.
    private(set) var hasProviderRecords: Bool
    /// What the cache still holds and the policy allows.
    var expired: ExpiredAnswer?
    /// The same with its own rank, while the network in use is in doubt.
    var expiredBeforeDoubt: ExpiredAnswer?
    /// So long the expired answer waits for the upstreams, unless it is another network's.
    private var expiredAt: Instant
    /// Why it is given then.
    private var staleCause = StaleCause.timeout
    /// Who may be asked, as it was when this began.
    let upstreams: NameUpstreams
    let startedAt: Instant
    private(set) var giveUpAt: Instant
    /// So long the system resolver's answer waits for a provider's.
    private var holdUntil: Instant
    /// The network is changing: until then the system resolver is not asked, and no client gets a failure.
    var awaitsNetworkUntil: Instant?
    /// Providers not asked yet, best first.
    var untried: ArraySlice<ProviderID>
    var attemptsLeft = Bounds.maxProviderAttempts
    /// Those that another lookup tries just now: only asked when the system resolver does not stand in for them.
    var inReserve: [ProviderID]
    /// Those that want to be asked less: only asked when nobody else has anything to say.
    var withheld: [ProviderID]
    /// When the first of them is asked: at once after a failure, else as a hedge.
    var nextProviderAt: Instant?
    var system: SystemStep
    /// The system resolver has answered, and a better answer stands.
    var systemIsOutranked = false
    var running: [Attempt] = []
    /// Nothing came back from a source that cannot tell; believed when nobody knows better.
    var unproven: (answer: Answer, source: Source, at: Instant)?
    /// Leads nowhere, or to somebody else, as is known; given when nobody knows better.
    var useless: (answer: Answer, source: Source, at: Instant)?
    /// It has no IPv6 address, was said; whether it is given one depends on what its IPv4 addresses are.
    var withoutIPv6: (answer: Answer, source: Source, at: Instant)?
    /// Whose answer is to be replaced.
    var besides: Source?
    /// The same while it is not asked: until a client waits.
    var leftOut: Source?
    /// The answer that stands is better than all that was heard.
    var foundNothingBetter = false
    /// Who failed, or kept silent, may know better.
    var someoneIsUnheard = false
    /// A request found no place within the daemon's own bounds: no reason to ask the system resolver.
    var lacksRoom = false
    /// An upstream did more than to keep silent.
    var someoneFailed = false
    /// Until then the providers in reserve get the time of another lookup's trial; nil: not any more.
    private(set) var trialUntil: Instant?
    /// What upstreams replied about the name without an answer.
    var verdict: NameFailure?
    /// A provider is among them.
    var hasProvidersVerdict = false
    /// Providers that had no answer in time, on a connection that works.
    var timedOut: [ProviderID] = []
    /// Providers that gave no reason in such a reply.
    var refusedBy: [ProviderID] = []
    /// The system resolver does not stand in any more, because a provider was reached.
    var isStandInOver = false
    /// A provider was not reached, or is of no use for any name.
    var hasUnreached = false

    /// - Parameters:
    ///   - hasRecords: the answer that stands has what is asked for.
    ///   - providerRecordsEnd: when the provider's records that stand expire, or have expired; nil: there are none.
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
        inReserve = Array(route.inReserve.prefix(Bounds.maxProviderAttempts - untried.count))
        // A refresh was paid for now, and its request must not come later together with others.
        trialUntil = inReserve.isEmpty || isRefresh ? nil : now + route.trialPatience
        withheld = route.withheld
        nextProviderAt = now
        system = route.hasSystem ? .waiting(until: now + terms.hedge) : .absent
    }

    /// The same clients with the same question, on another network: all that was heard was heard elsewhere. They still
    /// have their answer in time.
    ///
    /// - Parameter route: on the network in use now.
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

    /// The system resolver is the proper source for this name and not a substitute.
    var isSystemName: Bool { upstreams == .system }

    /// After a failure: how long the expired answer stands in at once; nil without one.
    var recheck: Duration? { ownExpired == nil ? nil : policy.stale.recheck }

    /// When what is held ready is given. Another network's answer is for when those of this one had their time.
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
        if !inReserve.isEmpty || mayAskWithheld(at: holdUntil) { earliest = min(earliest, holdUntil) }
        if let nextProviderAt { earliest = min(earliest, nextProviderAt) }
        if let trialUntil { earliest = min(earliest, trialUntil) }
        if expired != nil, !waiters.isEmpty { earliest = min(earliest, expiredDueAt) }
        return earliest
    }

    // MARK: what happens

    /// Other terms turn out to be in force, from the beginning.
    mutating func hurry(_ terms: SystemTerms, now: Instant, _ around: inout Surroundings) {
        holdUntil = min(holdUntil, startedAt + terms.patience)
        if case .waiting(let until) = system { system = .waiting(until: min(until, startedAt + terms.hedge)) }
        proceed(now: now, &around)
    }

    /// - Parameter expired: for all who wait, where there was none so far.
    mutating func join(_ waiter: Waiter, _ expired: ExpiredAnswer?, now: Instant, _ around: inout Surroundings) {
        dropTooOld(now)
        if ownExpired == nil, let expired { hold(expired) }
        // What the cache keeps of a provider is not for this client: the system resolver's answer is.
        if self.expired?.origin != .provider { hasProviderRecords = false }
        // A refresh spares those who want to be asked less; for a client they are asked, and have their time.
        if isRefresh, waiters.isEmpty, !withheld.isEmpty { expiredAt = now + policy.stale.clientTimeout }
        if self.expired != nil { hurryExpired(areProvidersUnresponsive(around.ranking, now), now: now) }
        settleInsteadOfExpired(now: now, &around)
        if case .settled(let answer, let learnedAt) = system {
            let arranged = around.verification.arranged(question, answer, now: now)
            around.actions.append(.reply(waiter, arranged.aged(since: learnedAt, now: now), .system))
        } else if isExpiredDue(now), let expired = self.expired {
            around.actions.append(.replyExpired(waiter, expired, expired.cause(staleCause)))
        } else if waiters.count < Bounds.maxWaiters {
            let wasOutranked = systemIsOutranked
            waiters.append(waiter)
            compareSystemAnswer(around.verification)
            if askLeftOut(now: now) || mayAskWithheld(at: now) || wasOutranked { proceed(now: now, &around) }
        } else {
            around.refuse(waiter, self.expired)
        }
    }

    /// While no provider replies to anything, the expired answer does not wait.
    private mutating func hurryExpired(_ areUnresponsive: Bool, now: Instant) {
        guard areUnresponsive != (staleCause == .unresponsive) else { return }
        staleCause = areUnresponsive ? .unresponsive : .timeout
        expiredAt = areUnresponsive ? min(expiredAt, now) : startedAt + policy.stale.clientTimeout
    }

    /// A client waits, who is to have an answer in any case.
    ///
    /// - Returns: whether anybody was left out.
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

    /// The answer comes from elsewhere now: nobody else is asked, and who waits is answered all the same.
    mutating func keepNothing() {
        keepsAnswers = false
        askNobodyElse()
    }

    mutating func askNobodyElse() {
        untried = []
        inReserve = []
        trialUntil = nil
        withheld = []
    }

    mutating func forgetExpired() {
        expired = nil
        expiredBeforeDoubt = nil
        hasProviderRecords = false
    }

    private mutating func dropTooOld(_ now: Instant) {
        if let held = expired, held.usableUntil <= now { expired = nil }
    }

    /// An expired answer that is given soon must leave the system resolver some of the time before.
    private mutating func hold(_ expired: ExpiredAnswer) {
        self.expired = expired
        guard expired.origin != .otherNetwork else { return }
        if case .waiting(let until) = system, policy.stale.clientTimeout > .zero {
            system = .waiting(until: min(until, expiredAt - policy.stale.clientTimeout / 2))
        }
    }

    mutating func fetchFinished(
        _ id: FetchID, _ result: FetchResult, now: Instant, _ around: inout Surroundings
    ) {
        guard let index = running.firstIndex(where: { $0.id == id }) else { return }
        let attempt = running.remove(at: index)
        around.heard(attempt.upstream, result, now: now)
        around.end(attempt, isHeard: result.isHeard, now: now)
        switch result {
        case .success(let answer): answered(attempt, answer, now: now, &around)
        case .nameFailed(let failure): nameFailed(attempt, failure, now: now, &around)
        case .failure(let failure): failed(attempt, failure, now: now, &around)
        }
        proceed(now: now, &around)
    }

    mutating func timePassed(now: Instant, _ around: inout Surroundings) {
        for attempt in running where attempt.until <= now {
            around.abandon(attempt, now: now)
            failed(attempt, .timeout, now: now, &around)
        }
        running.removeAll { $0.until <= now }
        proceed(now: now, &around)
    }

    /// What follows from the state alone, after every event.
    mutating func proceed(now: Instant, _ around: inout Surroundings) {
        guard !isFinished else { return }
        if let until = awaitsNetworkUntil, until <= now { awaitsNetworkUntil = nil }
        dropTooOld(now)
        if withoutIPv6 != nil { return awaitIPv4(now: now, &around) }
        if case .settled = system { return goOnAfterSettling(now: now, &around) }
        dropWithheld(around)
        dropStandIn(now: now, &around)
        compareSystemAnswer(around.verification)
        if now < giveUpAt { askFurther(now: now, &around) }
        settleInsteadOfExpired(now: now, &around)
        if case .settled = system { return }
        if withoutIPv6 != nil { return }
        if case .answered(let answer, let learnedAt) = system, !systemIsOutranked,
            providersAreDone || holdUntil <= now
        {
            settle(with: answer.aged(since: learnedAt, now: now), now: now, &around)
        } else if isIdle(now) || giveUpAt <= now {
            conclude(now: now, &around)
        } else if !waiters.isEmpty, isExpiredDue(now) {
            replyExpired(staleCause, &around)
        }
    }

    /// Or when the system resolver's, which it outranks, would be given; a client that joins late has its own time.
    private func isExpiredDue(_ now: Instant) -> Bool {
        expiredDueAt <= now || systemIsOutranked && holdUntil <= now && !hasJoinedLate
    }
    private var hasJoinedLate: Bool { expiredAt > startedAt + policy.stale.clientTimeout }

    /// No reply is on its way, and there is nothing to wait for.
    private func isIdle(_ now: Instant) -> Bool {
        running.isEmpty && trialUntil == nil && nextProviderAt == nil && !isAwaitingNetwork(now)
    }

    var providersAreDone: Bool {
        untried.isEmpty && trialUntil == nil && !running.contains { $0.upstream != .system }
    }

    /// The providers have had their time; the system resolver's answer is due.
    func isHoldOver(_ now: Instant) -> Bool { holdUntil <= now }

    private var systemHasFailed: Bool { if case .failed = system { true } else { false } }

    /// A provider whose trial succeeded is asked, and so is one whose trial takes too long. One whose trial failed
    /// stays in reserve.
    private mutating func endTrialWait(now: Instant, _ around: Surroundings) {
        guard let until = trialUntil else { return }
        let ranking = around.ranking
        guard until <= now || !inReserve.contains(where: { ranking.isOnTrial($0, now) }) else { return }
        trialUntil = nil
        let mayAnswer = { (provider: ProviderID) in
            !ranking.isInTrouble(provider, now) || ranking.isAsked(provider) && !ranking.isOnTrial(provider, now)
        }
        let ready = inReserve.filter(mayAnswer)
        guard !ready.isEmpty else { return }
        inReserve.removeAll(where: mayAnswer)
        if ready.contains(where: { !ranking.isInTrouble($0, now) }) {
            // The outage is over, and with it the short terms of the system resolver.
            if case .waiting = system { system = .waiting(until: now + Bounds.systemHedge) }
            holdUntil = min(max(holdUntil, now + policy.systemPatience), giveUpAt)
        }
        untried += ready
        nextProviderAt = now
    }

    mutating func askFurther(now: Instant, _ around: inout Surroundings) {
        endTrialWait(now: now, around)
        if !inReserve.isEmpty, systemHasFailed || systemIsOutranked || holdUntil <= now {
            untried += inReserve
            inReserve = []
            nextProviderAt = now
        }
        if let due = nextProviderAt, due <= now {
            nextProviderAt = nil
            withheld += untried.filter { around.ranking.isWithheld($0, now) }
            untried.removeAll { around.ranking.isWithheld($0, now) }
            askNextProvider(now: now, &around)
        }
        if case .waiting(let until) = system, isSystemDue(at: until, now: now) {
            system = .running
            begin(.system, until: giveUpAt, now: now, &around)
        }
        if mayAskWithheld(at: now) {
            untried = (untried + withheld).prefix(attemptsLeft)
            withheld = []
            askNextProvider(now: now, &around)
        }
    }

    private mutating func askNextProvider(now: Instant, _ around: inout Surroundings) {
        untried.removeAll { !around.ranking.knows($0) || around.ranking.isUnreachable($0) }
        guard let provider = untried.popFirst() else { return }
        // The first one of a refresh was charged before.
        if isRefresh, attemptsLeft < Bounds.maxProviderAttempts { _ = around.ranking.spend(on: provider, now: now) }
        attemptsLeft -= 1
        begin(.provider(provider), until: now + Bounds.providerTimeout, now: now, &around)
        guard !untried.isEmpty else { return }
        let share = max(now.duration(to: startedAt + Bounds.allAskedWithin) / untried.count, Bounds.hedgeFloor)
        nextProviderAt = now + min(around.ranking.hedgeDelay(provider), share)
    }

    /// A provider that wants to be asked less is asked rather than to fail a client. A name that fails at another
    /// provider is no reason for that.
    private func mayAskWithheld(at instant: Instant) -> Bool {
        if lacksRoom || isStandInOver { return false }
        if withheld.isEmpty || attemptsLeft <= 0 || !inReserve.isEmpty || isRefresh && waiters.isEmpty { return false }
        switch system {
        case .absent, .failed: return providersAreDone || holdUntil <= instant
        case .running: return holdUntil <= instant
        case .answered: return systemIsOutranked && (providersAreDone || holdUntil <= instant)
        case .waiting, .settled: return false
        }
    }

    mutating func begin(_ upstream: Upstream, until: Instant, now: Instant, _ around: inout Surroundings) {
        let attempt = around.begin(upstream, question, until: until, now: now)
        running.append(attempt)
        around.actions.append(.fetch(attempt.id, question, upstream))
    }
}
