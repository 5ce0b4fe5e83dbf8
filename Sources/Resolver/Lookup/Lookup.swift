// One question in flight: its waiters, its fetches, and the upstreams still to be asked.
//
// Phases, and the transitions between them:
//
//     asking ───┬── a provider answers, or no upstream can ─────────────────────────────────────────────> finished
//               ├── the system resolver's answer is given ──> answeredBySystem ── all fetches end ──────> finished
//               └── the other family decides (OtherFamily) ──> awaitingOtherFamily ── its lookup ends ──> finished
//
//     asking, answeredBySystem ── the network changes ──> a new lookup for the clients, without earlier replies
//
// While asking: the next provider is asked after the hedge delay, or at once after a failure; the system resolver after
// `SystemTerms.hedge`, or when all providers failed. Its answer waits for the providers until `holdUntil`.
//
// An expired answer, if there is one, is given at `clientTimeout` or when all upstreams have failed (ExpiredOffer).
// Fetches continue, and late answers still go to the cache. A refresh is a lookup without waiters.
//
// Every path terminates: each fetch by its timeout, the lookup by `giveUpAt`.

import DNSWire
import PublicSuffix

/// Ranks of answers, best first:
///
///     1. a provider's answer; with order `system-first` also the system resolver's, unless mismatched or unreachable
///     2. the system resolver's answer, if a probe has verified one of its addresses
///     3. a provider's expired answer (RFC 8767)
///     4. the system resolver's answer otherwise: unverified, "no such name" or "no data"
///     5. another network's expired answer
///
/// An attacker that blocks the providers and answers in the system resolver's place cannot exceed rank 4.
///
/// Invariants: only in phase `asking` does the system resolver get asked. A finished lookup has no waiters and no
/// running fetches; the resolver removes it. A class with one owner, the resolver, because a step reads it dozens of
/// times: the compiler copies a struct of this size for most calls.
final class Lookup {
    enum Phase {
        case asking
        case awaitingOtherFamily(HeldAnswer)
        /// - Parameter substituteReason: why the answer was given in the providers' place; nil: it was not.
        case answeredBySystem(Answer, substituteReason: SubstituteReason?, at: Instant)
        case finished(Ending)
    }

    enum Ending {
        case answered
        /// The lookup failed; nil: the failure must not be remembered.
        case failed(LookupFailure?)
        /// The cached answer is better than all replies.
        case foundNothingBetter
        /// The preferred family's answer decides.
        case yielded
        /// No client is left, or the slot was needed.
        case abandoned
    }

    enum SystemStep {
        case absent
        case waiting(until: Instant)
        case running
        case answered(Answer, at: Instant)
        case failed

        var mayAnswer: Bool {
            switch self {
            case .waiting, .running, .answered: true
            case .absent, .failed: false
            }
        }
    }

    let question: Question
    /// The place in the resolver's table.
    let number: Int
    /// The domain of the question and the client that started the lookup, for the places of its requests.
    let holder: ShareHolder
    /// The lookup was started before the answer's expiry, and not by a client.
    let isRefresh: Bool
    let policy: NamePolicy
    /// The upstreams allowed when the lookup began.
    let upstreams: NameUpstreams
    /// Time for which only the system resolver is asked, by choice; nil: the providers go first.
    let systemLead: Duration?
    let startedAt: Instant
    /// Time from a request to the first suspicion that its provider is silent.
    let systemHedge: Duration
    var phase = Phase.asking
    var waiters: [Waiter] = []
    var running: [Attempt] = []
    var providers: ProviderQueue
    var system: SystemStep
    var failures = FailureRecord()
    var held: HeldAnswers
    var expired: ExpiredOffer

    private(set) var giveUpAt: Instant
    /// Set when the clients' time has passed while a provider with a longer timeout may still answer: later clients get
    /// this failure at once.
    private(set) var failureBeforeLate: LookupFailure?
    /// The instant until which the system resolver's answer waits for a provider's.
    private(set) var holdUntil: Instant
    /// End of the network change. Until then the system resolver is not asked, and no client gets a failure.
    private var awaitsNetworkUntil: Instant?

