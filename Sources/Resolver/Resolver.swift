// State machine of the slow path. It decides which upstreams to ask, when to hedge, what to cache, what to reply, and
// what to prefetch. A value without clock, socket, thread or entropy: equal events give equal actions.

import DNSWire

package struct Resolver {
    var state: ResolverState
    private(set) var routing = Routing()
    /// Lookups by number. Free numbers are reused.
    private(set) var lookups: [Lookup?] = []
    private var freeNumbers: [Int] = []
    private(set) var numberOfQuestion: [Question: Int] = [:]
    private(set) var lookupOfFetch: [FetchID: Int] = [:]
    private var deadlines = DeadlineQueue()
    var failures = FailureMemory()
    var plan: RefreshPlan
    private(set) var refreshesInFlight = 0
    /// Slots of the lookups in flight, by lookup number.
    private(set) var shares = FairShare<Int>(capacity: Bounds.maxLookups)
    /// Number of lookups that ended because their domain or client exceeded its share of the slots.
    package internal(set) var displacedLookups: UInt64 = 0
    /// Providers that were in trouble at the last check.
    var troubled: Set<ProviderID> = []
    var networks = KnownNetworks()
    /// Latest end of the network change under way; questions wait until then. Nil: no change is under way.
    var changingUntil: Instant?
    /// A provider recovered during a network change; the substitutes are withdrawn after the change.
    private var areSubstitutesOverdue = false
    package internal(set) var refreshes = RefreshCounts()

    /// - Parameter seed: seed for the refresh times and for the choice among providers.
    package init(seed: UInt64) {
        plan = RefreshPlan(seed: seed)
        state = ResolverState(seed: ~seed)
    }

    package var lookupsInFlight: Int { lookups.count - freeNumbers.count }

    /// The instant at which `timePassed` is due; nil: none.
    package var nextDeadline: Instant? {
        var earliest = deadlines.earliest
        for other in [
            mayRefresh ? plan.nextDeadline : nil, state.shadows.nextDeadline, state.verification.nextDeadline,
            state.portal.nextDeadline,
        ] {
            if let other { earliest = min(other, earliest ?? other) }
        }
        return earliest
    }

    /// Returns the state changes since the last call, in the order of the settings.
    package mutating func takeStateChanges(now: Instant) -> [ProviderStateChange] {
        state.ranking.takeStateChanges(now: now)
    }

    package mutating func handle(_ event: Event, now: Instant, actions: inout [Action]) {
        switch event {
        case .asked(let question, let waiter, let expired): asked(question, waiter, expired, now: now)
        case .prefetchDue(let question):
            if plan.prefetchDue(question, now: now) { refresh(question, RefreshPlan.Prospect(isInUse: true), now: now) }
        case .servedAgain(let question): state.verification.servedAgain(question, now: now)
        case .answeredFromCache(let waiters): answeredFromCache(Set(waiters), now: now)
        case .hitsCounted(let counts): hitsCounted(counts, now: now)
        case .requested(let questions): for question in questions { plan.requested(question, now: now) }
        case .restored(let answers): restore(answers, now: now)
        case .forgotten(let scope): forget(scope, now: now)
        case .fetchFinished(let id, let result): fetchFinished(id, result, now: now)
        case .volunteered(let question, let answer, let provider): volunteered(question, answer, provider, now: now)
        case .probeFinished(let id, let result): state.verification.probeFinished(id, result, now: now)
        case .probeRequested(let name, let address):
            state.verification.requested(name, address, routing.policy.of(name).probes, now: now)
        case .switchedOff(let names): redirect(now: now) { $0.switchedOff = names }
        case .throttled(let provider, let pause): state.ranking.throttled(provider, for: pause, now: now)
        case .unacknowledged(let provider):
            state.ranking.unacknowledged(provider)
            hurryLookups(now: now)
        case .providerReset(let provider):
            state.ranking.reset(provider)
            networks.reset(provider)
            retry(failures.removeAll(), now: now)
        case .upstreamsChanged(let providers, let hasSystem):
            routing.hasSystem = hasSystem
            state.keep(providers, hasSystem: hasSystem, now: now)
            networks.keep(providers)
            retry(failures.removeAll(), now: now)
        case .policyChanged(let policy): redirect(now: now) { $0.set(policy) }
        case .hostsChanged(let hosts): hostsChanged(hosts, now: now)
        case .redirected(let host): state.portal.redirected(to: host, now: now)
        case .network(let news):
            state.portal.heard(news, now: now)
            followPortal(now: now)
            learned(news, now: now)
        case .translation(let prefixes, let synthesises):
            routing.policy.translationPrefixes = prefixes
            state.synthesis.setPrefixes(synthesises ? prefixes : [])
        case .timePassed: timePassed(now: now)
        }
        followPortal(now: now)
        endTrials(now: now)
        repeat { carryOutConsequences(now: now) } while synthesise(now: now)
        actions += state.actions
        state.actions.removeAll(keepingCapacity: true)
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

    private mutating func asked(_ question: Question, _ waiter: Waiter, _ aged: AgedAnswer?, now: Instant) {
        if case .here(let answer) = routing.place(of: question) {
            state.actions.append(.reply(waiter, answer, .local))
            return
        }
        plan.asked(question, now: now)
        state.verification.asked(question, now: now)
        let policy = routing.policy.of(question.name)
        let expired = aged.flatMap { policy.usable($0, now: now) }.flatMap { state.arranged($0, question, now: now) }
        lookUp(question, policy, waiter, expired, now: now)
    }

    /// Joins the lookup in flight for the question, or begins one. A remembered failure is replied at once.
    mutating func lookUp(
        _ question: Question, _ policy: NamePolicy, _ waiter: Waiter, _ expired: ExpiredAnswer?, now: Instant
    ) {
        if let number = numberOfQuestion[question] {
            let terms = networks.isNew(now) ? state.termsAtFirst(now) : nil
            change(number, now: now) { lookup, state in
                lookup.join(waiter, expired, now: now, &state)
                if let terms { lookup.shortenDeadlines(terms, now: now, &state) }
            }
        } else if changeEnd(now) == nil,
            let failure = failures.failure(of: question, hasExpired: isOwn(expired), now: now)
        {
            replyInsteadOfAsking(question, waiter, expired, policy, failure.reason)
        } else {
            let route = routing.route(question, policy, &state.ranking, now: now)
            begin(question, along: route, policy, for: waiter.client, isRefresh: false, now: now) {
                $0.join(waiter, expired, now: now, &$1)
            }
        }
    }

    /// Whether there is an expired answer that was learned on this network.
    func isOwn(_ expired: ExpiredAnswer?) -> Bool { expired.map { $0.origin != .otherNetwork } ?? false }

    /// Replies after a recent failure: the expired answer, else the operator's fallback, else the error.
    private mutating func replyInsteadOfAsking(
        _ question: Question, _ waiter: Waiter, _ expired: ExpiredAnswer?, _ policy: NamePolicy, _ reason: LookupFailure
    ) {
        if let expired {
            state.actions.append(.replyExpired(waiter, expired, expired.cause(.recheck)))
        } else if let fallback = policy.fallback(for: question) {
            state.actions.append(.reply(waiter, fallback, .fallback))
        } else {
            // Behind a captive portal, return the portal error on every query.
            let failure = state.portal.isSuspected ? reason : reason.remembered
            state.actions.append(.fail(waiter, failure.extendedError, failure.responseCode))
        }
    }

    mutating func begin(
        _ question: Question, along route: Lookup.Route, _ policy: NamePolicy, for client: ClientID? = nil,
        isRefresh: Bool, now: Instant, _ join: (inout Lookup, inout ResolverState) -> Void
    ) {
        let holder = ShareHolder(question.name, client)
        makeRoom(for: holder, now: now)
        let number = freeNumbers.popLast() ?? lookups.count
        if number == lookups.count { lookups.append(nil) }
        shares.add(number, for: holder)
        numberOfQuestion[question] = number
        if isRefresh { refreshesInFlight += 1 }
        lookups[number] = Lookup(
            question, along: route, policy: policy, isRefresh: isRefresh, hasRecords: plan.hasRecords(question),
            providerRecordsEnd: plan.providerRecordsEnd(question),
            terms(for: route, isRefresh: isRefresh, now: now), now: now)
        let changeEnd = changeEnd(now)
        change(number, now: now) { lookup, state in
            if let changeEnd { lookup.awaitNetwork(until: changeEnd) }
            join(&lookup, &state)
            lookup.proceed(now: now, &state)
        }
        // A rule's exclusive upstream must be the only one to see the question, so there is no background measurement.
        if state.isSettled, policy.upstreams == .providers, let first = route.providers.first {
            state.beginBackground(question, first, now: now)
            state.portal.asked(question)
        }
        noticeTrouble(route, now: now)
    }

    /// Shortens the deadlines of lookups that began before their providers got into trouble.
    private mutating func noticeTrouble(_ route: Lookup.Route, now: Instant) {
        let usable = route.providers + route.trialPending + route.throttled
        let inTrouble = Set(usable.filter { state.ranking.isInTrouble($0, now) })
        let isNews = !inTrouble.isSubset(of: troubled)
        troubled = troubled.subtracting(usable).union(inTrouble)
        if isNews, route.inTrouble { hurryLookups(now: now) }
    }

    /// Applies the terms of an outage to the lookups all of whose providers are in trouble.
    private mutating func hurryLookups(now: Instant) {
        for number in lookups.indices {
            guard let type = lookups[number]?.question.type else { continue }
            let order = state.ranking.order(for: type, now: now)
            guard order.allSatisfy({ troubled.contains($0) || state.ranking.isInTrouble($0, now) }) else { continue }
            change(number, now: now) { $0.shortenDeadlines(.inTrouble, now: now, &$1) }
        }
    }

    /// Disables caching in lookups whose upstreams are different under the new routing. Their clients still get the
    /// answer.
    mutating func redirect(now: Instant, _ change: (inout Routing) -> Void) {
        change(&routing)
        for case (let number, let lookup?) in lookups.enumerated() {
            let policy = routing.policy.of(lookup.question.name)
            let upstreams = routing.upstreams(for: lookup.question, policy, state.ranking, now: now)
            guard upstreams != lookup.upstreams else { continue }
            self.change(number, now: now) { lookup, _ in lookup.disableCaching() }
        }
    }

    /// Unsolicited answer: caches it, and completes a matching lookup.
    private mutating func volunteered(_ question: Question, _ answer: Answer, _ provider: ProviderID, now: Instant) {
        guard answer.kind != .ambiguousEmpty, state.isSettled || numberOfQuestion[question] != nil else { return }
        let policy = routing.policy.of(question.name)
        let upstreams = routing.upstreams(for: question, policy, state.ranking, now: now)
        guard let traits = state.ranking.traits(of: provider),
            upstreams == .provider(provider) || upstreams == .providers && traits.shadowShare == nil,
            let answer = state.heardInBackground(question, answer, policy, from: provider, took: nil, now: now)
        else { return }
        if let number = numberOfQuestion[question] {
            return change(number, now: now) { $0.volunteered(answer, by: provider, now: now, &$1) }
        }
        let kept = policy.cache.applied(to: answer)
        guard kept.ttlSeconds > 0, !state.synthesis.isNeeded(for: question, kept),
            !state.isUnreachableAnswer(question, kept, from: .provider(provider), policy, now: now)
        else { return }
        state.store(question, kept, from: .provider(provider), policy, isInUse: false, isDoubted: false, now: now)
        failures.answered(question)
    }

    /// Disables caching in lookups of names in the new hosts file: a cached answer would hide the file's entry.
    private mutating func hostsChanged(_ hosts: HostsTable, now: Instant) {
        routing.hosts = hosts
        for number in lookups.indices {
            guard let question = lookups[number]?.question, hosts.speaks(of: question.name) else { continue }
            change(number, now: now) { lookup, _ in lookup.disableCaching() }
        }
    }

    private mutating func fetchFinished(_ id: FetchID, _ result: FetchResult, now: Instant) {
        if let number = lookupOfFetch[id] {
            change(number, now: now) { $0.fetchFinished(id, result, now: now, &$1) }
        } else {
            let fetch = state.backgroundFetchFinished(id, result, now: now)
            noticeRecovery(now: now)
            guard let fetch, case .success(let answer) = result else { return }
            let policy = routing.policy.of(fetch.question.name)
            let took = fetch.startedAt.duration(to: now)
            let usable = state.heardInBackground(
                fetch.question, answer, policy, from: fetch.provider, took: took, now: now)
            guard let usable else { return }
            state.verification.heard(fetch.question, usable, from: .provider(fetch.provider), policy.probes, now: now)
        }
    }

    private mutating func timePassed(now: Instant) {
        while let number = deadlines.popDue(now) {
            change(number, now: now) { $0.timePassed(now: now, &$1) }
        }
        state.backgroundTimePassed(now: now)
        state.verification.timePassed(now: now)
        popDueRefreshes(now: now)
    }

    /// Refreshes questions in use that failed, without waiting for the end of their pause.
    mutating func retry(_ questions: [Question], now: Instant) {
        plan.retry(questions.filter(isPlanned), now: now)
    }

    private func isPlanned(_ question: Question) -> Bool {
        routing.policy.of(question.name).prefetches || plan.isRequested(question)
    }

    private mutating func forget(_ scope: QuestionScope, now: Instant) {
        failures.forget(scope)
        state.verification.forgotten(scope)
        state.synthesis.forgetAnswers()
        networks.forget(scope)
        for number in lookups.indices {
            guard let question = lookups[number]?.question, scope.contains(question) else { continue }
            change(number, now: now) { lookup, _ in lookup.forgetExpired() }
        }
    }

    // MARK: tables

    /// Changes a lookup. All changes go through this function, which keeps the tables of fetches, questions and
    /// deadlines consistent.
    mutating func change(
        _ number: Int, now: Instant, _ body: (inout Lookup, inout ResolverState) -> Void
    ) {
        guard var lookup = lookups[number].take() else { return }
        body(&lookup, &state)
        for id in state.begun { lookupOfFetch[id] = number }
        for id in state.ended { lookupOfFetch[id] = nil }
        state.begun.removeAll(keepingCapacity: true)
        state.ended.removeAll(keepingCapacity: true)
        remember(lookup, now: now)
        if lookup.isFinished {
            numberOfQuestion[lookup.question] = nil
            freeNumbers.append(number)
            shares.remove(number)
            deadlines.remove(number)
            if lookup.isRefresh { refreshesInFlight -= 1 }
        } else {
            deadlines.set(lookup.nextDeadline, for: number)
            lookups[number] = consume lookup
        }
    }

    private mutating func noticeRecovery(now: Instant) {
        guard state.ranking.hasRecovered else { return }
        state.ranking.hasRecovered = false
        retry(failures.providerRecovered(now: now) + withdrawSubstitutes(now: now), now: now)
    }

    /// Withdraws the system resolver's substitutes after a provider's recovery, so that the next client gets the
    /// provider's answer.
    mutating func withdrawSubstitutes(now: Instant) -> [Question] {
        // The cache partition that holds them is not served during a network change.
        areSubstitutesOverdue = !state.isSettled
        guard state.isSettled else { return [] }
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
        noticeRecovery(now: now)
        if let learned = state.learned {
            state.learned = nil
            failures.answered(lookup.question)
            if lookup.policy.prefetches {
                let patience = state.ranking.patience(for: lookup.question.type, now: now)
                plan.upstreamsNeed(patience, for: lookup.question.type)
                plan.learned(
                    lookup.question, learned, isRefresh: lookup.isRefresh, patience: patience, now: now)
            } else {
                plan.gained(lookup.question)
            }
        } else if lookup.hasAnsweredDuringChange {
            if isPlanned(lookup.question) { plan.failed(lookup.question, retryAt: now) }
        } else if case .finished(.foundNothingBetter) = lookup.phase {
            plan.failed(lookup.question, retryAt: now + Bounds.failureCeiling)
        } else if case .finished(.failed(let failure?)) = lookup.phase {
            let retryAt = failures.failed(
                lookup.question, failure, startedAt: lookup.startedAt, recheck: lookup.recheck, now: now)
            if isPlanned(lookup.question) { plan.failed(lookup.question, retryAt: retryAt) }
        }
        guard lookup.isRefresh, lookup.isFinished else { return }
        if !lookup.hasLearned, lookup.failures.lacksRoom, isPlanned(lookup.question) {
            plan.failed(lookup.question, retryAt: now + Bounds.failureFloor)
        }
        if lookup.hasLearned { refreshes.succeeded += 1 } else { refreshes.failed += 1 }
    }
}
