// What is known about one provider: how quick, how reliable and how busy it is, and what keeps it from being asked.

import DNSWire

struct ProviderStanding {
    let traits: ProviderTraits
    private var latency = LatencyEstimate()
    /// Milliseconds that it is presumed to take since it was overtaken; nil from its next answer on. Kept apart, so
    /// that a provider that comes back is as quick as it was before.
    private var doubt: Double?
    private var answers = DecayingCount(memory: ProviderStanding.memory)
    private var failures = DecayingCount(memory: ProviderStanding.memory)
    private var breaker = Breaker()
    /// The breaker was opened by failures that no name can cause.
    private var hasLostConnection = false
    /// The path is interrupted: the provider's kernel acknowledges no request that is out.
    private var isUnacknowledged = false
    private var streak = FailureStreak()
    private(set) var trust = Trust()
    private var pausedUntil: Instant?
    /// It did not say for how long it wants to be left alone.
    private var hasOwnPause = false
    private var pausesInARow = 0
    /// Requests out, and since when no answer has come although one was out.
    private(set) var outstanding = 0
    /// How many of them ask for each registrable domain.
    private var outstandingDomains: [Name: Int] = [:]
    private var silentSince: Instant?
    private var heardAt: Instant?
    /// Requests since the last reply that are out or have timed out, by registrable domain, and when they began.
    private var unanswered: [Name: Int] = [:]
    private var unansweredSince: Instant?
    /// The reply in hand ends a time without any.
    private var isBackFromSilence = false
    private var silentUntil: Instant?
    private var refreshes = TokenBucket()
    private var questions = TokenBucket()
    /// When it was asked last.
    private(set) var triedAt: Instant?
    /// Lookups that began with it.
    private(set) var firstChoices = DecayingCount(memory: ProviderStanding.memory)
    /// As it was reported last.
    var reportedState = ProviderState.unmeasured

    /// "Of late" for the share of success and of first choices.
    static let memory: Duration = .seconds(60)
    /// Counts beside what was measured, so that one failure after little use is not half of all.
    private static let presumedAnswers = 10.0
    /// Milliseconds that a client loses by a failure: the hedge and the other provider's time. One failure in a hundred
    /// weighs 2.5 ms.
    private static let failureCost = 250.0

    init(_ traits: ProviderTraits) {
        self.traits = traits
    }

    // MARK: judgement

    var isShadow: Bool { traits.shadowShare != nil }
    var isMeasured: Bool { latency.smoothed != nil }
    var isDoubted: Bool { doubt != nil }
    var openUntil: Instant? { breaker.openUntil }

    func isHalfOpen(_ now: Instant) -> Bool { breaker.isHalfOpen(now) }
    /// No name is answered until a request proves otherwise. A provider that was reached may answer one name and fail
    /// for others: such failures change its place in the order only.
    func isDown(_ now: Instant) -> Bool {
        isUnacknowledged
            || hasLostConnection && (breaker.isOpen(now) || breaker.isHalfOpen(now) && outstanding > 0)
    }
    func mayBeBack(_ now: Instant) -> Bool { hasLostConnection && breaker.isHalfOpen(now) }
    func isBlocked(_ now: Instant) -> Bool { breaker.isBlocked && breaker.isOpen(now) }
    func isPaused(_ now: Instant) -> Bool { (pausedUntil ?? now) > now }

    func isOverBudget(_ now: Instant) -> Bool {
        traits.questionsPerSecond.map { questions.tokens(perSecond: $0, now: now) < 1 } ?? false
    }

    /// Works, and is not to be asked just now.
    func isWithheld(_ now: Instant) -> Bool { isPaused(now) || isOverBudget(now) || isBlocked(now) }

    /// Requests for several domains are out and nothing comes back: the provider fails when they have timed out.
    func isSilent(_ now: Instant) -> Bool {
        outstandingDomains.count >= Bounds.timedOutDomainsToOpen && isLong(since: silentSince, now)
    }

    /// The provider replies to nothing, as far as names of this domain are concerned: requests for several domains, or
    /// many for this one, are out or have timed out since its last reply. Other names may still be answered, so that a
    /// lookup asks it all the same.
    func isUnresponsive(for domain: @autoclosure () -> Name, _ now: Instant) -> Bool {
        guard isLong(since: unansweredSince, now), let triedAt, now - triedAt <= Bounds.unresponsiveMemory else {
            return false
        }
        return unanswered.count >= Bounds.timedOutDomainsToOpen
            || unanswered[domain()] ?? 0 >= Bounds.unansweredOfDomain
    }

    /// Requests are out, and no reply has come lately, or the first one just now.
    func mayBeSilent(_ now: Instant) -> Bool {
        let isHeard = heardAt.map { now - $0 <= Bounds.heardLately } ?? false
        let wasSilent = silentUntil.map { now - $0 <= Bounds.hopelessAfter } ?? false
        return outstanding > 0 && (!isHeard || wasSilent)
    }

