// State shared by all lookups. Fetches begin and end only here, which keeps ranking, tables and actions consistent.

import DNSWire
import PublicSuffix

struct ResolverState {
    var ranking: UpstreamRanking
    var plan: RefreshPlan
    var actions: [Action] = []
    var learned: Learned?
    /// Number of each provider's blocks that lookups gave.
    var blocks: [ProviderID: UInt64] = [:]
    var contradicting = ContradictingAnswers()
    var shadows = ShadowFetches()
    var substitutes = Substitutes()
    var portal = PortalWatch()
    var verification: Verification
    var dns64 = DNS64()
    var otherFamilies = OtherFamilyLookups()
    var comparedNames = ComparedNames()
    var comparisons: ComparisonQuestions
    /// False during a network change: answers may belong to either network and are not cached.
    var isStable = true {
        didSet { verification.isStable = isStable }
    }
    /// Credibility of the system resolver.
    var systemCredibility = Credibility()
    var systemPace = SystemPace()
    /// Number of system resolver answers given in place of a provider's.
    var substituteCounts: [SubstituteReason: UInt64] = [:]
    private var nextFetch: UInt64 = 0

    /// - Parameter seed: seed for the refresh times, and for the choice among providers and addresses.
    init(seed: UInt64) {
        plan = RefreshPlan(seed: ~seed)
        ranking = UpstreamRanking(seed: seed)
        verification = Verification(seed: seed &+ 1)
        comparisons = ComparisonQuestions(seed: seed &+ 2)
    }

    mutating func begin(
        _ upstream: Upstream, forLookup number: Int, of holder: ShareHolder, until: Instant, turnAt: Instant? = nil,
        now: Instant
    ) -> Lookup.Attempt {
        var attempt = Lookup.Attempt(
            id: nextID(ofLookup: number), upstream: upstream, startedAt: now, until: until)
        if let provider = attempt.provider {
            attempt.silentAfter = ranking[provider]?.overdueAfter ?? Bounds.silentFloor
        }
        if let turnAt, turnAt > now {
            (attempt.isSent, attempt.hasWaited, attempt.turnAt) = (false, true, turnAt)
        } else if let provider = attempt.provider {
            ranking[provider]?.begun(holder, isCharged: turnAt != nil, now: now)
        }
        return attempt
    }

    /// Replies to a client that exceeds `Bounds.maxWaiters`: the expired answer if there is one, else an error.
    mutating func refuse(_ waiter: Waiter, _ expired: ExpiredAnswer?) {
        if let expired {
            actions.append(.replyExpired(waiter, expired, expired.cause(.failure)))
        } else {
            actions.append(.fail(waiter, .notReady))
        }
    }

    /// Sets the providers. Drops counters of removed providers.
    mutating func keep(_ providers: [ProviderTraits], hasSystem: Bool, now: Instant) {
        portal.keep(providers, hasSystem: hasSystem, now: now)
        ranking.setProviders(providers)
        shadows.keep(providers)
        contradicting.keep(providers)
        blocks = blocks.filter { known in providers.contains { $0.id == .provider(known.key) } }
        verification.filters = Filters(providers)
        comparedNames.keep(providers)
        comparisons.hasSystem = hasSystem
    }

    mutating func end(_ attempt: Lookup.Attempt, of holder: ShareHolder, isHeard: Bool, now: Instant) {
        guard attempt.isSent, let provider = attempt.provider else { return }
        ranking.ended(provider, holder, isHeard: isHeard, now: now)
    }

    mutating func answered(_ attempt: Lookup.Attempt, by provider: RankedID, now: Instant) {
        guard attempt.isSent else { return }
        ranking.answered(provider, after: attempt.startedAt.duration(to: now), now: now)
    }

    /// Abandons a fetch. A later result is ignored.
    mutating func abandon(_ attempt: Lookup.Attempt, of holder: ShareHolder, now: Instant) {
        if attempt.turnAt == nil {
            actions.append(.abandon(attempt.id))
        } else if let provider = attempt.provider {
            ranking[provider]?.returnTurn(now: now)
        }
        end(attempt, of: holder, isHeard: false, now: now)
    }

