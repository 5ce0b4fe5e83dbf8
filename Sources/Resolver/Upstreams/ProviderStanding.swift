// Measured state of one provider: latency, success rate, load, circuit breaker, pauses and credibility.

import DNSWire

/// The state of one provider. A class with one owner, the ranking, because a lookup reads several of its properties
/// dozens of times: the compiler copies a struct of this size for most reads of an array element.
final class ProviderStanding {
    let traits: ProviderTraits
    private var latency = LatencyEstimate()
    /// Presumed latency in milliseconds since another upstream was quicker; nil from the next answer on. Kept apart
    /// from `latency`, so that a provider that recovers has its former latency.
    private var doubt: Double?
    private var answers = DecayingCount(memory: ProviderStanding.memory)
    private var failures = DecayingCount(memory: ProviderStanding.memory)
    private var breaker = CircuitBreaker()
    /// The breaker was opened by failures that a broken name cannot cause.
    private var hasLostConnection = false
    /// The path to the provider is interrupted: its host has acknowledged none of the requests in flight.
    private var isUnacknowledged = false
    private var streak = FailureStreak()
    private(set) var credibility = Credibility()
    private var serviceFailures = ServiceFailures()
    /// Time of the last reply of any kind.
    private var repliedAt: Instant?
    /// Registrable domain of the last question that waited in vain for any reply of the provider, and the start of its
    /// request; nil since a reply.
    private var waitInVain: (domain: Name, startedAt: Instant)?
    /// Names of one parent that waited in vain for any reply, since the last reply.
    private var silentParents = SilentParents()
    private var pausedUntil: Instant?
    /// The resolver chose the pause; the provider named none.
    private var ownPauseBegan: Instant?
    private var pausesInARow = 0
    /// The end of the period in which the account's quota is used up; nil: it is not used up.
    var overQuotaUntil: Instant?
    /// The instant until which the provider's budget for all members of a fleet is used up.
    var overBudgetUntil: Instant?
    /// Requests in flight.
    private(set) var outstanding = 0
    var isAsked: Bool { outstanding > 0 }
    private var outstandingDomains = DomainsInFlight()
    /// Start of the first request since the last reply; nil if none is in flight.
    private var silentSince: Instant?
    /// Time of the last reply.
    private var heardAt: Instant?
    private var unanswered = UnansweredDomains()
    /// The reply being processed ends a period without replies.
    private var isBackFromSilence = false
    private var lastSilenceEndedAt: Instant?
    private var refreshes = TokenBucket()
    private var questions = TokenBucket()
    /// Start of the last request.
    private(set) var triedAt: Instant?
    /// Lookups that chose this provider first.
    private(set) var firstChoices = DecayingCount(memory: ProviderStanding.memory)
    /// The state last reported by `takeStateChanges`.
    var reportedState = ProviderState.unmeasured

    /// Age at which answers, failures and first choices weigh one half.
    static let memory: Duration = .seconds(60)
    /// Prior number of answers, so that one failure after little use does not halve the success share.
    private static let presumedAnswers = 10.0
    /// Cost of a failure to a client in milliseconds: the hedge delay plus the second provider's time. A failure rate
    /// of 1 % adds 2.5 ms.
    private static let failureCost = 250.0

    init(_ traits: ProviderTraits) {
        self.traits = traits
    }

    /// Returns a copy of all state, for a trial run and for another network.
    func copy() -> ProviderStanding {
        let copy = ProviderStanding(traits)
        (copy.latency, copy.doubt, copy.answers, copy.failures) = (latency, doubt, answers, failures)
        (copy.breaker, copy.hasLostConnection, copy.isUnacknowledged) = (breaker, hasLostConnection, isUnacknowledged)
        (copy.streak, copy.credibility) = (streak, credibility)
        (copy.serviceFailures, copy.repliedAt) = (serviceFailures, repliedAt)
        (copy.waitInVain, copy.silentParents) = (waitInVain, silentParents)
        (copy.pausedUntil, copy.ownPauseBegan, copy.pausesInARow) = (pausedUntil, ownPauseBegan, pausesInARow)
        (copy.overQuotaUntil, copy.overBudgetUntil) = (overQuotaUntil, overBudgetUntil)
        (copy.outstanding, copy.outstandingDomains) = (outstanding, outstandingDomains)
        (copy.silentSince, copy.heardAt) = (silentSince, heardAt)
        copy.unanswered = unanswered
        (copy.isBackFromSilence, copy.lastSilenceEndedAt) = (isBackFromSilence, lastSilenceEndedAt)
        (copy.refreshes, copy.questions, copy.triedAt) = (refreshes, questions, triedAt)
        (copy.firstChoices, copy.reportedState) = (firstChoices, reportedState)
        return copy
    }