    /// An answer would have come by now: twice the usual time has passed.
    private func isLong(since instant: Instant?, _ now: Instant) -> Bool {
        guard let instant else { return false }
        let usual = patience.map { $0 * 2 } ?? Bounds.hedgeCeiling
        return now - instant > max(usual, Bounds.silentFloor)
    }

    /// Failed lately and has one request out that tells whether it is back, or has failed just now, or is silent.
    func isFailing(_ now: Instant) -> Bool {
        isUnacknowledged || breaker.isOpen(now) || isSilent(now) || (breaker.isHalfOpen(now) && outstanding > 0)
    }

    /// Milliseconds until a client has an answer when this one is asked first; a guess before it is measured.
    func expected(_ now: Instant) -> Double {
        let latency = max(latency.smoothed ?? 0, doubt ?? 0)
        return latency + (1 - successShare(now)) * ProviderStanding.failureCost + trust.cost(now)
    }

    func successShare(_ now: Instant) -> Double {
        let good = answers.value(now) + ProviderStanding.presumedAnswers
        return good / (good + failures.value(now))
    }

    /// So long an answer is worth waiting for; nil until it is measured.
    var patience: Duration? { latency.patience.map { .milliseconds($0) } }

    /// 95 of 100 answers come within this; nil until the first answer.
    var slowLatency: Duration? { latency.percentile95.map { .milliseconds($0) } }

    var hedgeDelay: Duration {
        guard let patience else { return Bounds.hedgeUnmeasured }
        return min(max(patience, Bounds.hedgeFloor), Bounds.hedgeCeiling)
    }

    func state(_ now: Instant) -> ProviderState {
        if isBlocked(now) { return .blocked }
        if isPaused(now) { return .throttled }
        if !breaker.isClosed { return .down }
        if isOverBudget(now) { return .overBudget }
        return isMeasured ? .up : .unmeasured
    }

    /// - Parameter allFirstChoices: of all providers.
    func estimate(of allFirstChoices: Double, _ now: Instant) -> ProviderEstimate {
        ProviderEstimate(
            latencyMilliseconds: latency.smoothed, percentile95Milliseconds: latency.percentile95,
            successShare: successShare(now), trust: trust.share(now),
            firstShare: allFirstChoices > 0 ? firstChoices.value(now) / allFirstChoices : 0,
            retryAt: [pausedUntil, openUntil].compactMap { $0 }.filter { $0 > now }.max())
    }

    // MARK: what happens

    /// Nothing was measured; what is on its way still comes, and what was spent is spent.
    mutating func reset() {
        var new = ProviderStanding(traits)
        new.refreshes = refreshes
        new.questions = questions
        new.outstanding = outstanding
        new.outstandingDomains = outstandingDomains
        new.reportedState = reportedState
        self = new
    }

    /// Failures are forgotten; what was spent, what the provider wants and what is on its way is the same everywhere.
    ///
    /// - Parameter known: what was measured on the network that is in use now; nil: nothing.
    func moved(to known: ProviderStanding?) -> ProviderStanding {
        var new = known ?? ProviderStanding(traits)
        new.refreshes = refreshes
        new.questions = questions
        new.outstanding = outstanding
        new.outstandingDomains = outstandingDomains
        new.firstChoices = firstChoices
        new.reportedState = reportedState
        new.breaker = breaker.isBlocked ? breaker : Breaker()
        new.streak = FailureStreak()
        new.pausedUntil = hasOwnPause ? nil : pausedUntil
        new.hasOwnPause = false
        new.pausesInARow = 0
        new.silentSince = nil
        new.isUnacknowledged = false
        (new.unansweredSince, new.unanswered) = (nil, [:])
        return new
    }

    mutating func begun(_ domain: Name, now: Instant) {
        silentSince = silentSince ?? now
        if let triedAt, now - triedAt > Bounds.unresponsiveMemory { (unansweredSince, unanswered) = (nil, [:]) }
        triedAt = now
        noteUnanswered(domain, since: now)
        outstanding += 1
        outstandingDomains[domain, default: 0] += 1
        if let rate = traits.questionsPerSecond { questions.charge(perSecond: rate, now: now) }
    }

    /// A request that has ended meanwhile says nothing any more.
    mutating func unacknowledged() { isUnacknowledged = outstanding > 0 }

    mutating func chosenFirst(now: Instant) { firstChoices.add(1, now: now) }

    /// - Parameter isHeard: something came back, be it a failure.
    mutating func ended(_ domain: Name, isHeard: Bool, now: Instant) {
        outstanding = max(0, outstanding - 1)
        let left = (outstandingDomains[domain] ?? 0) - 1
        outstandingDomains[domain] = left > 0 ? left : nil
        if isHeard {
            isBackFromSilence = isUnacknowledged || isUnresponsive(for: domain, now)
            if isBackFromSilence { silentUntil = now }
            (silentSince, heardAt, unansweredSince, unanswered) = (now, now, nil, [:])
        } else {
            let count = (unanswered[domain] ?? 0) - 1
            unanswered[domain] = count > 0 ? count : nil
        }
        if isHeard || outstanding == 0 { isUnacknowledged = false }
        if outstanding == 0 { silentSince = nil }
    }