    /// Caches an answer without its unreachable and mismatched addresses.
    ///
    /// - Returns: the cached answer.
    @discardableResult
    mutating func store(
        _ question: Question, _ answer: Answer, from source: Source, _ policy: NamePolicy, isInUse: Bool,
        isDoubted: Bool, now: Instant
    ) -> Answer {
        if isDoubted {
            substitutes.given(question, until: now + .seconds(Int64(answer.ttlSeconds)), now: now)
        } else {
            substitutes.answered(question)
        }
        removeYielding(question, answer, policy, isDoubted: isDoubted)
        let arranged = verification.kept(
            question, answer, from: source, policy.probes, isInUse: isInUse, isDoubted: isDoubted, now: now)
        actions.append(.store(question, arranged, source, demand: countedDemand(of: question)))
        dns64.learned(question, answer, from: source, now: now)
        return arranged
    }

    /// Queries per second when they were counted last; 0 if the plan does not know the question.
    func countedDemand(of question: Question) -> Double { plan.demand(for: question)?.perSecond ?? 0 }

    /// Removes a source's answer from the cache.
    mutating func withdraw(_ question: Question, from source: Source) {
        verification.withdrawn(question, from: source)
        actions.append(.withdraw(question, source))
    }

    /// Returns whether the answer has no usable address. The answer counts as one of the source even then.
    mutating func isUnreachableAnswer(
        _ question: Question, _ answer: Answer, from source: Source, _ policy: NamePolicy, now: Instant
    ) -> Bool {
        guard verification.isUnreachableAnswer(question, answer, now: now) else { return false }
        verification.heard(question, answer, from: source, policy.probes, now: now)
        return true
    }

    /// Returns the expired answer with its addresses filtered and ordered by the current verdicts.
    ///
    /// - Returns: nil if the answer must not be given.
    mutating func arranged(
        _ expired: ExpiredAnswer, _ question: Question, _ policy: NamePolicy, now: Instant
    ) -> ExpiredAnswer? {
        guard !expired.answer.isNegative, question.type.leadsToAddresses else { return expired }
        do throws(MalformedMessage) {
            let cached = Answer(records: try expired.answer.records(of: question))
                .remarked(expired.answer.extendedError)
            let answer = verification.withoutPreferred(question, cached, in: policy.probes.preferred)
            guard !answer.records.contains(where: { $0.type == .rrsig }) else { return expired }
            guard !isWithheld(question, answer) else { return nil }
            let arranged = verification.arranged(question, answer, now: now)
            guard arranged != cached else { return expired }
            return expired.with(RenderedAnswer(arranged, to: question))
        } catch {
            // Keep an answer that cannot be parsed unchanged. The cache rendered it from records.
            return expired
        }
    }

    // MARK: background fetches

    /// Starts the background measurements of a new lookup.
    mutating func beginBackground(
        _ question: Question, _ first: RankedID, among upstreams: NameUpstreams, now: Instant
    ) {
        portal.asked(question, among: upstreams)
        // The addresses of a name in use are probed. Most lookups may not compare anyway.
        let mayCompare = ranking.audit.mayCompare && !portal.isSuspected && verification.isInUse(question)
        let beside = ranking.begunLookup(
            with: first, for: question, among: upstreams, mayCompare: mayCompare, now: now)
        for provider in beside {
            guard shadows.hasRoom, let traits = ranking[.provider(provider)]?.traits,
                // A provider that was removed and added again may still have a fetch in flight.
                traits.shadowShare != nil || !shadows.areAsking(provider)
            else { continue }
            _ = beginShadow(question, provider, traits, now: now)
        }
    }

    private mutating func beginShadow(
        _ question: Question, _ provider: ProviderID, _ traits: ProviderTraits, isCompared: Bool = true, now: Instant
    ) -> FetchID {
        let id = nextID(ofLookup: FetchID.noLookup)
        let holder = ShareHolder(question.name, nil)
        ranking[.provider(provider)]?.begun(holder, now: now)
        shadows.begin(id, question, provider, traits, of: holder, isCompared: isCompared, now: now)
        actions.append(.shadow(id, question, provider))
        return id
    }