    /// When the first provider was asked, if the system resolver was asked first.
    private var providersBeganAt: Instant?

    /// The system resolver has answered, but a better answer exists.
    var systemIsOutranked = false
    /// When the steps that are due were last taken.
    private var checkedAt: Instant
    /// A question was repeated whose failure may be temporary.
    private var hasRepeated = false
    /// The cache holds a provider's records that may still be served stale: for a refresh.
    private(set) var hasProviderRecords: Bool

    var preference: FamilyPreference
    var mayCache: Bool
    var hasLearned = false
    /// The answer may have aged elsewhere: at another member of the fleet, or in the other family's lookup.
    var mayHaveAged = false
    /// An answer arrived during a network change, so it was not cached.
    var hasAnsweredDuringChange = false

    /// - Parameters:
    ///   - hasRecords: the cached answer has records of the requested type.
    ///   - providerRecordsEnd: expiry, possibly past, of the cached records of a provider; nil: there are none.
    init(
        _ question: Question, number: Int, of holder: ShareHolder, along route: Route, policy: NamePolicy,
        isRefresh: Bool, hasRecords: Bool, providerRecordsEnd: Instant? = nil, _ terms: SystemTerms, now: Instant
    ) {
        (self.question, self.number) = (question, number)
        self.holder = holder
        held = HeldAnswers(hasGoodAnswer: isRefresh && hasRecords)
        let maxAge = Duration.seconds(Int64(policy.limits.maxAgeSeconds))
        hasProviderRecords = maxAge > .zero && providerRecordsEnd.map { now < $0 + maxAge } ?? false
        self.policy = policy
        let treatment = policy.treatment(of: question.type)
        preference = treatment == .yielding ? .begins : .none
        // DNS64 asks for IPv4 addresses that clients must not get.
        mayCache = treatment != .excluded
        self.isRefresh = isRefresh
        upstreams = route.upstreams
        startedAt = now
        systemHedge = terms.hedge
        checkedAt = now
        giveUpAt = now + Bounds.answerWithin
        expired = ExpiredOffer(clientTimeout: policy.stale.clientTimeout, now: now)
        holdUntil = now + terms.patience
        systemLead = route.systemLead
        let lead = route.systemLead.map { isRefresh ? max($0, Bounds.systemLeadOfRefresh) : $0 }
        providers = ProviderQueue(route, isRefresh: isRefresh, at: now + (lead ?? .zero), now: now)
        system = route.hasSystem ? .waiting(until: now + (lead == nil ? terms.hedge : .zero)) : .absent
        for provider in route.usedUp { failures.ended(provider, .usedUp) }
    }

    /// Returns a copy, for a trial run.
    func copy() -> Lookup { Lookup(copying: self) }

    private init(copying other: Lookup) {
        (question, number, holder) = (other.question, other.number, other.holder)
        isRefresh = other.isRefresh
        (policy, upstreams, systemLead) = (other.policy, other.upstreams, other.systemLead)
        (startedAt, systemHedge, phase, waiters) = (other.startedAt, other.systemHedge, other.phase, other.waiters)
        (running, providers, system) = (other.running, other.providers, other.system)
        (failures, held, expired, giveUpAt) = (other.failures, other.held, other.expired, other.giveUpAt)
        (failureBeforeLate, holdUntil) = (other.failureBeforeLate, other.holdUntil)
        (awaitsNetworkUntil, providersBeganAt) = (other.awaitsNetworkUntil, other.providersBeganAt)
        (systemIsOutranked, checkedAt, hasRepeated) = (other.systemIsOutranked, other.checkedAt, other.hasRepeated)
        (hasProviderRecords, preference) = (other.hasProviderRecords, other.preference)
        (mayCache, hasLearned, mayHaveAged) = (other.mayCache, other.hasLearned, other.mayHaveAged)
        hasAnsweredDuringChange = other.hasAnsweredDuringChange
    }