    /// The answer that ends an outage is no measure: it took a new connection, perhaps at the second attempt.
    ///
    /// - Returns: whether it had failed before.
    mutating func answered(after elapsed: Duration, now: Instant) -> Bool {
        let isBack = replied(now: now)
        if !isBack || !isMeasured { latency.measure(elapsed, now: now) }
        doubt = nil
        return isBack
    }

    /// A reply without an answer proves that the provider works. It is no measure either: the resolution of a broken
    /// name takes long.
    ///
    /// - Returns: whether it had failed before, as far as no single name explains it.
    mutating func replied(now: Instant) -> Bool {
        let hasFailed = streak.isProvidersOwn || isBackFromSilence
        isBackFromSilence = false
        streak = FailureStreak()
        answers.add(1, now: now)
        pausesInARow = 0
        return breaker.answered() || hasFailed
    }

    /// Only the order changes: a provider that replies SERVFAIL to everything must not stay the first choice.
    mutating func contradicted(now: Instant) { failures.add(1, now: now) }

    /// Another upstream was quicker: this one takes at least so long, which is news only beyond what was presumed.
    mutating func overtaken(after elapsed: Duration) {
        let presumed = doubt ?? latency.smoothed ?? Bounds.hedgeUnmeasured.milliseconds
        let elapsed = min(elapsed, Bounds.providerTimeout).milliseconds
        guard elapsed > presumed else { return }
        doubt = isMeasured || isDoubted ? presumed + (elapsed - presumed) / 8 : elapsed
    }

    /// An outage counts as one failure, however often it was tried meanwhile: it would be held against a provider that
    /// is back.
    mutating func failed(_ failure: FetchFailure, of domain: Name, startedAt: Instant, now: Instant) {
        if breaker.isClosed, streak.isEmpty { failures.add(1, now: now) }
        if failure == .timeout { endedUnanswered(of: domain, startedAt: startedAt, now: now) }
        let isProven = streak.add(
            failure, of: domain, isTrial: !breaker.isClosed, startedAt: startedAt, sharesRequests: traits.maxNames > 1,
            now: now)
        // Two connections have failed.
        guard isProven || isUnacknowledged && failure == .unacknowledged else { return }
        streak = FailureStreak()
        hasLostConnection = failure.isOfConnection
        breaker.failed(
            ceiling: failure.isUnheard ? Bounds.unheardBackOffCeiling : Bounds.backOffCeiling, now: now)
    }

    /// A request has ended without a reply, or without a place because others get none. A reply since its begin shows
    /// that the provider works.
    mutating func endedUnanswered(of domain: Name, startedAt: Instant, now: Instant) {
        if startedAt > heardAt ?? now - Bounds.unresponsiveMemory { noteUnanswered(domain, since: startedAt) }
    }

    private mutating func noteUnanswered(_ domain: Name, since instant: Instant) {
        unansweredSince = min(unansweredSince ?? instant, instant)
        // More domains prove no more.
        guard unanswered[domain] != nil || unanswered.count < Bounds.timedOutDomainsToOpen else { return }
        unanswered[domain, default: 0] += 1
    }

    /// It was not its own fault. Who refuses us does so all the same.
    mutating func forgive() {
        if !breaker.isBlocked { breaker = Breaker() }
        streak = FailureStreak()
    }

    mutating func refused(now: Instant) { breaker.refused(now: now) }

    /// - Parameter pause: as the provider wants it; nil: it did not say, and has it from us unless it is paused.
    mutating func throttled(for pause: Duration?, now: Instant) {
        if let pause {
            pausedUntil = now + min(pause, Bounds.throttleLimit)
            hasOwnPause = false
        } else if !isPaused(now) {
            pausedUntil = now + min(Bounds.throttleFloor * (1 << min(pausesInARow, 5)), Bounds.throttleCeiling)
            hasOwnPause = true
            pausesInARow += 1
        }
    }

    mutating func recordConfirmed(about name: Name, now: Instant) { trust.recordConfirmed(about: name, now: now) }
    mutating func recordForged(about name: Name, now: Instant) { trust.recordForged(about: name, now: now) }

    /// Charges the budget for one refresh. Nil: it may begin; else when it may.
    mutating func spend(now: Instant) -> Instant? {
        refreshes.spend(perSecond: traits.budgetPerSecond, now: now)
    }

    func canSpend(_ now: Instant) -> Bool { refreshes.tokens(perSecond: traits.budgetPerSecond, now: now) >= 1 }
}
