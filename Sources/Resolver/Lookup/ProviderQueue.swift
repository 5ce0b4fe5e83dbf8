// The providers that a lookup has not asked yet: which one is next and when, and which ones wait or are last resorts.

import DNSWire

/// Invariants: no provider is in two lists, and none that is being asked is in any. A lookup makes at most
/// `Bounds.maxProviderAttempts` requests, plus one for each that got no slot, and `Bounds.maxStandIns`.
struct ProviderQueue {
    /// The providers to ask, best first.
    private(set) var untried: ArraySlice<RankedID>
    /// Providers whose trial another lookup runs: asked after the trial, or if the system resolver does not stand in.
    private var trialPending: [RankedID]
    /// The instant until which the providers in `trialPending` wait for the trial; nil: no wait.
    private(set) var trialUntil: Instant?
    /// Providers that filter nothing, beside some that do: asked only if none that filters can be reached.
    private var standIns: [RankedID]
    /// Throttled and over-budget providers: asked only if no other provider has an answer.
    private var throttled: [RankedID]
    /// Providers that reject the account: asked only if a client would get a failure.
    private var blocked: [RankedID]
    /// Providers whose budget or quota was used up when they were due.
    private var usedUp: [RankedID] = []
    private var attemptsLeft = Bounds.maxProviderAttempts
    /// Limit of requests, with the stand-ins that were added.
    private var maxAttempts = Bounds.maxProviderAttempts
    /// Providers of last resort are among `untried`.
    private(set) var areLastResorts = false
    /// When the first of `untried` is asked: at once after a failure, else after the hedge delay.
    private(set) var nextAt: Instant?
    /// The provider to be asked at `nextAt` because an earlier one is late. Nil: the first of `untried`, after a
    /// failure.
    private var hedge: RankedID?

    /// - Parameter begin: when the first provider is asked.
    init(_ route: Lookup.Route, isRefresh: Bool, at begin: Instant, now: Instant) {
        untried = route.providers.prefix(Bounds.maxProviderAttempts)
        trialPending = Array(route.trialPending.prefix(Bounds.maxProviderAttempts - untried.count))
        // A refresh does not wait for a trial. Its budget is charged now, so its request must not be sent later with
        // others.
        trialUntil = trialPending.isEmpty || isRefresh ? nil : now + route.trialPatience
        standIns = route.standIns
        throttled = route.throttled
        blocked = route.blocked
        hedge = route.hedge
        nextAt = begin
    }

    var isEmpty: Bool { untried.isEmpty }
    /// No provider will be asked, except one of last resort.
    var isDone: Bool { untried.isEmpty && trialUntil == nil }
    /// No timer is pending.
    var isIdle: Bool { trialUntil == nil && nextAt == nil }
    var hasThrottled: Bool { !throttled.isEmpty }
    var hasBlocked: Bool { !blocked.isEmpty }
    var hasStandIns: Bool { !standIns.isEmpty }
    var hasTrialPending: Bool { !trialPending.isEmpty }
    /// Providers that may be asked although there is an expired answer: all but the blocked ones.
    var askedBeforeExpired: [RankedID] { untried + trialPending + throttled }
    func includes(_ provider: RankedID) -> Bool { untried.contains(provider) || throttled.contains(provider) }
    var attempts: Int { maxAttempts - attemptsLeft }
    var mayAskLastResort: Bool { attemptsLeft > 0 && trialPending.isEmpty }

    // MARK: the next provider

    /// The provider that is asked at `nextAt`.
    var next: RankedID? { hedge ?? untried.first }

    /// Takes the next provider to ask; nil if there is none.
    ///
    /// - Parameters:
    ///   - kind: the kind of the question.
    ///   - upstreams: the upstreams of the name. The settings may have changed since the lookup began.
    mutating func popNext(
        _ ranking: UpstreamRanking, for kind: QuestionKind, among upstreams: NameUpstreams
    ) -> (provider: RankedID, isHedge: Bool)? {
        if !untried.allSatisfy({ ranking.mayAsk($0, for: kind, among: upstreams) }) {
            untried.removeAll { !ranking.mayAsk($0, for: kind, among: upstreams) }
        }
        let isHedge = hedge.take() != nil
        let first = isHedge ? untried.firstIndex { ranking[$0]?.traits.mayHedge == true } : untried.indices.first
        guard let index = first else { return nil }
        attemptsLeft -= 1
        // `remove(at:)` copies the other elements.
        return (index == untried.startIndex ? untried.removeFirst() : untried.remove(at: index), isHedge)
    }

    /// Schedules the next provider that may hedge after this delay, or earlier, so that all are asked within
    /// `Bounds.allAskedWithin`. The others are asked only after a failure.
    ///
    /// - Parameter begin: when the preceding request is sent.
    mutating func hedge(after delay: Duration, startedAt: Instant, _ ranking: UpstreamRanking, at begin: Instant) {
        let hedges = untried.filter { ranking[$0]?.traits.mayHedge == true }
        guard let first = hedges.first else { return }
        hedge = first
        let share = max(begin.duration(to: startedAt + Bounds.allAskedWithin) / hedges.count, Bounds.hedgeFloor)
        nextAt = begin + min(delay, share)
    }

    mutating func makeNextDue(_ now: Instant) {
        hedge = nil
        nextAt = now
    }