    /// Returns a new lookup for the same clients on another network, without the replies received so far. The clients'
    /// deadline stays.
    ///
    /// - Parameter route: the route on the current network.
    func startedAnew(along route: Route, policy: NamePolicy, _ terms: SystemTerms, now: Instant) -> Lookup {
        let new = Lookup(
            question, number: number, of: holder, along: route, policy: policy, isRefresh: isRefresh,
            hasRecords: false, terms, now: now)
        new.waiters = waiters
        new.giveUpAt = giveUpAt
        new.providers.limitTrialWait(before: giveUpAt, now: now)
        new.holdUntil = min(new.holdUntil, giveUpAt)
        new.expired = expired.restarted(clientTimeout: policy.stale.clientTimeout, now: now)
        return new
    }

    // MARK: properties

    /// The registrable domain of the question's name.
    var domain: Name { holder.domain }

    var isFinished: Bool { if case .finished = phase { true } else { false } }
    var isAsking: Bool { if case .asking = phase { true } else { false } }
    private var isAnsweredBySystem: Bool { if case .answeredBySystem = phase { true } else { false } }

    /// The system resolver is the designated upstream of this name, not a substitute.
    var isSystemName: Bool { upstreams == .system }

    /// The system resolver is asked first, by choice.
    var isSystemFirst: Bool { systemLead != nil }

    /// No client waits for the lookup.
    var isRefreshAlone: Bool { isRefresh && !hasClients }

    /// A client waits, for this lookup or through the other family's lookup.
    var hasClients: Bool { !waiters.allSatisfy(\.isForRefresh) }

    /// The settings for the name have changed since the lookup began, or the name is a portal's.
    var isObsolete: Bool { !mayCache && policy.treatment(of: question.type) != .excluded }

    /// Time after a failure for which the expired answer is served at once; nil without an expired answer.
    var recheck: Duration? { expired.own == nil ? nil : policy.stale.recheck }

    var areProvidersDone: Bool { providers.isDone && !running.contains { $0.provider != nil } }

    private var hasSystemFailed: Bool { if case .failed = system { true } else { false } }

    /// When the lookup asks providers whose trial another lookup runs, though the system resolver has not failed.
    private var trialsDueAt: Instant { max(holdUntil, startedAt + policy.systemPatience) }

    /// Whether the system resolver's answer waited for the providers for as long as it has to.
    func isHoldOver(_ now: Instant) -> Bool { holdUntil <= now }

    /// Whether the expired answer is due: at its time, or when the lower-ranked system resolver's answer would be
    /// given. A client that joins late has its own timeout.
    private func isExpiredDue(_ now: Instant) -> Bool {
        expired.dueAt <= now || systemIsOutranked && isHoldOver(now) && !expired.hasJoinedLate
    }

    /// Whether no fetch runs and no timer is pending.
    private func isIdle(_ now: Instant) -> Bool { running.isEmpty && providers.isIdle && !isAwaitingNetwork(now) }

    var nextDeadline: Instant {
        var earliest = running.first?.nextDeadline ?? giveUpAt
        for attempt in running { earliest = min(earliest, attempt.nextDeadline) }
        if case .answeredBySystem = phase {
            return providers.isEmpty ? earliest : min(earliest, providers.nextAt ?? earliest)
        }
        // The gate to plain DNS was closed at an earlier instant.
        func consider(_ instant: Instant) {
            if instant > checkedAt { earliest = min(earliest, instant) }
        }
        if case .awaitingOtherFamily = phase { earliest = min(earliest, preferredDueAt ?? giveUpAt) }
        switch system {
        case .waiting(let until):
            let trialUntil = isSystemFirst ? nil : providers.trialUntil
            consider(max(until, trialUntil ?? until))
            if !isSystemFirst, let silenceSuspicionDueAt { consider(max(until, silenceSuspicionDueAt)) }
        case .answered:
            if !systemIsOutranked || expired.answer != nil && !waiters.isEmpty && !expired.hasJoinedLate {
                consider(holdUntil)
                if let silenceDueAt { consider(silenceDueAt) }
            }
        case .absent, .running, .failed: break
        }
        earliest = min(earliest, giveUpAt)
        if let awaitsNetworkUntil, running.isEmpty { earliest = min(earliest, awaitsNetworkUntil) }
        if providers.hasTrialPending { consider(trialsDueAt) }
        if providers.hasStandIns, let silenceDueAt { consider(silenceDueAt) }
        if mayAskThrottled(at: holdUntil) { consider(holdUntil) }
        if let next = providers.nextAt { earliest = min(earliest, next) }
        if let trialUntil = providers.trialUntil { earliest = min(earliest, trialUntil) }
        if expired.answer != nil, !waiters.isEmpty { earliest = min(earliest, expired.dueAt) }
        return earliest
    }