    /// Asks a provider again whose answer may be forged, unless it is being asked in the background already.
    mutating func askAgain(_ question: Question, _ source: Source, among upstreams: NameUpstreams, now: Instant) {
        guard isStable, shadows.hasRoom, case .provider(let provider) = source, !shadows.areAsking(provider),
            let standing = ranking[.provider(provider)], standing.canSpend(now), !standing.isThrottled(now),
            ranking.mayAsk(.provider(provider), for: question.kind, among: upstreams)
        else { return }
        _ = standing.spend(now: now)
        _ = beginShadow(question, provider, standing.traits, now: now)
    }

    /// Records the result of a background fetch. Results of abandoned fetches are ignored.
    ///
    /// - Returns: the fetch; nil if it is unknown.
    mutating func backgroundFetchFinished(
        _ id: FetchID, _ result: FetchResult, now: Instant
    ) -> ShadowFetches.Pending? {
        guard let (fetch, comparison) = shadows.finished(id, result) else { return nil }
        if let comparison { compare(comparison, now: now) }
        let (provider, name) = (RankedID.provider(fetch.provider), fetch.question.name)
        heard(.provider(fetch.provider), result, of: fetch.holder, now: now)
        portal.trialEnded(id)
        ranking.ended(provider, fetch.holder, isHeard: result.isHeard, now: now)
        switch result {
        case .success:
            ranking.answered(provider, after: fetch.startedAt.duration(to: now), now: now)
            ranking.unserved.answered(name, by: provider)
        case .nameFailed(let failure):
            replied(failure, name, of: fetch.domain, by: provider, now: now)
        case .notServed:
            ranking.replied(provider, now: now)
            ranking.unserved.refused(name, by: provider, now: now)
        case .omitted: ranking.replied(provider, now: now)
        case .failure(let failure):
            ranking.failed(
                provider, failure, isOfService: isOfService(failure, at: .provider(fetch.provider), now: now),
                for: name, of: fetch.domain, startedAt: fetch.startedAt, now: now)
        }
        return fetch
    }

    /// Records a provider's error reply.
    mutating func replied(
        _ failure: NameFailure, _ name: Name, of domain: Name, by provider: RankedID, now: Instant
    ) {
        if failure.isAboutName || failure.responseCode == .refused && ranking[provider]?.traits.filters == true {
            ranking.replied(provider, now: now)
        } else {
            ranking.failedService(provider, for: name, of: domain, now: now)
        }
    }

    /// Records a provider's answer to a background fetch or an unsolicited one.
    ///
    /// - Returns: the answer without addresses that no public name may have; nil if nothing is left, or if it
    ///   contradicts the rule for the name.
    mutating func heardInBackground(
        _ question: Question, _ answer: Answer, _ policy: NamePolicy, from provider: ProviderID, took: Duration?,
        now: Instant
    ) -> Answer? {
        let judgement = policy.judged(answer, to: question, from: .provider(provider), ranking)
        if case .contradicts(let contradiction) = judgement {
            contradicted(question, answer, contradiction, from: .provider(provider), took: took, now: now)
            return nil
        }
        let usable = judgement.usable
        verification.answered(question, answer, usable: usable, by: .provider(provider), took: took, now: now)
        compare(
            question, answer, usable: usable, from: .provider(provider), among: policy.upstreams, policy.standsIn,
            isAsked: false, now: now)
        return usable
    }

    mutating func backgroundTimePassed(now: Instant) {
        for fetch in shadows.popDue(now) {
            actions.append(.abandon(fetch.id))
            portal.trialEnded(fetch.id)
            ranking.ended(.provider(fetch.provider), fetch.holder, isHeard: false, now: now)
            ranking.failed(.provider(fetch.provider), .timeout, of: fetch.domain, startedAt: fetch.startedAt, now: now)
        }
    }

    // MARK: names of the network