    // MARK: evaluation

    var isShadow: Bool { traits.isShadow }
    /// Answers of names without a rule may come from the provider.
    var isInGeneralUse: Bool { !isShadow && traits.id.provider != nil }
    var isMeasured: Bool { latency.smoothed != nil }
    var isDoubted: Bool { doubt != nil }
    var openUntil: Instant? { breaker.openUntil }

    func isHalfOpen(_ now: Instant) -> Bool { breaker.isHalfOpen(now) }
    /// Whether connections to the provider fail, so that it answers no name until a request succeeds. Failures of a
    /// reachable provider may depend on the name; they change only its rank. The reported state `down` is wider: any
    /// breaker that is not closed.
    func isDown(_ now: Instant) -> Bool {
        isUnacknowledged
            || hasLostConnection && (breaker.isOpen(now) || breaker.isHalfOpen(now) && outstanding > 0)
    }
    /// Whether the provider was down, and its breaker is half-open: the next request is its trial.
    func mayBeBack(_ now: Instant) -> Bool { hasLostConnection && breaker.isHalfOpen(now) }
    /// Whether the provider could not be reached, and has not replied since.
    func isUnreached(_ now: Instant) -> Bool { isDown(now) || mayBeBack(now) }
    /// Whether a trial request to a provider that is down is in flight. After `Bounds.trialSpacing` it counts no more,
    /// and the next lookup may try: the trial's name may be broken.
    func isOnTrial(_ now: Instant) -> Bool {
        isAsked && isDown(now) && !isUntried(for: Bounds.trialSpacing, now)
    }
    /// Whether two names of this parent have waited in vain for any reply, and none has arrived since.
    func isSilent(to parent: @autoclosure () -> Name, _ now: Instant) -> Bool { silentParents.contains(parent(), now) }
    /// Whether the provider fails for every name. It is still asked first for each name.
    func isFailingForAll(_ now: Instant) -> Bool { isBlocked(now) || serviceFailures.areProof(now) }
    /// When a question is repeated whose failure may be temporary: soon, or after the pause that the provider named. A
    /// question that was repeated before is repeated after any pause.
    ///
    /// - Returns: nil if it was repeated before, and the provider is not paused.
    func repeatAt(_ now: Instant, isRepeated: Bool) -> Instant? {
        let soon = now + Bounds.repeatPause
        guard let pausedUntil, pausedUntil > now else { return isRepeated ? nil : soon }
        return ownPauseBegan != nil && !isRepeated ? soon : max(soon, pausedUntil)
    }
    /// When the failures of several names can prove that every name fails; nil: few names failed, or this instant has
    /// passed.
    func proofDueAt(_ now: Instant) -> Instant? {
        guard serviceFailures.areSuspicious, let proofAt = serviceFailures.proofAt, proofAt > now else { return nil }
        return max(proofAt, now + Bounds.repeatPause)
    }
    /// Whether several names failed in a row.
    var isSuspectedOfFailing: Bool { serviceFailures.areSuspicious }
    /// Whether any reply arrived since this instant.
    func hasReplied(since instant: Instant) -> Bool { repliedAt.map { $0 > instant } ?? false }
    func isBlocked(_ now: Instant) -> Bool { breaker.isBlocked && breaker.isOpen(now) }
    func isPaused(_ now: Instant) -> Bool { (pausedUntil ?? now) > now }

    func isOverBudget(_ now: Instant) -> Bool {
        guard let rate = traits.questionsPerSecond else { return false }
        return (overBudgetUntil ?? now) > now || questions.tokens(perSecond: rate, now: now) < 1
    }

    /// Whether no request began within this time.
    func isUntried(for pause: Duration, _ now: Instant) -> Bool { triedAt.map { now - $0 >= pause } ?? true }

    func isOverQuota(_ now: Instant) -> Bool { (overQuotaUntil ?? now) > now }