    // MARK: events

    /// Applies shorter deadlines, counted from the start of the lookup.
    func shortenDeadlines(_ terms: SystemTerms, now: Instant, _ state: inout ResolverState) {
        holdUntil = min(holdUntil, startedAt + terms.patience)
        if case .waiting(let until) = system { system = .waiting(until: min(until, startedAt + terms.hedge)) }
        proceed(now: now, &state)
    }

    /// - Parameter cached: the expired answer from the cache. All waiters use it if none is held yet.
    func join(_ waiter: Waiter, _ cached: ExpiredAnswer?, now: Instant, _ state: inout ResolverState) {
        if waiter.isForRefresh, !isAnsweredBySystem { return joinForRefresh(waiter, &state) }
        expired.dropTooOld(now)
        if expired.own == nil, let cached { hold(cached) }
        // The cache gave this client no provider's answer, so none outranks the system resolver's.
        if expired.answer?.sourceRank != .provider { hasProviderRecords = false }
        // A refresh does not ask throttled providers. They are asked for a client, so the full timeout begins now.
        if isRefresh, waiters.isEmpty, providers.hasThrottled { expired.restartTimeout(now) }
        if expired.answer != nil {
            let remainsLost = expired.cause == .unresponsive && areRequestsOverdue(state.ranking, now)
            let isLost = remainsLost || areProvidersUnresponsive(state.ranking, now)
            expired.hurry(isLost && !awaitsFirstSystemAnswer, now: now)
        }
        let given = giveSystemAnswerInsteadOfExpired(now: now, &state)
        if let given {
            state.actions.append(.reply(waiter, given, .system))
        } else if case .answeredBySystem(let answer, _, let learnedAt) = phase {
            let arranged = state.verification.arranged(question, answer, now: now)
            state.actions.append(.reply(waiter, arranged.aged(since: learnedAt, now: now), .system))
        } else if isExpiredDue(now), let answer = expired.answer {
            state.actions.append(.replyExpired(waiter, answer, answer.cause(expired.cause)))
        } else if waiters.count < Bounds.maxWaiters {
            let wasOutranked = systemIsOutranked
            if waiters.isEmpty, let systemLead { providers.advanceNext(to: now + systemLead) }
            waiters.appendToShort(waiter)
            compareSystemAnswer(&state)
            if askExcludedSource(now: now) || mayAskThrottled(at: now)
                || mayAskBlocked(state.ranking, now: now) || wasOutranked
            {
                proceed(now: now, &state)
            }
        } else {
            state.refuse(waiter, expired.answer)
        }
    }

    /// Joins for a refresh. The lookup asks no more upstreams, and none earlier: no client waits.
    private func joinForRefresh(_ waiter: Waiter, _ state: inout ResolverState) {
        if waiters.count < Bounds.maxWaiters { waiters.append(waiter) } else { state.refuse(waiter, nil) }
    }

    /// Removes clients that were answered from the cache. A lookup that served only these clients ends.
    func answeredFromCache(_ answered: Set<Waiter>, now: Instant, _ state: inout ResolverState) {
        waiters.removeAll(where: answered.contains)
        if waiters.isEmpty { leaveNetwork(now: now, &state) }
    }