    /// Compares an answer with those of other sources to the same name. Asks the system resolver too, if it is due.
    ///
    /// - Parameters:
    ///   - answer: the answer as received.
    ///   - usable: the answer without addresses that no public name may have; nil: nothing is left.
    ///   - upstreams: those of the name.
    ///   - isAsked: a client waits for the answer.
    mutating func compare(
        _ question: Question, _ answer: Answer, usable: Answer?, from source: Source, among upstreams: NameUpstreams,
        _ standsIn: StandInPolicy, isAsked: Bool, now: Instant
    ) {
        // Views have upstreams of their own. Behind a portal, and between two networks, nothing is learned.
        guard question.type.isAddress, question.clients.view == 0, isStable, !portal.mayAnswer else { return }
        let includesPublic = comparisons.scope == .all
        let isLocal = if case .provider = source { false } else { true }
        // A filter's denial may be on purpose.
        let isUsable = usable.map { !$0.isBlock && ($0.kind == .records || !isFinal($0, from: source)) } ?? false
        let isRecorded = comparedNames.heard(
            question, answer, isUsable: isUsable, from: source, isPublic: plan.isPublic(question.name),
            isLocal: isLocal, isRouted: upstreams.haveNoProvider, isAsked: isAsked && !isLocal,
            includesPublic: includesPublic, now: now)
        guard isRecorded || includesPublic, comparisons.isOn, !upstreams.haveNoProvider, standsIn != .never else {
            return
        }
        let plain = Question(question.name, question.type)
        if comparisons.mayControl(question.type, now), comparedNames.isControlDue(plain, now: now) {
            askSystem(Question(comparisons.inventedName(), question.type), isControl: true, now: now)
        }
        guard !isLocal, comparisons.mayCompare(now),
            comparedNames.isComparisonDue(plain, includesPublic: includesPublic, now: now)
        else { return }
        comparedNames.compared(plain, now: now)
        askSystem(plain, isControl: false, now: now)
    }

    private mutating func askSystem(_ question: Question, isControl: Bool, now: Instant) {
        let id = nextID(ofLookup: FetchID.noLookup)
        comparisons.began(id, question, isControl: isControl, now: now)
        actions.append(.fetch(id, question, .system, FetchPurpose(ShareHolder(question.name, nil), isRefresh: true)))
    }

    /// Records the system resolver's answer to a comparison. It is given to no client.
    mutating func comparisonFinished(
        _ pending: ComparisonQuestions.Pending, _ result: FetchResult, _ policy: NamePolicy, now: Instant
    ) {
        let question = pending.question
        guard case .success(let answer) = result, isStable, !portal.mayAnswer else { return }
        guard !pending.isControl else { return comparedNames.controlled(question.type, answer, now: now) }
        let usable = policy.judged(answer, to: question, from: .system, ranking).usable
        compare(
            question, answer, usable: usable, from: .system, among: policy.upstreams, policy.standsIn, isAsked: false,
            now: now)
        comparedNames.scheduleComparison(question, now: now)
        if let usable { verification.heard(question, usable, from: .system, policy.probes, now: now) }
    }

    /// Ends comparisons in flight: their answers may belong to either network.
    mutating func dropComparisons() {
        actions += comparisons.drop().map { .abandon($0) }
    }

    // MARK: portal

    /// Informs the portal detection of an upstream's result.
    mutating func heard(_ upstream: Upstream, _ result: FetchResult, of holder: ShareHolder, now: Instant) {
        // Only a failure looks like a portal.
        let mayBegin = if case .failure = result { !portal.hindersAll } else { false }
        portal.heard(upstream, result, of: holder.domain, now: now)
        if mayBegin, portal.hindersAll { comparedNames.forgetLocal(since: now - Bounds.portalSignLife) }
        verification.isGuarded = portal.isSuspected
    }

    /// Whether a reply of the upstream arrived that has no answer, and whose cause may be the upstream's alone.
    func isOfService(_ failure: FetchFailure, at upstream: Upstream, now: Instant) -> Bool {
        failure.isOfService(mayBePortals: portal.mayReply(for: upstream, now: now))
    }

    /// Whether the answer is withheld: behind a portal, a forged answer is worse than none.
    func isWithheld(_ question: Question, _ answer: Answer) -> Bool {
        verification.isGuarded && verification.isForged(question, answer)
    }

    /// TTL limit of system resolver answers given in place of a provider's.
    var substituteTTLSeconds: UInt32 {
        portal.isSuspected ? Bounds.portalSubstituteTTLSeconds : Bounds.systemSubstituteTTLSeconds
    }