    /// Whether the provider is asked as a last resort only: it asked for a pause, its question rate or its quota is
    /// used up, or it rejects the account.
    func isThrottled(_ now: Instant) -> Bool {
        isPaused(now) || isSparedForBudget(now) || isBlocked(now) || isOverQuota(now)
    }

    /// Whether other upstreams are asked first because the budget is used up.
    private func isSparedForBudget(_ now: Instant) -> Bool {
        traits.whenUsedUp == .wait ? (overBudgetUntil ?? now) > now : isOverBudget(now)
    }

    /// Whether the provider is not asked now because its quota is used up, or because its budget is used up and the
    /// system resolver may answer in its place.
    func isUsedUp(_ now: Instant) -> Bool {
        isOverQuota(now) || traits.whenUsedUp == .system && isOverBudget(now)
    }

    /// Whether requests for several domains are in flight and no reply arrives. The breaker opens when these requests
    /// time out.
    func isSilent(_ now: Instant) -> Bool {
        isOverdue(since: silentSince, now) && outstandingDomains.count() >= Bounds.timedOutDomainsToOpen
    }

    /// Whether the provider replies to no name of this domain. Requests for several domains, or many for this one, are
    /// in flight or timed out since its last reply. Lookups still ask it, because other names may be answered.
    func isUnresponsive(for domain: @autoclosure () -> Name, _ now: Instant) -> Bool {
        guard isOverdue(since: unanswered.since, now), let triedAt, now - triedAt <= Bounds.unresponsiveMemory else {
            return false
        }
        return unanswered.include(manyOf: domain())
    }

    /// Whether requests are in flight, and no reply has arrived for more than twice the usual time.
    private func owesReply(_ now: Instant) -> Bool { isAsked && isOverdue(since: silentSince, now) }

    /// Whether requests are in flight and the provider is not known to reply, so that they may hold all its slots: it
    /// owes a reply, or a silence ended less than `Bounds.hopelessAfter` ago.
    func mayBeSilent(_ now: Instant) -> Bool {
        let wasSilent = lastSilenceEndedAt.map { now - $0 <= Bounds.hopelessAfter } ?? false
        return owesReply(now) || outstanding > 0 && wasSilent
    }

    /// Whether more than twice the usual answer time has passed.
    func isOverdue(since instant: Instant?, _ now: Instant) -> Bool {
        guard let instant else { return false }
        return now - instant > overdueAfter
    }

    /// Time after which a request is overdue: more than twice the usual time of the provider's replies.
    var overdueAfter: Duration { max(expectedAnswerTime.map { $0 * 2 } ?? Bounds.hedgeCeiling, Bounds.silentFloor) }

    /// Whether the breaker is open, or half-open with a trial in flight, or the provider is silent, or its host
    /// acknowledges no request.
    func isFailing(_ now: Instant) -> Bool {
        isUnacknowledged || breaker.isOpen(now) || isSilent(now) || (breaker.isHalfOpen(now) && outstanding > 0)
    }

    /// Expected milliseconds until a client's answer if this provider is asked first; a guess before the first
    /// measurement.
    func expected(_ now: Instant) -> Double {
        let latency = max(latency.smoothed ?? 0, doubt ?? 0)
        return latency + (1 - successShare(now)) * ProviderStanding.failureCost + credibility.cost(now)
    }

    /// The share of successes, for the ranking: near 1 with few requests, and an outage counts once.
    func successShare(_ now: Instant) -> Double {
        let good = answers.value(now) + ProviderStanding.presumedAnswers
        return good / (good + failures.value(now))
    }

    /// 95th percentile latency plus a margin, after which a hedge makes sense; nil until measured.
    var expectedAnswerTime: Duration? { latency.expectedAnswerTime.map { .milliseconds($0) } }

    /// Interval of refreshes that take three quarters of what the provider's connections carry.
    var retryStep: Duration {
        .milliseconds((latency.smoothed ?? 0) / 0.75 / Double(traits.parallelRequests * traits.maxNames))
    }

    /// 95th percentile latency; nil until the first answer.
    var slowLatency: Duration? { latency.percentile95.map { .milliseconds($0) } }