    func fetchFinished(_ id: FetchID, _ result: FetchResult, now: Instant, _ state: inout ResolverState) {
        guard let index = running.firstIndex(where: { $0.id == id }) else { return }
        let attempt = running.remove(at: index)
        state.heard(attempt.upstream, result, of: holder, now: now)
        state.end(attempt, of: holder, isHeard: result.isHeard, now: now)
        if attempt.upstream == .system {
            state.systemPace.fetchFinished(result, after: attempt.startedAt.duration(to: now), now: now)
        }
        switch result {
        case .success(let answer):
            if let provider = attempt.provider { state.ranking.unserved.answered(question.name, by: provider) }
            answered(attempt, answer, now: now, &state)
        case .notServed: notServed(attempt, now: now, &state)
        case .omitted: omitted(attempt, now: now, &state)
        case .nameFailed(let failure): nameFailed(attempt, failure, now: now, &state)
        case .failure(let failure): failed(attempt, failure, now: now, &state)
        }
        proceed(now: now, &state)
    }

    func timePassed(now: Instant, _ state: inout ResolverState) {
        takeTurns(now: now, &state)
        if isHoldOver(now) { noteSilence(state.ranking, now: now) }
        for attempt in running where attempt.until <= now {
            state.abandon(attempt, of: holder, now: now)
            failed(attempt, .timeout, now: now, &state)
        }
        running.removeAll { $0.until <= now }
        repeatLost(state.ranking, now: now)
        proceed(now: now, &state)
    }

    /// Disables caching after a change of routing or policy. Waiters still get the answer.
    ///
    /// - Parameter isRedirected: the name has other upstreams now, so no further provider is asked.
    func disableCaching(isRedirected: Bool = true) {
        mayCache = false
        if isRedirected { providers.removeAll() }
    }

    func forgetExpired() {
        expired.forget()
        hasProviderRecords = false
    }

    /// Updates the held expired answer after the cached answer was rearranged.
    func rearranged(_ answer: Answer) {
        guard let own = expired.own, expired.cause != .denied else { return }
        expired.hold(own.with(RenderedAnswer(answer, to: question).withEveryTTL(policy.stale.answerTTLSeconds)))
    }

    /// Ends the lookup with a reply from local data.
    func answeredHere(_ reply: LocalReply, _ state: inout ResolverState) {
        state.actions += waiters.map(reply.action)
        waiters = []
        phase = .finished(.answered)
    }

    /// Ends the lookup before its time. Clients get the best answer at hand, and no upstream is charged with a failure.
    func displaced(now: Instant, _ state: inout ResolverState) {
        replyExpired(.failure, &state)
        state.actions += waiters.map { .fail($0, .notReady) }
        waiters = []
        leaveNetwork(now: now, &state)
    }

    // MARK: asking

    /// Takes the steps that are due. Called after every event.
    func proceed(now: Instant, _ state: inout ResolverState) {
        guard !isFinished else { return }
        checkedAt = now
        if let until = awaitsNetworkUntil, until <= now { awaitsNetworkUntil = nil }
        expired.dropTooOld(now)
        switch phase {
        case .asking: break
        case .awaitingOtherFamily: return awaitOtherFamily(now: now, &state)
        case .answeredBySystem: return goOnAfterSystemAnswer(now: now, &state)
        case .finished: return
        }
        askPreferredFamily(&state)
        dropForged(&state)
        dropSubstitute(now: now, &state)
        compareSystemAnswer(&state)
        if now < giveUpAt { askFurther(now: now, &state) }
        _ = giveSystemAnswerInsteadOfExpired(now: now, &state)
        guard isAsking else { return }
        if case .answered(let answer, let learnedAt) = system, !systemIsOutranked,
            let reason = substituteReason(state.ranking, now: now)
        {
            _ = giveSystemAnswer(with: answer.aged(since: learnedAt, now: now), reason, now: now, &state)
        } else if isIdle(now) || giveUpAt <= now {
            conclude(now: now, &state)
        } else if !waiters.isEmpty, isExpiredDue(now) || onlyAwaitsTurn && expired.own != nil {
            if expired.cause == .denied { gaveLastKnownGood(now: now, &state) }
            replyExpired(expired.cause, &state)
        }
    }

