// State machine of the slow path. It decides which upstreams to ask, when to hedge, what to cache, what to reply, and
// what to prefetch. Without clock, socket, thread or entropy: equal events give equal actions.

package import DNSWire

/// A plain copy shares the lookups and the ranking, a copy by `copy` shares nothing.
package struct Resolver {
    var state: ResolverState
    var routing = Routing()
    /// Lookups by number. Free numbers are reused.
    private(set) var lookups: [Lookup?] = []
    private var freeNumbers: [Int] = []
    /// Finds the number of a lookup in flight by its question.
    private var index = HashIndex()
    var deadlines = DeadlineQueue()
    var failures = FailureMemory()
    private(set) var refreshesInFlight = 0
    /// The lookups in flight by their holders: the queue tells which lookup ends at the bound.
    private var holders = FairQueue(capacity: 0, unsortedMost: Bounds.maxLookups / 4 * 3)
    /// Number of lookups that ended at `Bounds.maxLookups`.
    package internal(set) var displacedLookups: UInt64 = 0
    /// Providers that were in trouble at the last check.
    var troubled: Set<RankedID> = []
    var networks = PastNetworks()
    /// Latest end of the network change under way; questions wait until then. Nil: no change is under way.
    var changingUntil: Instant?
    /// A provider recovered during a network change; the substitutes are withdrawn after the change.
    private var areSubstitutesOverdue = false
    package internal(set) var refreshes = RefreshCounts()
    /// The instant at which `timePassed` is due; nil: none.
    package private(set) var nextDeadline: Instant?

    /// - Parameter seed: seed for the refresh times and for the choice among providers.
    package init(seed: UInt64) {
        state = ResolverState(seed: ~seed)
    }

    package var lookupsInFlight: Int { lookups.count - freeNumbers.count }

    private mutating func updateNextDeadline() {
        var earliest = Instant.earliest(deadlines.earliest, state.verification.nextDeadline)
        if mayRefresh { earliest = .earliest(earliest, state.plan.nextDeadline) }
        earliest = .earliest(earliest, state.shadows.nextDeadline)
        nextDeadline = .earliest(earliest, state.portal.nextDeadline)
    }

    /// Returns the state changes since the last call, in the order of the settings.
    package mutating func takeStateChanges(now: Instant) -> [ProviderStateChange] {
        state.ranking.takeStateChanges(now: now)
    }

    /// - Parameter cache: the answers that clients get at this moment.
    package mutating func handle(_ event: Event, now: Instant, cache: inout some KnownAnswers, actions: inout [Action])
    {
        switch event {
        case .asked(let question, let waiter, let isCacheOnly, let isUncached):
            asked(question, waiter, isCacheOnly: isCacheOnly, isUncached: isUncached, cache, now: now)
        case .prefetchDue(let question):
            state.comparedNames.asked(question, now: now)
            if state.plan.prefetchDue(question, now: now) {
                refresh(question, RefreshPlan.Prospect(isInUse: true), now: now)
            }
        case .servedAgain(let question): state.verification.servedAgain(question, now: now)
        case .answeredFromCache(let waiters): answeredFromCache(Set(waiters), now: now)
        case .requested(let questions): for question in questions { state.plan.requested(question, now: now) }
        case .restored(let answers): restore(answers, now: now)
        case .forgotten(let scope): forget(scope, now: now)
        case .flushed(let scope): flush(scope, now: now)
        case .fetchFinished(let id, let result): fetchFinished(id, result, now: now)
        case .fetchWaits(let id, let isOverdue): fetchWaits(id, isOverdue: isOverdue, now: now)
        case .fetchAwaitsFleet(let id): fetchAwaitsFleet(id, now: now)
        case .fetchSent(let id): fetchSent(id, now: now)
        case .fetchShared(let id, let answer): fetchShared(id, answer, now: now)
        case .fetchDeferred(let id, let end): fetchDeferred(id, until: end, now: now)
        case .demandElsewhere(let question, let perSecond):
            state.plan.demanded(question, perSecond: perSecond, now: now)
        case .evidence(let name, let address): state.verification.evidence(name, address, now: now)
        case .volunteered(let question, let answer, let provider): volunteered(question, answer, provider, now: now)
        case .probeFinished(let id, let result): state.verification.probeFinished(id, result, now: now)
        case .probeRequested(let name, let address, let isCached):
            state.verification.requested(name, address, isCached: isCached, routing.policy.of(name).probes, now: now)
        case .switchedOff(let names): redirect(now: now) { $0.switchedOff = names }
        case .throttled(let provider, let pause): state.ranking[.provider(provider)]?.throttled(for: pause, now: now)
        case .overQuota(let provider, let end): state.ranking[.provider(provider)]?.overQuotaUntil = end
        case .unacknowledged(let provider):
            state.ranking[.provider(provider)]?.unacknowledged()
            hurryLookups(now: now)
        case .providerReset(let provider):
            let provider = provider.map { RankedID.provider($0) }
            state.ranking.reset(provider)
            state.ranking.unserved.forget(provider)
            networks.reset(provider)
            retry(failures.removeAll(), now: now)
        case .upstreamsChanged(let providers, let hasSystem): setUpstreams(providers, hasSystem: hasSystem, now: now)
        case .policyChanged(let policy): setPolicy(policy, now: now)
        case .hostsChanged(let hosts): hostsChanged(hosts, now: now)
        case .leasesChanged(let leases, let names): leasesChanged(leases, new: names, now: now)
        case .redirected(let host): state.portal.redirected(to: host, now: now)
        case .network(let news):
            state.portal.heard(news, now: now)
            followPortal(now: now)
            learned(news, now: now)
        case .nat64Prefixes(let prefixes, let synthesises): setPrefixes(prefixes, synthesises: synthesises, now: now)
        case .auditRestored(let provider, let history): state.ranking.audit.restore(provider, history, now: now)
        case .timePassed: timePassed(&cache, now: now)
        }
        carryOutAll(now: now)
        updateNextDeadline()
        moveActions(to: &actions)
    }

    private mutating func moveActions(to actions: inout [Action]) {
        // Two buffers in turn, so that no event allocates one.
        guard !actions.isEmpty else { return swap(&actions, &state.actions) }
        actions += state.actions
        state.actions.removeAll(keepingCapacity: true)
    }

    /// Carries out what the event brought about.
    private mutating func carryOutAll(now: Instant) {
        followPortal(now: now)
        endTrials(now: now)
        shortenSilentWaits(now: now)
        repeat { carryOutConsequences(now: now) } while askOtherFamilies(now: now)
    }

    private mutating func setPolicy(_ policy: Policy, now: Instant) {
        state.portal.forgetQuestions()
        state.comparisons.scope = policy.comparison
        redirect(now: now) { $0.set(policy) }
        state.plan.keep(routing.policy.keptQuestions, now: now)
    }

    private mutating func setUpstreams(_ providers: [ProviderTraits], hasSystem: Bool, now: Instant) {
        routing.hasSystem = hasSystem
        state.keep(providers, hasSystem: hasSystem, now: now)
        networks.keep(providers)
        retry(failures.removeAll(), now: now)
    }

    private mutating func setPrefixes(_ prefixes: [NAT64Prefix], synthesises: Bool, now: Instant) {
        routing.policy.changeAll { $0.nat64Prefixes = prefixes }
        state.dns64.setPrefixes(synthesises ? prefixes : [])
        if state.dns64.isOn { preferNoFamily(now: now) }
    }

    /// Lets lookups that wait for a provider's trial proceed after a trial has ended.
    private mutating func endTrials(now: Instant) {
        guard state.ranking.hasTrialEnded else { return }
        state.ranking.hasTrialEnded = false
        for number in lookups.indices where lookups[number]?.providers.trialUntil != nil {
            change(number, now: now) { $0.proceed(now: now, &$1) }
        }
    }

    // MARK: questions

    private mutating func asked(
        _ question: Question, _ waiter: Waiter, isCacheOnly: Bool, isUncached: Bool, _ cache: some KnownAnswers,
        now: Instant
    ) {
        let routed = routing.routed(question, now: now)
        let aged = isUncached ? nil : cache.expired(question, within: routed.policy.limits, now: now)
        let preferred = preferredAnswer(over: routed, cache, now: now)
        if let reply = ownReply(routed, preferred: preferred, over: aged, now: now) {
            state.actions.append(reply.action(for: waiter))
            return
        }
        let expired = aged.flatMap { routed.policy.usable($0, now: now) }.flatMap {
            state.arranged($0, question, routed.policy, now: now)
        }
        if isCacheOnly { return state.replyFromCache(waiter, expired) }
        state.plan.asked(question, now: now)
        state.verification.asked(question, now: now)
        lookUp(routed, waiter, expired, now: now)
    }

    /// Joins the lookup in flight for the question, or begins one. A remembered failure is replied at once.
    mutating func lookUp(
        _ routed: borrowing RoutedQuestion, _ waiter: Waiter, _ expired: ExpiredAnswer?, now: Instant
    ) {
        let question = routed.question
        let number = number(of: question)
        if let number, let failure = lookups[number]?.failureBeforeLate {
            replyInsteadOfAsking(routed, waiter, expired, failure)
        } else if let number, waiter.isForRefresh || lookups[number]?.isWithdrawn(state.ranking, now: now) != true {
            let terms = networks.isNew(now) ? state.termsAtFirst(now) : nil
            change(number, now: now) { lookup, state in
                lookup.join(waiter, expired, now: now, &state)
                if let terms { lookup.shortenDeadlines(terms, now: now, &state) }
            }
        } else if changeEnd(now) == nil,
            let failure = failures.failure(of: question, hasExpired: isOwn(expired), now: now)
        {
            replyInsteadOfAsking(routed, waiter, expired, failure.reason)
        } else {
            if let number { change(number, now: now) { $0.leaveNetwork(now: now, &$1) } }
            let route = route(routed, now: now)
            begin(routed, along: route, for: waiter.client, isRefresh: false, now: now) {
                $0.join(waiter, expired, now: now, &$1)
            }
        }
    }

    /// Whether there is an expired answer that was learned on this network.
    func isOwn(_ expired: ExpiredAnswer?) -> Bool { expired.map { $0.sourceRank != .otherNetwork } ?? false }

    /// Replies after a recent failure: the expired answer, else the operator's fallback, else the error.
    private mutating func replyInsteadOfAsking(
        _ routed: borrowing RoutedQuestion, _ waiter: Waiter, _ expired: ExpiredAnswer?, _ reason: LookupFailure
    ) {
        if let expired {
            state.actions.append(.replyExpired(waiter, expired, expired.cause(.recheck)))
        } else if let fallback = routed.policy.fallback(for: routed.question) {
            state.actions.append(.reply(waiter, fallback, .fallback))
        } else {
            // Behind a captive portal, return the portal error on every query.
            let failure = state.portal.isSuspected ? reason : reason.remembered
            state.actions.append(.fail(waiter, failure.extendedError, failure.responseCode))
        }
    }

    /// Returns the number of the question's lookup in flight; nil if there is none. Inlined, because the compiler
    /// copies the resolver for the call.
    @inline(__always)
    func number(of question: Question) -> Int? {
        index.number(question.indexHash) { lookups[$0]?.question == question }
    }

    /// Returns the number of the lookup that waits for the request; nil if there is none.
    @inline(__always)
    func number(of id: FetchID) -> Int? {
        guard id.lookup < lookups.count, let lookup = lookups[id.lookup] else { return nil }
        return lookup.running.contains { $0.id == id } ? id.lookup : nil
    }

    mutating func begin(
        _ routed: borrowing RoutedQuestion, along route: Lookup.Route, for client: ClientID? = nil,
        isRefresh: Bool, now: Instant, _ join: (Lookup, inout ResolverState) -> Void
    ) {
        let question = routed.question
        let records = state.plan.records(of: question)
        let holder = ShareHolder(question.name, client, isKnown: records.providersEnd != nil)
        let number = freeNumbers.popLast() ?? lookups.count
        if number == lookups.count { lookups.append(nil) }
        holders.add(number, for: holder)
        index.add(number, hash: question.indexHash)
        if isRefresh { refreshesInFlight += 1 }
        lookups[number] = Lookup(
            question, number: number, of: holder, along: route, policy: routed.policy, isRefresh: isRefresh,
            hasRecords: records.hasAny, providerRecordsEnd: records.providersEnd,
            terms(for: route, isRefresh: isRefresh, now: now), now: now)
        let changeEnd = changeEnd(now)
        change(number, now: now) { lookup, state in
            if let changeEnd { lookup.awaitNetwork(until: changeEnd) }
            join(lookup, &state)
            lookup.proceed(now: now, &state)
        }
        // A rule's exclusive upstream must be the only one to see the question, so there is no background measurement.
        let upstreams = routed.policy.upstreams
        if state.isStable, !route.isSystemFirst, upstreams.allowsMeasurement, let first = route.providers.first {
            state.beginBackground(question, first, among: upstreams, now: now)
        }
        noticeTrouble(route, now: now)
        endSurplus(now: now)
    }

    /// Shortens the deadlines of lookups that began before their providers got into trouble.
    private mutating func noticeTrouble(_ route: Lookup.Route, now: Instant) {
        guard !troubled.isEmpty || !route.isHealthy(state.ranking, now) else { return }
        let usable = route.providers + route.trialPending + route.throttled
        let inTrouble = Set(usable.filter { state.ranking.isInTrouble($0, now) })
        let isNews = !inTrouble.isSubset(of: troubled)
        troubled = troubled.subtracting(usable).union(inTrouble)
        if isNews, route.inTrouble { hurryLookups(now: now) }
    }

    /// Applies the terms of an outage to the lookups all of whose providers are in trouble.
    private mutating func hurryLookups(now: Instant) {
        for number in lookups.indices {
            guard let (kind, upstreams) = lookups[number].map({ ($0.question.kind, $0.upstreams) }) else { continue }
            let order = state.ranking.order(
                for: kind, among: upstreams.allowsMeasurement ? upstreams : .providers, now: now)
            guard order.allSatisfy({ troubled.contains($0) || state.ranking.isInTrouble($0, now) }) else { continue }
            change(number, now: now) { $0.shortenDeadlines(.inTrouble, now: now, &$1) }
        }
    }

    /// Unsolicited answer: caches it, and completes a matching lookup.
    mutating func volunteered(_ question: Question, _ answer: Answer, _ provider: ProviderID, now: Instant) {
        guard answer.kind != .ambiguousEmpty, state.isStable || number(of: question) != nil else { return }
        let routed = routing.routed(question, now: now)
        let policy = routed.policy
        let upstreams = routing.direction(of: routed, state.ranking, now: now).upstreams
        guard let traits = state.ranking[.provider(provider)]?.traits,
            upstreams == .provider(provider) || upstreams.include(traits) && traits.shadowShare == nil,
            !state.ranking.isStandIn(.provider(provider), for: question.kind, among: upstreams),
            let answer = state.heardInBackground(question, answer, policy, from: provider, took: nil, now: now)
        else { return }
        if let number = number(of: question) {
            return change(number, now: now) { $0.volunteered(answer, by: provider, now: now, &$1) }
        }
        let kept = answer.isBlock ? answer : policy.cache.applied(to: answer)
        guard kept.ttlSeconds > 0, policy.treatment(of: question.type) == .ordinary,
            !state.dns64.isNeeded(for: question, kept),
            state.isFinal(kept, from: .provider(provider))
                || !isDenied(question, by: kept, policy, now: now)
                    && !state.isUnreachableAnswer(question, kept, from: .provider(provider), policy, now: now)
        else { return }
        if kept.isBlock { state.blocks[provider, default: 0] += 1 }
        state.store(question, kept, from: .provider(provider), policy, isInUse: false, isDoubted: false, now: now)
        failures.answered(question)
    }

    /// Whether the answer denies a last known good one: a lookup asks a second provider first.
    private func isDenied(_ question: Question, by answer: Answer, _ policy: NamePolicy, now: Instant) -> Bool {
        answer.kind != .records
            && state.verification.lastKnownGood(
                question, against: Denial(answer.kind), within: policy.stale.lastKnownGood, now: now) != nil
    }

    private mutating func fetchFinished(_ id: FetchID, _ result: FetchResult, now: Instant) {
        if let number = number(of: id) {
            change(number, now: now) { $0.fetchFinished(id, result, now: now, &$1) }
        } else if let comparison = state.comparisons.finished(id) {
            state.comparisonFinished(comparison, result, routing.policy(for: comparison.question), now: now)
        } else {
            let fetch = state.backgroundFetchFinished(id, result, now: now)
            noticeRecovery(now: now)
            guard let fetch, case .success(let answer) = result else { return }
            let policy = routing.policy(for: fetch.question)
            let took = fetch.startedAt.duration(to: now)
            let usable = state.heardInBackground(
                fetch.question, answer, policy, from: fetch.provider, took: took, now: now)
            guard let usable else { return }
            state.verification.heard(fetch.question, usable, from: .provider(fetch.provider), policy.probes, now: now)
        }
    }

    private mutating func timePassed(_ cache: inout some KnownAnswers, now: Instant) {
        while let number = deadlines.popDue(now) {
            change(number, now: now) { $0.timePassed(now: now, &$1) }
        }
        state.backgroundTimePassed(now: now)
        state.verification.timePassed(now: now)
        popDueRefreshes(&cache, now: now)
    }

    /// Refreshes questions in use that failed, without waiting for the end of their pause.
    mutating func retry(_ questions: [Question], now: Instant) {
        state.plan.retry(questions.filter(isPlanned), step: retryStep(for: questions, now: now), now: now)
    }

    mutating func forget(_ scope: QuestionScope, now: Instant) {
        failures.forget(scope)
        state.ranking.unserved.forget(scope)
        state.verification.forgotten(scope)
        state.dns64.forgetAnswers()
        networks.forget(scope)
        state.plan.removed(now: now, where: scope.contains)
        for number in lookups.indices {
            guard let question = lookups[number]?.question, scope.contains(question) else { continue }
            change(number, now: now) { lookup, _ in lookup.forgetExpired() }
        }
    }

    /// Removes clients that were answered from the cache. A lookup that served only these clients ends.
    private mutating func answeredFromCache(_ waiters: Set<Waiter>, now: Instant) {
        for number in lookups.indices where lookups[number]?.waiters.contains(where: waiters.contains) ?? false {
            change(number, now: now) { $0.answeredFromCache(waiters, now: now, &$1) }
        }
    }

    // MARK: tables

    /// Changes a lookup. All changes go through this function, which keeps the tables of questions, holders
    /// and deadlines consistent.
    mutating func change(
        _ number: Int, now: Instant, _ body: (Lookup, inout ResolverState) -> Void
    ) {
        guard let lookup = lookups[number] else { return }
        body(lookup, &state)
        noticeRecovery(now: now)
        guard lookup.isFinished else {
            if state.learned != nil || lookup.hasAnsweredDuringChange { remember(lookup, now: now) }
            return deadlines.set(lookup.nextDeadline, for: number)
        }
        lookups[number] = nil
        remember(lookup, now: now)
        index.remove(number, hash: lookup.question.indexHash)
        freeNumbers.append(number)
        holders.remove(number)
        deadlines.remove(number)
        if lookup.isRefresh { refreshesInFlight -= 1 }
    }

    /// Replaces a lookup by a new one for the same question and clients.
    mutating func replace(_ number: Int, by lookup: Lookup) { lookups[number] = lookup }

    /// Returns a resolver that shares no state with this one, for a trial run.
    func copy() -> Resolver {
        var copy = self
        copy.state.ranking = state.ranking.copy()
        copy.lookups = lookups.map { $0?.copy() }
        return copy
    }

    private mutating func noticeRecovery(now: Instant) {
        guard let provider = state.ranking.recovered.take() else { return }
        silenceEnded(of: provider, now: now)
        retry(failures.providerRecovered(now: now) + withdrawSubstitutes(now: now), now: now)
    }

    /// Withdraws the system resolver's substitutes after a provider's recovery, so that the next client gets the
    /// provider's answer.
    mutating func withdrawSubstitutes(now: Instant) -> [Question] {
        // The cache partition that holds them is not served during a network change.
        areSubstitutesOverdue = !state.isStable
        guard state.isStable else { return [] }
        let substitutes = state.substitutes.takeAll(now: now)
        for question in substitutes { state.actions.append(.withdraw(question, .system)) }
        return substitutes
    }

    /// Withdraws postponed substitutes after a network change. Substitutes of another network are dropped before.
    mutating func withdrawOverdueSubstitutes(now: Instant) {
        if areSubstitutesOverdue { retry(withdrawSubstitutes(now: now), now: now) }
    }

    /// Records the lookup's result for later questions and refreshes.
    private mutating func remember(_ lookup: Lookup, now: Instant) {
        if let learned = state.learned {
            state.learned = nil
            failures.answered(lookup.question)
            if lookup.isObsolete {
                // The answer is not cached. The question is refreshed below.
            } else if lookup.policy.prefetches || state.plan.isKept(lookup.question) {
                let upstreamLatency = learnUpstreamLatency(of: lookup, now: now)
                state.plan.learned(
                    lookup.question, learned, isRefresh: lookup.isRefresh, upstreamLatency: upstreamLatency,
                    now: now)
            } else {
                state.plan.gained(lookup.question, isPublic: learned.isPublic)
            }
        } else if lookup.hasAnsweredDuringChange {
            if isPlanned(lookup.question) { state.plan.failed(lookup.question, retryAt: now) }
        } else if case .finished(.yielded) = lookup.phase {
            state.plan.gained(lookup.question)
        } else if case .finished(.foundNothingBetter) = lookup.phase {
            state.plan.failed(lookup.question, retryAt: now + Bounds.failureCeiling)
        } else if case .finished(.failed(let failure?)) = lookup.phase {
            let retryAt = failures.failed(
                lookup.question, failure, startedAt: lookup.startedAt, isRefresh: lookup.isRefresh,
                recheck: lookup.recheck ?? recheckOfCached(lookup.question, lookup.policy, now: now), now: now)
            if isPlanned(lookup.question) { state.plan.failed(lookup.question, retryAt: retryAt) }
        }
        guard lookup.isFinished else { return }
        let lacksRoom = lookup.isRefresh && !lookup.hasLearned && lookup.failures.lacksRoom
        if lookup.isObsolete || lacksRoom, isPlanned(lookup.question) {
            state.plan.failed(lookup.question, retryAt: now + Bounds.failureFloor)
        }
        guard lookup.isRefresh else { return }
        if lookup.hasLearned { refreshes.succeeded += 1 } else { refreshes.failed += 1 }
    }

    /// Ends the newest lookup of the largest holder beyond the bound. It may be the one that has just begun.
    private mutating func endSurplus(now: Instant) {
        guard holders.waitingCount > Bounds.maxLookups, let number = holders.waitingOfLargest else { return }
        displacedLookups += 1
        change(number, now: now) { $0.displaced(now: now, &$1) }
    }

    // MARK: refreshes
    // A refresh is a lookup without waiters. Clients' questions are never postponed for it.

    /// Returns whether a refresh may start: there is room, the network is stable, and an upstream is reachable.
    @inline(__always)
    private var mayRefresh: Bool {
        refreshesInFlight < Bounds.maxRefreshes && lookupsInFlight < Bounds.maxLookups && state.isStable
            && (routing.hasSystem || !state.ranking.isCutOff)
    }

    /// Returns `stale.recheck` if the cached answer may be served after its expiry.
    private func recheckOfCached(_ question: Question, _ policy: NamePolicy, now: Instant) -> Duration? {
        guard let end = state.plan.records(of: question).providersEnd,
            now < end + .seconds(Int64(policy.stale.maxAgeSeconds))
        else { return nil }
        return policy.stale.recheck
    }

    private mutating func popDueRefreshes(_ cache: inout some KnownAnswers, now: Instant) {
        guard mayRefresh else { return }
        var due = state.plan.popDue(now)
        guard let first = due.first else { return }
        let upstreams = routing.policy(for: first).upstreams
        let provider = state.ranking.best(for: first.kind, among: upstreams, now: now)
        while due.count < Bounds.maxRefreshes - refreshesInFlight {
            let next = state.plan.popDue(now)
            if next.isEmpty { break }
            due += next
        }
        let batch = provider.flatMap { state.ranking[$0]?.traits }
        let room = batch.map { ($0.maxNames - due.count % $0.maxNames) % $0.maxNames } ?? 0
        for question in due + state.plan.popEarly(now, atMost: room) {
            let prospect = state.plan.counted(question, hits: cache.takeHits(question), now: now)
            if prospect.wasUsed {
                refreshes.used += 1
                state.comparedNames.asked(question, now: now)
            }
            if prospect.isInUse || prospect.isRequested { refresh(question, prospect, now: now) }
        }
    }

    private mutating func refresh(_ question: Question, _ prospect: RefreshPlan.Prospect, now: Instant) {
        let routed = routing.routed(question, now: now)
        guard routed.policy.prefetches || prospect.isRequested, number(of: question) == nil else { return }
        guard !isRefreshNeedless(routed, now: now),
            question.dnssec.isEmpty || !carriedBits(of: question, now: now).isEmpty
        else { return }
        if let failure = failures.failure(of: question, hasExpired: false, now: now) {
            let hasExpired = recheckOfCached(question, routed.policy, now: now) != nil
            let retryAt = hasExpired ? min(failure.recheckAt, failure.until) : failure.until
            if retryAt > now { return state.plan.failed(question, retryAt: retryAt) }
        }
        guard mayRefresh else { return state.plan.postponed(question, now: now) }
        let route = route(routed, charged: prospect.chargedTo, now: now)
        // Clients have the expired answer, and another request tests whether the provider replies.
        if route.isUnresponsive, !route.isSystemFirst, let first = route.providers.first,
            state.ranking[first]?.isUntried(for: Bounds.trialSpacing, now) == false,
            state.plan.records(of: question).providersEnd != nil
        {
            return state.plan.deferred(question, until: failures.deferred(question, now: now))
        }
        if !route.isSystemFirst, let first = route.providers.first, first != prospect.chargedTo,
            let startAt = state.ranking[first]?.spend(now: now)
        {
            return state.plan.charged(question, to: first, from: startAt)
        }
        if let end = budgetEnd(of: route, now: now) {
            return state.plan.deferred(question, until: end, within: .seconds(1))
        }
        guard !route.hasOnlyThrottled else {
            guard state.plan.records(of: question).providersEnd != nil else {
                return state.plan.failed(question, retryAt: now + Bounds.throttleFloor)
            }
            return state.plan.deferred(question, until: failures.deferred(question, now: now))
        }
        refreshes.started += 1
        begin(routed, along: route, isRefresh: true, now: now) { _, _ in }
    }

    // MARK: consequences of probes

    /// Consequences may cascade. Each starts at most one lookup, which has none of its own before its fetches end, so
    /// the loop terminates.
    private mutating func carryOutConsequences(now: Instant) {
        while case let consequences = state.verification.takeConsequences(), !consequences.isEmpty {
            for consequence in consequences { carryOut(consequence, now: now) }
        }
    }

    private mutating func carryOut(_ consequence: Verification.Consequence, now: Instant) {
        switch consequence {
        case .probe(let id, let target): state.actions.append(.probe(id, target))
        case .news(let news):
            if case .found(let target, let result) = news {
                state.comparedNames.found(target, result.verdict, now: now)
            }
            state.actions.append(.probeNews(news))
        case .awaitAsk(let question, let source): state.actions.append(.awaitAsk(question, source))
        case .rearrange(let question, let answer, let source):
            state.actions.append(.rearrange(question, answer, source, demand: state.countedDemand(of: question)))
            if let number = number(of: question) {
                change(number, now: now) { lookup, _ in lookup.rearranged(answer) }
            }
        case .askElsewhere(let question, let source, let forged):
            askElsewhere(question, insteadOf: source, forged, now: now)
        case .askAgain(let question, let source):
            state.askAgain(question, source, among: routing.policy(for: question).upstreams, now: now)
        case .forged(let evidence):
            state.recordForged(evidence.mismatched.source, about: evidence.question.name, now: now)
            state.actions.append(.forged(evidence))
        case .doubt(let news): state.actions.append(.doubt(news))
        case .recordConfirmed(let source, let name): state.recordConfirmed(source, about: name, now: now)
        case .recordExpired(let source, let name): state.recordExpired(source, about: name, now: now)
        case .measured(let source, let name, let distance):
            state.recordMeasured(source, about: name, distance, now: now)
        }
    }

    /// Asks other sources. A lookup in flight evaluates its own replies; the forged answer is withheld until it ends.
    private mutating func askElsewhere(
        _ question: Question, insteadOf source: Source, _ forged: Answer?, now: Instant
    ) {
        let number = number(of: question)
        if forged != nil, state.verification.isGuarded {
            state.withdraw(question, from: source)
            // Behind a portal, a lookup started now has no better chance than one that a client starts.
            if number == nil { return }
        }
        let routed = routing.routed(question, now: now)
        let fullRoute = route(routed, now: now)
        let route = fullRoute.without(source)
        guard !route.isEmpty, !route.hasOnlyThrottled,
            number == nil ? mayRefresh : forged != nil
        else {
            state.verification.couldNotAskElsewhere(question)
            // The next client starts the lookup.
            if forged != nil, source == .system, !route.isEmpty { state.withdraw(question, from: source) }
            return
        }
        if forged != nil, !state.verification.isGuarded { state.actions.append(.remove(question)) }
        if let number {
            return change(number, now: now) { lookup, state in
                lookup.replace(source, forged, on: fullRoute, now: now, &state)
            }
        }
        beginRefreshNow(routed, along: route, now: now) { lookup, state in
            lookup.replace(source, forged, on: fullRoute, now: now, &state)
        }
    }

    // MARK: terms

    /// Returns the system resolver's terms for a lookup that begins now.
    @inline(__always)
    func terms(for route: Lookup.Route, isRefresh: Bool, now: Instant) -> Lookup.SystemTerms {
        if networks.isNew(now), !isRefresh { return state.termsAtFirst(now) }
        return Lookup.SystemTerms(
            hedge: route.systemHedge,
            patience: route.systemPatience(
                routing.policy.systemPatience, isMistrusted: state.systemCredibility.isLost(now)))
    }

    // MARK: views

    /// Limits of the policy for serving expired answers.
    package func limits(for question: Question) -> Freshness.Limits { routing.policy(for: question).limits }

    /// Number of answers of a source that contradicted the rule for their name.
    package func contradictions(of source: Source) -> UInt64 { state.contradicting.count(of: source) }

    /// Number of system resolver answers given in place of a provider's.
    package func substituteCount(for reason: SubstituteReason) -> UInt64 { state.substituteCounts[reason] ?? 0 }

    /// Returns the state of the provider; nil if it is unknown.
    package func state(of provider: RankedID, now: Instant) -> ProviderState? {
        state.ranking[provider]?.state(now)
    }

    package func estimate(of provider: RankedID, now: Instant) -> ProviderEstimate? {
        state.ranking.estimate(of: provider, now: now)
    }

    /// A name's addresses in the order of its answers; addresses in no answer come last.
    package func judged(_ name: Name) -> [JudgedAddress] { state.verification.judged(name) }

    /// Whether an address of the name, of either family, is being looked up.
    package func isLookingUp(_ name: Name) -> Bool {
        [RecordType.a, .aaaa].contains { number(of: Question(name, $0)) != nil }
    }

    /// Names with known addresses.
    package var judgedNames: [Name] { state.verification.names }

    package var probeCounts: ProbeCounts { state.verification.counts }

    package var doubtCounts: DoubtCounts { state.verification.doubts }

    /// The system resolver's credibility, from 0 to 1; 1 if it never gave a forged answer.
    package func systemCredibility(now: Instant) -> Double { state.systemCredibility.share(now) }

    /// The suspected captive portal; nil if there is none.
    package var portal: PortalState? { state.portal.state }

    /// The names that only the network in use has, or has otherwise than the providers.
    ///
    /// - Parameter announced: the search domains that the network announces.
    package func splitHorizon(announced: [Name]) -> SplitHorizon {
        let isRouted = { (name: Name) in routing.policy.upstreams(for: name).haveNoProvider }
        var found = state.comparedNames.splitHorizon(
            behind: routing.policy.nat64Prefixes, announced: announced, publicNames: state.plan.publicNames)
        for index in found.names.indices { found.names[index].isRouted = isRouted(found.names[index].name) }
        for index in found.suffixes.indices { found.suffixes[index].isRouted = isRouted(found.suffixes[index].name) }
        return found
    }

    package func shadowCounts(of provider: ProviderID) -> ShadowCounts { state.shadows.counts(of: provider) }

    /// The providers with what the audit has proven, the best first.
    package func audit(now: Instant) -> [AuditResult] {
        state.ranking.audit.report(on: state.ranking.standings.map(\.traits), now: now)
    }

    /// What the audit has counted about a provider; nil: it is unknown.
    package func auditHistory(of provider: ProviderID) -> AuditHistory? { state.ranking.audit.history(of: provider) }
}