    /// Time until a second provider is asked as well.
    var hedgeDelay: Duration {
        guard let expectedAnswerTime else { return Bounds.hedgeUnmeasured }
        return min(max(expectedAnswerTime, Bounds.hedgeFloor), Bounds.hedgeCeiling)
    }

    func state(_ now: Instant) -> ProviderState {
        if isBlocked(now) { return .blocked }
        if isPaused(now) { return .throttled }
        if !breaker.isClosed { return .down }
        if isOverQuota(now) { return .overQuota }
        if isOverBudget(now) { return .overBudget }
        return isMeasured ? .up : .unmeasured
    }

    /// - Parameter allFirstChoices: first choices of all providers.
    func estimate(of allFirstChoices: Double, _ now: Instant) -> ProviderEstimate {
        ProviderEstimate(
            latencyMilliseconds: latency.smoothed, percentile95Milliseconds: latency.percentile95,
            credibility: credibility.share(now),
            firstShare: allFirstChoices > 0 ? firstChoices.value(now) / allFirstChoices : 0,
            retryAt: [pausedUntil, openUntil, overQuotaUntil].compactMap { $0 }.filter { $0 > now }.max())
    }

    // MARK: events

    /// Returns the state without measurements, back-offs, blocks and pauses. Requests in flight and spent budgets
    /// remain.
    func afterReset() -> ProviderStanding {
        let new = ProviderStanding(traits)
        new.refreshes = refreshes
        new.questions = questions
        (new.overQuotaUntil, new.overBudgetUntil) = (overQuotaUntil, overBudgetUntil)
        new.outstanding = outstanding
        new.outstandingDomains = outstandingDomains
        new.reportedState = reportedState
        return new
    }

    /// Returns the state for use on another network. The breaker closes, and the failure streak ends. Budgets, account
    /// blocks, pauses that the provider named and requests in flight hold on every network.
    ///
    /// - Parameter known: the state measured earlier on the new network; nil: none.
    func moved(to known: ProviderStanding?) -> ProviderStanding {
        let new = known?.copy() ?? ProviderStanding(traits)
        new.refreshes = refreshes
        new.questions = questions
        (new.overQuotaUntil, new.overBudgetUntil) = (overQuotaUntil, overBudgetUntil)
        new.outstanding = outstanding
        new.outstandingDomains = outstandingDomains
        new.firstChoices = firstChoices
        new.reportedState = reportedState
        new.breaker = breaker.isBlocked ? breaker : CircuitBreaker()
        new.streak = FailureStreak()
        new.pausedUntil = ownPauseBegan == nil ? pausedUntil : nil
        new.ownPauseBegan = nil
        new.pausesInARow = 0
        new.silentSince = nil
        (new.serviceFailures, new.repliedAt) = (ServiceFailures(), nil)
        (new.waitInVain, new.silentParents) = (nil, SilentParents())
        new.isUnacknowledged = false
        new.unanswered = UnansweredDomains()
        return new
    }

    /// - Parameter isCharged: the question already has its turn.
    func begun(_ holder: ShareHolder, isCharged: Bool = false, now: Instant) {
        silentSince = silentSince ?? now
        if let triedAt, now - triedAt > Bounds.unresponsiveMemory { unanswered.removeAll() }
        triedAt = now
        unanswered.begun(holder, now: now)
        outstanding += 1
        outstandingDomains.begun(holder)
        if !isCharged, let rate = traits.questionsPerSecond { questions.charge(perSecond: rate, now: now) }
    }

    /// Takes the next turn in the budget of questions.
    ///
    /// - Returns: the time of the turn, at most `Bounds.longestTurn` from now; nil: the turn would be later, and none
    ///   was taken.
    func takeTurn(now: Instant) -> Instant? {
        guard let rate = traits.questionsPerSecond else { return now }
        guard questions.readyAt(perSecond: rate, now: now) <= now + Bounds.longestTurn else { return nil }
        return questions.spend(perSecond: rate, now: now) ?? now
    }

    /// Gives a turn back whose question is not asked.
    func returnTurn(now: Instant) {
        if let rate = traits.questionsPerSecond { questions.refund(perSecond: rate, now: now) }
    }

    /// Takes `begun` back: the request is not sent yet, or never.
    func unbegun(_ holder: ShareHolder, now: Instant) {
        ended(holder, isHeard: false, now: now)
        unanswered.unbegun()
        returnTurn(now: now)
    }