    func askFurther(now: Instant, _ state: inout ResolverState) {
        if providers.endTrialWait(state.ranking, now: now) {
            // The outage is over, so the system resolver's usual deadlines apply.
            if case .waiting = system { system = .waiting(until: now + Bounds.systemHedge) }
            holdUntil = min(max(holdUntil, now + policy.systemPatience), giveUpAt)
        }
        if mayAskStandIns(state.ranking, now: now) { providers.addStandIns(now: now) }
        let areTrialsOver =
            providers.hasTrialPending && areProvidersDone
            && substituteReason(state.ranking, isAsking: true, now: now) == nil
        if hasSystemFailed || systemIsOutranked || trialsDueAt <= now || areTrialsOver {
            providers.askTrialPending(now: now)
        }
        if providers.takeDue(state.ranking, now: now) {
            for provider in providers.takeUsedUp() { failures.ended(provider, .usedUp) }
            askNextProvider(now: now, &state)
        }
        if case .waiting(let until) = system, isSystemDue(at: until, state.ranking, now: now) {
            system = .running
            begin(.system, until: giveUpAt, now: now, &state)
        }
        if mayAskThrottled(at: now) {
            providers.addThrottled(state.ranking, now: now)
            askNextProvider(now: now, &state)
        } else if mayAskBlocked(state.ranking, now: now) {
            providers.addBlocked(state.ranking, now: now)
            askNextProvider(now: now, &state)
        }
    }

    private func askNextProvider(now: Instant, _ state: inout ResolverState) {
        let next = providers.popNext(state.ranking, for: question.kind, among: upstreams)
        guard let (provider, isHedge) = next else { return }
        // A refresh was charged for its first request before it began, unless the system resolver was asked first.
        if isRefresh, isSystemFirst || providers.attempts > 1 { _ = state.ranking[provider]?.spend(now: now) }
        let turn = state.ranking[provider].map { $0.takeTurn(now: now) } ?? now
        guard let turn, turn < giveUpAt else {
            if turn != nil { state.ranking[provider]?.returnTurn(now: now) }
            failures.ended(provider, .usedUp)
            return providers.makeNextDue(now)
        }
        begin(
            Upstream(provider), until: turn + state.ranking.timeout(of: provider), turnAt: turn, isHedge: isHedge,
            now: now, &state)
        let beganAt = isSystemFirst ? providersBeganAt ?? now : startedAt
        providersBeganAt = beganAt
        providers.hedge(
            after: state.ranking.hedgeDelay(provider), startedAt: beganAt + (turn - now), state.ranking, at: turn)
    }

    /// Sends the requests whose turn it is.
    private func takeTurns(now: Instant, _ state: inout ResolverState) {
        for attempt in running where attempt.turnAt.map({ $0 <= now }) ?? false {
            guard let provider = attempt.provider, let index = running.firstIndex(where: { $0.id == attempt.id }) else {
                continue
            }
            // The settings may have changed while the request waited.
            guard state.ranking.mayAsk(provider, for: question.kind, among: upstreams) else {
                state.abandon(running.remove(at: index), of: holder, now: now)
                providers.makeNextDue(now)
                continue
            }
            (running[index].isSent, running[index].turnAt, running[index].startedAt) = (true, nil, now)
            state.ranking[provider]?.begun(holder, isCharged: true, now: now)
            send(running[index], isHedge: running.count > 1, &state)
        }
    }

    /// Whether the lookup only waits for a turn in a provider's budget.
    private var onlyAwaitsTurn: Bool {
        !running.isEmpty && running.allSatisfy { $0.turnAt != nil } && providers.isEmpty
    }

    private func isSystemDue(at instant: Instant, _ ranking: UpstreamRanking, now: Instant) -> Bool {
        let isTime =
            (areProvidersDone && !isAwaitingNetwork(now))
            || (instant <= now && (isSystemFirst || providers.trialUntil == nil))
        return isTime && (isSystemName || substituteReason(ranking, isAsking: true, now: now) != nil)
    }