    mutating func tryBehindPortal(now: Instant) {
        portal.timePassed(now: now)
        guard shadows.hasRoom,
            // A request in flight tells as much as a trial.
            let trial = portal.takeTrial(
                now: now,
                mayAsk: {
                    ranking[.provider($0)]?.isThrottled(now) != true && ranking[.provider($0)]?.isAsked != true
                        && !shadows.areAsking($0)
                }),
            let traits = ranking[.provider(trial.provider)]?.traits
        else { return }
        // Every provider supports A.
        let ordinary = Question(trial.question.name, .a, from: trial.question.clients)
        let question = traits.supports(trial.question.kind) ? trial.question : ordinary
        portal.trialBegan(beginShadow(question, trial.provider, traits, isCompared: false, now: now))
    }

    /// Abandons background fetches without recording failures.
    mutating func dropBackground(now: Instant, where isMeant: (ProviderID) -> Bool = { _ in true }) {
        for fetch in shadows.drop(where: isMeant) {
            portal.trialEnded(fetch.id)
            actions.append(.abandon(fetch.id))
            ranking.ended(.provider(fetch.provider), fetch.holder, isHeard: false, now: now)
        }
    }

    // MARK: networks

    /// Returns everything learned on the current network.
    func past(_ key: NetworkID) -> PastNetworks.Past {
        PastNetworks.Past(
            key, providers: ranking.standings, systemCredibility: systemCredibility,
            names: verification.known.touchedLast(atMost: Bounds.maxPastNames),
            comparedNames: comparedNames.remembered)
    }

    /// - Parameters:
    ///   - known: the state learned earlier on the new network; nil: none.
    ///   - hottest: names by demand, highest first.
    mutating func move(to known: PastNetworks.Past?, hottest: [Name], now: Instant) {
        ranking.moved(to: known?.providers ?? [])
        ranking.forgetUnverifiedRefusals()
        substitutes.removeAll()
        comparedNames = known?.comparedNames ?? ComparedNames()
        contradicting.networkChanged()
        systemCredibility = known?.systemCredibility ?? Credibility()
        systemPace = SystemPace()
        verification.networkChanged(known?.names ?? [], hottest: hottest, now: now)
    }

    /// Returns to the same network after a sleep or an interruption.
    mutating func comeBack(hottest: [Name], now: Instant) {
        ranking.moved(to: ranking.standings)
        systemPace = SystemPace()
        verification.networkChanged(nil, hottest: hottest, now: now)
    }

    /// Terms just after a network change.
    @inline(__always)
    func termsAtFirst(_ now: Instant) -> Lookup.SystemTerms {
        systemCredibility.isLost(now) ? .mistrustedAtFirst : .atFirst
    }

    // MARK: credibility

    mutating func recordConfirmed(_ source: Source, about name: Name, now: Instant) {
        if let provider = source.ranked {
            ranking[provider]?.recordConfirmed(about: name, now: now)
            ranking.audit.found([.judged, .aged], provider, about: name, now: now)
        } else if source == .system {
            systemCredibility.recordConfirmed(about: name, now: now)
        }
    }

    mutating func recordForged(_ source: Source, about name: Name, now: Instant) {
        if let provider = source.ranked {
            ranking[provider]?.recordForged(about: name, now: now)
            ranking.audit.found([.judged, .forged], provider, about: name, now: now)
        } else if source == .system {
            systemCredibility.recordForged(about: name, now: now)
        }
    }

    mutating func recordExpired(_ source: Source, about name: Name, now: Instant) {
        if let provider = source.ranked { ranking.audit.found([.aged, .expired], provider, about: name, now: now) }
    }

    mutating func recordMeasured(_ source: Source, about name: Name, _ distance: AddressDistance, now: Instant) {
        if let provider = source.ranked { ranking.audit.measured(provider, about: name, distance, now: now) }
    }

    private mutating func nextID(ofLookup number: Int) -> FetchID {
        defer { nextFetch += 1 }
        return FetchID(nextFetch, ofLookup: number)
    }
}