    /// Records that the path to the provider is interrupted: no data was acknowledged. Ignored if no request is in
    /// flight any more. A reply, or the end of all requests, clears it.
    func unacknowledged() { isUnacknowledged = outstanding > 0 }

    func chosenFirst(now: Instant) { firstChoices.add(1, now: now) }

    /// - Parameter isHeard: whether a reply arrived, a failure included.
    func ended(_ holder: ShareHolder, isHeard: Bool, now: Instant) {
        outstanding = max(0, outstanding - 1)
        outstandingDomains.ended(holder)
        if isHeard {
            isBackFromSilence = isUnacknowledged || silentParents.isAnyKnown || isUnresponsive(for: holder.domain, now)
            if isBackFromSilence { lastSilenceEndedAt = now }
            (silentSince, heardAt) = (now, now)
            unanswered.removeAll()
        } else {
            unanswered.ended(holder)
        }
        if isHeard || outstanding == 0 { isUnacknowledged = false }
        if outstanding == 0 { silentSince = nil }
    }

    /// Records an answer. The answer that ends an outage is not measured: it includes a new connection and perhaps a
    /// retry.
    ///
    /// - Returns: whether the provider had failed before.
    func answered(after elapsed: Duration, now: Instant) -> Bool {
        let isBack = replied(now: now)
        if !isBack || !isMeasured { latency.measure(elapsed, now: now) }
        doubt = nil
        // The provider answers again: the back-off falls to its shortest.
        if let began = ownPauseBegan, let until = pausedUntil, now - elapsed >= began {
            pausedUntil = min(until, began + Bounds.throttleFloor)
        }
        return isBack
    }

    /// Records a reply without an answer, which proves that the provider works. Its time is not measured, because the
    /// resolution of a broken name takes long.
    ///
    /// - Returns: whether the provider had failed before in a way that no single name explains.
    func replied(now: Instant) -> Bool {
        let hasFailed = streak.isProvidersOwn || isBackFromSilence || serviceFailures.areSuspicious
        if !serviceFailures.isEmpty { serviceFailures = ServiceFailures() }
        return proved(hasFailed: hasFailed, now: now)
    }

    /// Records an error reply that does not depend on the name, such as SERVFAIL without a reason: connections work.
    ///
    /// - Returns: as `replied`.
    func failedService(_ name: Name, of domain: Name, now: Instant) -> Bool {
        let isBack = !serviceFailures.areSuspicious && (streak.isProvidersOwn || isBackFromSilence || !breaker.isClosed)
        noteServiceFailure(name, of: domain, now: now)
        _ = proved(hasFailed: false, now: now)
        return isBack
    }

    /// Records a failure that may affect every name.
    func noteServiceFailure(_ name: Name, of domain: Name, now: Instant) {
        heardReply(now: now)
        serviceFailures.failed(name, of: traits.hasOwnNames ? name : domain, now: now)
    }

    /// Records a reply of any kind: connections work.
    private func heardReply(now: Instant) {
        (repliedAt, waitInVain, hasLostConnection) = (now, nil, false)
        silentParents.removeAll()
    }

    private func proved(hasFailed: Bool, now: Instant) -> Bool {
        heardReply(now: now)
        isBackFromSilence = false
        if !streak.isEmpty { streak = FailureStreak() }
        answers.add(1, now: now)
        pausesInARow = 0
        return breaker.answered() || hasFailed
    }

    /// Records that the provider failed for a name without giving a reason while another provider had an answer. Lowers
    /// the success share, and with it the rank: a provider that replies SERVFAIL to everything must not stay
    /// first.
    func contradicted(now: Instant) { failures.add(1, now: now) }

    /// Records that another upstream was quicker. The elapsed time is a lower bound of the latency and counts if it
    /// exceeds the presumed one.
    func overtaken(after elapsed: Duration) {
        let presumed = doubt ?? latency.smoothed ?? Bounds.hedgeUnmeasured.milliseconds
        let elapsed = min(elapsed, traits.timeout).milliseconds
        guard elapsed > presumed else { return }
        doubt = isMeasured || isDoubted ? presumed + (elapsed - presumed) / 8 : elapsed
    }