    /// Whether throttled providers may be asked: only to prevent a failure for a client, and not because the name
    /// failed at another provider. They precede the system resolver, unless the settings allow it after any failure.
    private func mayAskThrottled(at instant: Instant) -> Bool {
        guard providers.hasThrottled, mayAskLastResort else { return false }
        guard isSystemFirst || policy.standsIn == .anyFailure else {
            return areProvidersDone || isHoldOver(instant) && providers.isEmpty
        }
        switch system {
        case .absent, .failed: return areProvidersDone || isHoldOver(instant)
        case .running: return isHoldOver(instant)
        case .answered: return systemIsOutranked && (areProvidersDone || isHoldOver(instant))
        case .waiting: return false
        }
    }

    /// Whether providers that reject the account may be asked: every other upstream has failed, and the clients would
    /// get a failure or an address known not to work.
    private func mayAskBlocked(_ ranking: UpstreamRanking, now: Instant) -> Bool {
        guard providers.hasBlocked, mayAskLastResort, areProvidersDone else { return false }
        return !isWaitingForSystem || substituteReason(ranking, isAsking: true, now: now) == nil
    }

    private var isWaitingForSystem: Bool {
        if case .answered = system { !systemIsOutranked } else { system.mayAnswer }
    }

    private var mayAskLastResort: Bool {
        // After the system resolver's answer was given, the clients have one.
        isAsking && hasClients && !failures.lacksRoom && !failures.isAboutName && providers.mayAskLastResort
    }

    /// Asks the excluded source too, because a client waits.
    ///
    /// - Returns: whether a source was excluded.
    private func askExcludedSource(now: Instant) -> Bool {
        guard let source = held.takeExcludedSource() else { return false }
        if let provider = source.ranked {
            providers.add(provider, now: now)
        } else if source == .system {
            system = .waiting(until: now + Bounds.systemHedge)
        }
        return true
    }

    /// Keeps the fetches of providers whose timeout exceeds the time that clients wait. A late answer is worth
    /// caching: the client asks again.
    ///
    /// - Returns: whether there are any.
    func awaitLate(_ failure: LookupFailure, now: Instant, _ state: inout ResolverState) -> Bool {
        let late = running.filter { attempt in
            attempt.until > now && attempt.provider.map { state.ranking.timeout(of: $0) > Bounds.answerWithin } ?? false
        }
        guard failureBeforeLate == nil, giveUpAt <= now, let end = late.map(\.until).max() else { return false }
        for attempt in running where !late.contains(where: { $0.id == attempt.id }) {
            state.abandon(attempt, of: holder, now: now)
        }
        running = late
        providers.stop()
        system = .failed
        (failureBeforeLate, giveUpAt) = (failure, end)
        return true
    }

    func begin(
        _ upstream: Upstream, until: Instant, turnAt: Instant? = nil, isHedge: Bool = false, now: Instant,
        _ state: inout ResolverState
    ) {
        let attempt = state.begin(upstream, forLookup: number, of: holder, until: until, turnAt: turnAt, now: now)
        running.appendToShort(attempt)
        if attempt.turnAt == nil { send(attempt, isHedge: isHedge, &state) }
    }

    private func send(_ attempt: Attempt, isHedge: Bool, _ state: inout ResolverState) {
        let purpose = FetchPurpose(
            holder, isRefresh: isRefresh, isHedge: isHedge, isLastResort: providers.areLastResorts)
        state.actions.append(.fetch(attempt.id, question, attempt.upstream, purpose))
    }

    /// Ends the request to the system resolver when no provider will be asked any more and the gate to plain DNS is
    /// closed.
    private func dropSubstitute(now: Instant, _ state: inout ResolverState) {
        guard case .running = system, !isSystemName, areProvidersDone, !mayAskThrottled(at: now),
            !isAwaitingNetwork(now),
            substituteReason(state.ranking, isAsking: true, now: now) == nil
        else { return }
        for attempt in running where attempt.upstream == .system { state.abandon(attempt, of: holder, now: now) }
        running.removeAll { $0.upstream == .system }
        system = .waiting(until: giveUpAt)
    }