    /// Asks the next provider at this instant at the latest.
    mutating func advanceNext(to instant: Instant) { nextAt = nextAt.map { min($0, instant) } }

    /// Returns whether the next provider is due. Providers that became a last resort meanwhile join the others.
    mutating func takeDue(_ ranking: UpstreamRanking, now: Instant) -> Bool {
        guard let due = nextAt, due <= now else { return false }
        nextAt = nil
        guard untried.contains(where: { ranking[$0]?.isThrottled(now) == true }) else { return true }
        let spared = untried.filter { ranking[$0]?.isThrottled(now) == true }
        usedUp += spared.filter { ranking[$0]?.isUsedUp(now) == true }
        blocked += spared.filter { ranking[$0]?.isBlocked(now) == true && ranking[$0]?.isUsedUp(now) != true }
        throttled += spared.filter { ranking[$0]?.isBlocked(now) != true && ranking[$0]?.isUsedUp(now) != true }
        untried.removeAll(where: spared.contains)
        return true
    }

    /// Schedules no hedge while the preceding request waits for others: it is not late.
    mutating func holdHedge() { if hedge != nil { nextAt = nil } }

    var isHedgeHeld: Bool { hedge != nil && nextAt == nil }

    mutating func takeUsedUp() -> [RankedID] {
        guard !usedUp.isEmpty else { return [] }
        return exchange(&usedUp, with: [])
    }

    mutating func countRepeatedRequest() { attemptsLeft -= 1 }

    /// Asks a provider again at this instant.
    mutating func `repeat`(_ provider: RankedID, at instant: Instant) {
        untried.append(provider)
        attemptsLeft += 1
        hedge = nil
        nextAt = instant
    }

    // MARK: changes

    mutating func add(_ provider: RankedID, now: Instant) {
        untried.append(provider)
        if nextAt == nil { makeNextDue(now) }
    }

    /// Queues a provider again whose request got no place: it is asked after a pause.
    mutating func requeue(_ provider: RankedID, now: Instant) {
        makeNextDue(now + Bounds.placeCheck)
        untried.append(provider)
        attemptsLeft += 1
    }

    /// Adds the providers that were throttled as a last resort. Those whose pause has ended come first.
    mutating func addThrottled(_ ranking: UpstreamRanking, now: Instant) {
        hedge = nil
        areLastResorts = true
        let isPaused = { ranking[$0]?.isThrottled(now) == true }
        untried = (untried + throttled.filter { !isPaused($0) } + throttled.filter(isPaused)).prefix(attemptsLeft)
        throttled = []
    }

    /// Makes a provider a last resort whose request was not sent, and asks the next one. A provider that was a last
    /// resort already is not asked again.
    mutating func spare(_ provider: RankedID, now: Instant) {
        makeNextDue(now)
        guard !areLastResorts else { return }
        throttled.append(provider)
        attemptsLeft += 1
    }

    /// Asks the providers that filter nothing now, before those that were not reached.
    mutating func addStandIns(now: Instant) {
        untried = standIns + untried
        attemptsLeft += standIns.count
        maxAttempts += standIns.count
        standIns = []
        makeNextDue(now)
    }

    mutating func addBlocked(_ ranking: UpstreamRanking, now: Instant) {
        throttled += blocked
        blocked = []
        addThrottled(ranking, now: now)
    }

    mutating func removeAll() {
        untried = []
        trialPending = []
        trialUntil = nil
        standIns = []
        throttled = []
        blocked = []
    }

    mutating func removeAll(where isMeant: (RankedID) -> Bool) {
        untried.removeAll(where: isMeant)
        trialPending.removeAll(where: isMeant)
        standIns.removeAll(where: isMeant)
        throttled.removeAll(where: isMeant)
        blocked.removeAll(where: isMeant)
    }

    /// Ends all timers, too: no provider will be asked.
    mutating func stop() {
        removeAll()
        nextAt = nil
    }

    // MARK: other lookups' trials

    /// Ends a wait for a trial now if it would end after this instant.
    mutating func limitTrialWait(before instant: Instant, now: Instant) {
        if let until = trialUntil, until >= instant { trialUntil = now }
    }

    /// Ends the wait for other lookups' trials. Providers whose trial succeeded or takes too long are asked. Providers
    /// whose trial failed stay in `trialPending`.
    ///
    /// - Returns: whether a trial has succeeded.
    mutating func endTrialWait(_ ranking: UpstreamRanking, now: Instant) -> Bool {
        guard let until = trialUntil,
            until <= now || !trialPending.contains(where: { ranking[$0]?.isOnTrial(now) == true })
        else { return false }
        trialUntil = nil
        let mayAnswer = { (provider: RankedID) in
            !ranking.isInTrouble(provider, now)
                || ranking[provider]?.isAsked == true && ranking[provider]?.isOnTrial(now) != true
        }
        let ready = trialPending.filter(mayAnswer)
        guard !ready.isEmpty else { return false }
        trialPending.removeAll(where: mayAnswer)
        untried += ready
        makeNextDue(now)
        return ready.contains { !ranking.isInTrouble($0, now) }
    }

    /// Asks the providers in `trialPending` now, as no other upstream answers.
    mutating func askTrialPending(now: Instant) {
        guard !trialPending.isEmpty else { return }
        untried += trialPending
        trialPending = []
        makeNextDue(now)
    }
}