    /// Records a failure. An outage counts as one failure regardless of the number of trials, so that a recovered
    /// provider keeps its rank.
    func failed(_ failure: FetchFailure, of domain: Name, startedAt: Instant, now: Instant) {
        if breaker.isClosed, streak.isEmpty { failures.add(1, now: now) }
        if failure == .timeout { endedUnanswered(of: domain, startedAt: startedAt, now: now) }
        let isProven = streak.add(
            failure, of: domain, isTrial: !breaker.isClosed, startedAt: startedAt, sharesRequests: traits.maxNames > 1,
            now: now)
        // Two connections have failed.
        guard isProven || isUnacknowledged && failure == .unacknowledged else { return }
        streak = FailureStreak()
        hasLostConnection = failure.isOfConnection && !failure.isOfService(mayBePortals: false)
        breaker.failed(
            ceiling: failure.isUnheard ? Bounds.unheardBackOffCeiling : Bounds.backOffCeiling, now: now)
    }

    /// Records a request that ended without a reply, or that got no slot while other requests get no reply. A reply
    /// after its start disproves the silence.
    func endedUnanswered(of domain: Name, startedAt: Instant, now: Instant) {
        if startedAt > heardAt ?? now - Bounds.unresponsiveMemory {
            unanswered.timedOut(domain, startedAt: startedAt)
        }
    }

    /// Closes the breaker and ends the failure streak, because the failures had a local cause. An account block and the
    /// measured success share remain.
    func forgive() {
        if !breaker.isBlocked { breaker = CircuitBreaker() }
        streak = FailureStreak()
        waitInVain = nil
        silentParents.removeAll()
    }

    func refused(now: Instant) { breaker.refused(now: now) }

    /// Records that a question of this domain waited in vain for any reply. The second domain opens the breaker: the
    /// provider cannot be reached, and no later question waits as long. The second name of a parent proves the silence
    /// to names of that parent. Questions that may have shared a request count once.
    ///
    /// - Returns: whether it is the second name of its parent.
    func waitedInVain(_ name: Name, parent: Name, of domain: Name, startedAt: Instant, now: Instant) -> Bool {
        waitedInVain(domain, startedAt: startedAt, now: now)
        return silentParents.waitedInVain(
            name, parent: parent, startedAt: startedAt,
            sharedWithin: traits.maxNames == 1 ? nil : Bounds.gatherWithin, now: now)
    }

    private func waitedInVain(_ domain: Name, startedAt: Instant, now: Instant) {
        guard let other = waitInVain, other.domain != domain else { return waitInVain = (domain, startedAt) }
        let between = max(startedAt - other.startedAt, other.startedAt - startedAt)
        guard between <= Bounds.unresponsiveMemory else { return waitInVain = (domain, startedAt) }
        guard traits.maxNames == 1 || between > Bounds.gatherWithin else { return }
        hasLostConnection = true
        breaker.failed(ceiling: Bounds.unheardBackOffCeiling, now: now)
    }

    func unblock() {
        if breaker.isBlocked { breaker = CircuitBreaker() }
    }

    /// - Parameter pause: the pause that the provider named; nil: none named. In that case the resolver's back-off
    ///   applies, unless the provider is paused already.
    func throttled(for pause: Duration?, now: Instant) {
        if let pause {
            pausedUntil = now + min(pause, Bounds.throttleCeiling)
            ownPauseBegan = nil
        } else if !isPaused(now) {
            pausedUntil = now + min(Bounds.throttleFloor * (1 << min(pausesInARow, 5)), Bounds.throttleCeiling)
            ownPauseBegan = now
            pausesInARow += 1
        }
    }

    func recordConfirmed(about name: Name, now: Instant) { credibility.recordConfirmed(about: name, now: now) }
    func recordForged(about name: Name, now: Instant) { credibility.recordForged(about: name, now: now) }

    /// Charges the budget for one refresh. Returns nil if it may begin, else the earliest start.
    func spend(now: Instant) -> Instant? {
        refreshes.spend(perSecond: traits.budgetPerSecond, now: now)
    }

    /// Gives back the charge of the last refresh, as its request is not sent.
    func unspend(now: Instant) { refreshes.refund(perSecond: traits.budgetPerSecond, now: now) }

    func canSpend(_ now: Instant) -> Bool { refreshes.tokens(perSecond: traits.budgetPerSecond, now: now) >= 1 }
}