    /// Asks a provider again whose failure may be temporary, because the clients would get a failure.
    ///
    /// - Returns: whether the provider will be asked.
    func askAgain(now: Instant, _ ranking: UpstreamRanking) -> Bool {
        guard let (provider, at) = repeatable(ranking, now: now), at + Bounds.repeatTime < giveUpAt else {
            return false
        }
        hasRepeated = true
        providers.repeat(provider, at: at)
        return true
    }

    /// The provider to which the question is repeated first, and when. A question is repeated once, again after a pause
    /// of the provider, and when its failures can prove that every name fails.
    private func repeatable(_ ranking: UpstreamRanking, now: Instant) -> (RankedID, at: Instant)? {
        guard mayRepeat(now), !failures.isAboutName, !failures.lacksRoom else { return nil }
        var earliest: (RankedID, at: Instant)?
        for (provider, outcome) in failures.outcomes where outcome == .serviceFailed {
            guard ranking.mayAsk(provider, for: question.kind, among: upstreams), let standing = ranking[provider],
                !standing.isBlocked(now), !failures.hasReplied(provider) || standing.isSuspectedOfFailing,
                let at = standing.proofDueAt(now) ?? standing.repeatAt(now, isRepeated: hasRepeated),
                earliest.map({ at < $0.at }) ?? true
            else { continue }
            earliest = (provider, at)
        }
        return earliest
    }

    // MARK: network changes

    /// No fetch runs; the lookup waits for the end of the network change.
    var onlyAwaitsNetwork: Bool { awaitsNetworkUntil != nil && running.isEmpty }

    private func isAwaitingNetwork(_ now: Instant) -> Bool { awaitsNetworkUntil.map { now < $0 } ?? false }

    /// The known nameservers may belong to the former network, and routes may be incomplete. The clients' wait counts
    /// from their question, even across several steps of a change.
    func awaitNetwork(until changeEnd: Instant) {
        let askedAt = giveUpAt - Bounds.answerWithin
        let instant = min(changeEnd, askedAt + Bounds.networkPatience)
        awaitsNetworkUntil = instant
        holdSystem(until: instant)
    }

    /// Asks the system resolver no earlier than this.
    func holdSystem(until instant: Instant) {
        if case .waiting(let until) = system { system = .waiting(until: max(until, instant)) }
    }

    /// Resumes the lookup on the same network.
    func networkIsUnchanged(now: Instant, _ state: inout ResolverState) {
        let isRestored = expired.isDowngraded
        rankExpired(on: .same, now: now, &state)
        let hasAwaited = awaitsNetworkUntil.take() != nil
        guard hasAwaited || isRestored else { return }
        if hasAwaited, case .waiting = system { system = .waiting(until: now) }
        proceed(now: now, &state)
    }

    /// Ranks the expired answer by the current network. During a suspected change, its rank is lower.
    func rankExpired(on network: NetworkSinceStart, now: Instant, _ state: inout ResolverState) {
        switch network {
        case .same:
            guard let before = expired.takeBeforeDoubt() else { return }
            // A probe may have found its addresses mismatched meanwhile.
            expired.restore(state.arranged(before, question, policy, now: now))
        case .inDoubt: expired.downgrade(isCertain: false)
        case .other: expired.downgrade(isCertain: true)
        }
    }

    /// Abandons all fetches without recording failures. Ends the lookup if no client waits.
    func leaveNetwork(now: Instant, _ state: inout ResolverState) {
        for attempt in running { state.abandon(attempt, of: holder, now: now) }
        running = []
        if waiters.isEmpty { phase = .finished(.abandoned) }
    }

    /// Abandons fetches to providers without a route, without recording failures, and asks the next provider.
    func leaveUnreachable(now: Instant, _ state: inout ResolverState) {
        let ranking = state.ranking
        let isLost = { (attempt: Attempt) in attempt.provider.map { ranking.isUnreachable($0) } ?? false }
        for attempt in running where isLost(attempt) {
            state.abandon(attempt, of: holder, now: now)
            failures.lostRoute()
            providers.makeNextDue(now)
        }
        running.removeAll(where: isLost)
        providers.removeAll { ranking.isUnreachable($0) }
        proceed(now: now, &state)
    }
}
