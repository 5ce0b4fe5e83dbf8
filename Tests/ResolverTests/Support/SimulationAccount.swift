// The resolver's obligations to the simulation's clients and upstreams: an independent record that is compared with
// every action.

import DNSWire

@testable import Resolver

struct SimulationAccount {
    struct Broken: Error, CustomStringConvertible {
        let description: String
    }

    struct Fetch {
        let question: Question
        let upstream: Upstream
        let fate: Fate
        let startedAt: Instant
        /// Whether the provider's first reply since the start of the fetch ended a silence.
        var sawSilenceEnd: Bool?
    }

    /// The result of a request, known at its start.
    enum Fate: Equatable {
        case answers(Instant)
        /// The answer's addresses are unusable. Another source's answer is used only after a probe has verified it.
        case misleads
        case fails
    }

    private struct Debt {
        let question: Question
        let at: Instant
        let expired: AgedAnswer?
        let slept: Duration
        let moves: Int
    }

    private struct Lookup {
        let startedAt: Instant
        let slept: Duration
        let candidates: [RankedID]
        let hasSystem: Bool
        let upstreamChanges: Int
        /// Whether its clients have waited before.
        let isStartedAnew: Bool
        let isRefresh: Bool
        /// Whether a verdict caused it: an answer is given only if it is better than the one with the verdict.
        let isOfVerdict: Bool
        /// Whether the hosts file now covers its name, so that no upstream is queried any more.
        var isLocalNow = false
        /// Whether a provider was reached and had no answer, or the daemon had no room for a request.
        var hasVerdict = false
        /// The upstreams whose requests found no place and may be sent again.
        var withoutPlace: Set<Upstream> = []
        var asked: [Upstream: Fate] = [:]
        var running = 0
        /// Whether a provider's answer was stored, which ends the lookup.
        var hasAnswered = false
    }

    /// The total time of sleeps so far.
    var slept: Duration = .zero
    private(set) var running: [FetchID: Fetch] = [:]
    private(set) var shadows: [FetchID: RankedID] = [:]
    /// The background measurements since the last change of upstreams, without those of shadow providers.
    private var explored: [FetchID] = []
    private(set) var spent: [FetchID] = []
    private var debts: [Waiter: Debt] = [:]
    private var lookups: [Question: Lookup] = [:]
    private var fetches: Set<FetchID> = []
    /// The latest expiry of the upstreams' answers by question.
    private var goodUntil: [Question: Instant] = [:]
    private var refreshesOf: [Upstream: [Instant]] = [:]
    /// The questions of the last second by provider, for those that are paid by the question.
    private var questionsOf: [RankedID: [Instant]] = [:]
    /// The providers that are left alone at present; below, the last such time of each.
    private var leftAlone: [RankedID] = []
    private var leftAloneAt: [RankedID: Instant] = [:]
    private var pausedUntil: [RankedID: Instant] = [:]
    /// The providers that do not serve a name.
    private var refusers: [Name: Set<RankedID>] = [:]
    private var providers: [ProviderTraits] = []
    private var hasSystem = false
    private var repliedAt: [RankedID: Instant] = [:]
    private var unreachable: Set<RankedID> = []
    private var upstreamChanges = 0
    /// The question of the current event.
    private var askedNow: Question?
    private var isMoving = false
    private var hasVerdict = false
    private var moves = 0
    private var touched: [Question] = []
    var isSystemFirst = false
    /// Time for which a denied answer is given on at most.
    var lastKnownGood: Duration = .zero
    /// Whether a lookup gave up its place for another one.
    var hasDisplaced = false

    var waiting: Int { debts.count }

    func require(_ condition: Bool, _ complaint: @autoclosure () -> String) throws {
        guard !condition else { return }
        throw Broken(description: complaint())
    }

    // MARK: what happens

    mutating func upstreamsChanged(_ providers: [ProviderTraits], hasSystem: Bool) {
        self.providers = providers
        self.hasSystem = hasSystem
        upstreamChanges += 1
        refreshesOf = [:]
        explored = []
        // A provider that was removed and added again has no history.
        pausedUntil = pausedUntil.filter { paused in providers.contains { $0.id == paused.key } }
        questionsOf = questionsOf.filter { asked in providers.contains { $0.id == asked.key } }
    }

    mutating func hostsChanged(_ hosts: HostsFiles) {
        for question in lookups.keys where hosts.speaks(of: question.name) { lookups[question]?.isLocalNow = true }
    }

    func provider(of id: FetchID) -> RankedID? {
        if let provider = running[id]?.upstream.ranked { return provider }
        return shadows[id]
    }

    mutating func refused(_ id: FetchID) {
        guard let fetch = running[id], let provider = fetch.upstream.ranked else { return }
        refusers[fetch.question.name, default: []].insert(provider)
    }

    mutating func throttled(_ provider: RankedID, until instant: Instant) {
        if providers.contains(where: { $0.id == provider }) { pausedUntil[provider] = instant }
    }

    /// Follows a network change: every lookup begins anew.
    mutating func networkChanged() {
        lookups = [:]
        isMoving = true
        moves += 1
    }

    /// Lookups that waited for the end of the change begin anew.
    mutating func networkUnchanged() { isMoving = true }

    /// A lookup that a verdict causes starts at once; its cost delays later refreshes.
    mutating func probeEnded() { hasVerdict = true }

    var waitingQuestions: [Waiter: Question] { debts.mapValues(\.question) }

    /// - Returns: the clients in the order of their questions.
    mutating func answeredFromCache(_ waiters: [Waiter]) -> [Waiter] {
        for waiter in waiters { debts[waiter] = nil }
        return waiters.sorted { $0.number < $1.number }
    }

    mutating func setUnreachable(_ providers: Set<RankedID>) {
        unreachable = providers
        upstreamChanges += 1
    }

    mutating func reset(_ provider: RankedID) { pausedUntil[provider] = nil }

    mutating func asked(_ question: Question, _ waiter: Waiter, expired: AgedAnswer?, now: Instant) {
        askedNow = question
        debts[waiter] = Debt(question: question, at: now, expired: expired, slept: slept, moves: moves)
    }

    /// Records an answer. It ends with its TTL, which a rule may raise to `lowest`.
    mutating func delivered(_ id: FetchID, _ answer: Answer?, lowest: UInt32, now: Instant) {
        if shadows.removeValue(forKey: id) != nil { spent.append(id) }
        guard let fetch = end(id), let answer else { return }
        if case .answers = fetch.fate { lookups[fetch.question]?.withoutPlace = [] }
        let end = now + .seconds(Int64(max(answer.ttlSeconds, lowest)))
        goodUntil[fetch.question] = max(goodUntil[fetch.question] ?? end, end)
    }

    /// Records a provider's reply about the name without an answer, or a late one: the system resolver need not answer
    /// in its place.
    mutating func reached(_ id: FetchID) {
        guard let fetch = running[id], fetch.upstream != .system else { return }
        lookups[fetch.question]?.hasVerdict = true
    }

    /// Records that the request found no place: it may be sent again.
    mutating func foundNoPlace(_ id: FetchID) {
        guard let fetch = running[id], fetch.upstream != .system else { return }
        lookups[fetch.question]?.withoutPlace.insert(fetch.upstream)
    }

    /// Records any reply of a provider, even one without an answer.
    mutating func replied(_ id: FetchID, now: Instant) {
        guard let provider = provider(of: id) else { return }
        let wasSilent = repliedAt[provider].map { now - $0 >= Bounds.silentFloor } ?? true
        for (id, fetch) in running where fetch.upstream.ranked == provider && fetch.sawSilenceEnd == nil {
            running[id]?.sawSilenceEnd = wasSilent
        }
        repliedAt[provider] = now
    }

    /// Ends the current event: lookups without requests in flight have ended.
    ///
    /// - Parameter notAsked: the providers that are left alone at present.
    mutating func eventEnded(without notAsked: [RankedID], now: Instant) {
        askedNow = nil
        isMoving = false
        hasVerdict = false
        leftAlone = notAsked
        for provider in notAsked { leftAloneAt[provider] = now }
        for question in touched where lookups[question]?.running == 0 {
            let isAwaited = debts.values.contains { $0.question == question }
            if !isAwaited || lookups[question]?.withoutPlace.isEmpty != false { lookups[question] = nil }
        }
        touched = []
    }

    // MARK: what is done

    mutating func fetch(
        _ id: FetchID, _ question: Question, _ upstream: Upstream, _ fate: Fate, isRefresh: Bool, now: Instant
    ) throws {
        try require(fetches.insert(id).inserted, "a fetch ID comes twice")
        if let provider = upstream.ranked {
            let traits = providers.first { $0.id == provider }
            try require(traits?.supports(question.kind) == true, "\(upstream) cannot be asked \(question)")
            try require(LocalNames.route(question, .none) == .anywhere, "\(question) leaves the local network")
            try require(traits?.shadowShare == nil, "a shadow is asked for a client")
            try require(!unreachable.contains(provider), "\(provider) is not reachable")
            try checkAppetite(provider, question, isRefresh: isRefresh, now: now)
        }
        // A lookup may end and another one begin within one event: a verdict on the answer causes it. A lookup repeats
        // a transient failure.
        let mayBeAskedAgain =
            lookups[question]?.withoutPlace.contains(upstream) == true || lookups[question]?.asked[upstream] == .fails
            || running.values.contains { $0.question == question && $0.upstream == upstream && isLost($0, now) }
        let hasAnswered = lookups[question]?.hasAnswered == true
        let hasAsked = lookups[question]?.asked[upstream] != nil && !mayBeAskedAgain
        let hasEnded = lookups[question]?.running == 0 && (hasAsked || hasAnswered)
        if hasEnded || lookups[question] == nil {
            try lookupBegun(question, upstream, isOfVerdict: hasVerdict || hasAnswered, now: now)
        }
        let isNew = lookups[question]?.asked.updateValue(fate, forKey: upstream) == nil
        try require(
            isNew || mayBeAskedAgain || upstream == .system,
            "\(upstream) is asked twice by one lookup for \(question)")
        lookups[question]?.running += 1
        lookups[question]?.withoutPlace.remove(upstream)
        running[id] = Fetch(question: question, upstream: upstream, fate: fate, startedAt: now)
    }

    /// Checks that a provider with a pause or a quota is asked only after all other usable ones.
    private mutating func checkAppetite(
        _ provider: RankedID, _ question: Question, isRefresh: Bool, now: Instant
    ) throws {
        let lookup = lookups[question]
        let others = providers.filter {
            $0.id != provider && $0.supports(question.kind) && $0.shadowShare == nil && $0.questionsPerSecond == nil
                && !$0.hasOwnNames && !unreachable.contains($0.id) && !leftAlone.contains($0.id)
                && refusers[question.name]?.contains($0.id) != true
                && (pausedUntil[$0.id] ?? now) <= now
        }
        let isLastResort =
            // A lookup continues with the providers of its start.
            lookup.map { $0.upstreamChanges != upstreamChanges } ?? false
            || !(lookup?.hasSystem ?? hasSystem) || lookup?.asked[.system] != nil
            // A lookup asks again, after a pause without requests.
            || debts.values.contains { $0.question == question && $0.at < now }
            // A client's lookup without a request so far has waited for its turn at the other providers.
            || lookup == nil && !isRefresh && question != askedNow
            || (lookup?.asked.count ?? 0) >= Bounds.maxProviderAttempts
            || others.allSatisfy { lookup?.asked[Upstream($0.id)] != nil }
        try require(isLastResort || (pausedUntil[provider] ?? now) <= now, "\(provider) is asked during its pause")
        guard let most = providers.first(where: { $0.id == provider })?.questionsPerSecond else { return }
        let recent = questionsOf[provider, default: []].filter { now - $0 < .seconds(1) } + [now]
        questionsOf[provider] = recent
        // A second may also use the quota that the one before saved up.
        try require(isLastResort || recent.count <= 2 * most, "\(recent.count) questions in a second for \(provider)")
    }

    private mutating func lookupBegun(
        _ question: Question, _ upstream: Upstream, isOfVerdict: Bool, now: Instant
    ) throws {
        let isLocal = LocalNames.route(question, .none) != .anywhere
        // Lookups need not query providers with a quota.
        let candidates = providers.filter {
            $0.supports(question.kind) && $0.shadowShare == nil && $0.questionsPerSecond == nil && !isLocal
                && !unreachable.contains($0.id)
        }
        // Its clients may have waited before: for the end of another lookup's trial, or of a network change.
        let isAskedNow = question == askedNow || question.otherFamily == askedNow
        let hasWaited = !isAskedNow && debts.values.contains { $0.question == question }
        lookups[question] = Lookup(
            startedAt: now, slept: slept, candidates: candidates.map(\.id), hasSystem: hasSystem,
            upstreamChanges: upstreamChanges, isStartedAnew: isMoving || hasWaited, isRefresh: !isAskedNow,
            isOfVerdict: isOfVerdict)
        guard let provider = upstream.ranked, !isAskedNow, !isMoving, !hasWaited, !isOfVerdict,
            let traits = providers.first(where: { $0.id == provider })
        else { return }
        let recent = refreshesOf[upstream, default: []].filter { now - $0 < .seconds(1) } + [now]
        refreshesOf[upstream] = recent
        // A refresh that was paid for may come late, when as much budget is saved up again.
        let most = Double(traits.budgetPerSecond) * (1 + 2 * Bounds.budgetBurst)
        try require(Double(recent.count) <= most, "\(recent.count) refreshes in a second for \(upstream)")
    }

    /// Records a background measurement, which affects no client and no answer.
    mutating func shadow(_ id: FetchID, _ question: Question, _ provider: RankedID, now: Instant) throws {
        try require(fetches.insert(id).inserted, "a fetch ID comes twice")
        let traits = providers.first { $0.id == provider }
        try require(traits?.supports(question.kind) == true, "\(provider) cannot be asked \(question)")
        try require(LocalNames.route(question, .none) == .anywhere, "\(question) leaves the local network")
        try require(!unreachable.contains(provider), "\(provider) is not reachable")
        try checkAppetite(provider, question, isRefresh: true, now: now)
        let isShadow = traits?.shadowShare != nil
        let isNew = explored.allSatisfy { shadows[$0] != provider }
        try require(isShadow || isNew, "\(provider) is explored twice at a time")
        if !isShadow { explored = explored.filter { shadows[$0] != nil } + [id] }
        shadows[id] = provider
        try require(shadows.count <= Bounds.maxShadowFetches, "too many fetches beside lookups")
    }

    mutating func abandon(_ id: FetchID) throws {
        if shadows.removeValue(forKey: id) != nil { return spent.append(id) }
        let fetch = end(id)
        try require(fetch != nil, "a fetch is abandoned that does not run")
        guard let fetch, let provider = fetch.upstream.ranked else { return }
        lookups[fetch.question]?.hasVerdict = true
        guard unreachable.contains(provider) else { return }
        lookups[fetch.question]?.asked[fetch.upstream] = .fails
    }

    private mutating func end(_ id: FetchID) -> Fetch? {
        guard let fetch = running.removeValue(forKey: id) else { return nil }
        lookups[fetch.question]?.running -= 1
        touched.append(fetch.question)
        spent.append(id)
        return fetch
    }

    /// Checks the TTL of a reply. An answer without a TTL is only for the clients that ask during its lookup. A last
    /// known good answer may be given for `lastKnownGood` longer, and its last TTL begins within that time.
    ///
    /// - Parameter source: the source of the answer; nil: the cache.
    func given(_ question: Question, _ answer: Answer, ttlSeconds: UInt32, _ source: Source?, now: Instant) throws {
        guard source != .local, source != .fallback, ttlSeconds > 0 || source == nil else { return }
        let families = answer.isLastKnownGood ? [question, question.otherFamily ?? question] : [question]
        let longer = answer.isLastKnownGood ? lastKnownGood + .seconds(Int64(Bounds.lastKnownGoodTTLSeconds)) : .zero
        let left = families.compactMap { goodUntil[$0] }.max().map { now.duration(to: $0 + longer) } ?? .zero
        try require(
            !answer.isLastKnownGood || ttlSeconds <= Bounds.lastKnownGoodTTLSeconds,
            "\(question): a last known good answer with TTL \(ttlSeconds)")
        // Ages are whole seconds.
        try require(
            .seconds(Int64(ttlSeconds)) < left + .seconds(2), "\(question): TTL \(ttlSeconds) with \(left) left")
    }

    /// Records that an answer was stored.
    mutating func stored(_ question: Question, from source: Source) {
        if source != .system { lookups[question]?.hasAnswered = true }
    }

    mutating func replied(_ waiter: Waiter, now: Instant) throws -> Question {
        guard let debt = debts.removeValue(forKey: waiter) else {
            throw Broken(description: "client \(waiter.number) gets a second reply")
        }
        try require(
            debt.at.duration(to: now) - (slept - debt.slept) <= Bounds.answerWithin,
            "client \(waiter.number) waited too long")
        return debt.question
    }

    /// Whether the provider has replied to a later request.
    private func isLost(_ fetch: Fetch, _ now: Instant) -> Bool {
        let lastReply = fetch.upstream.ranked.flatMap { repliedAt[$0] } ?? fetch.startedAt
        return lastReply > fetch.startedAt && now - fetch.startedAt >= Bounds.silentFloor
    }

    /// Requires a silence: no awaited provider has replied to anything lately, or the request was lost in a silence
    /// that has ended since.
    private func requireSilence(_ question: Question, now: Instant) throws {
        for fetch in running.values where fetch.question == question {
            guard let provider = fetch.upstream.ranked else { continue }
            let isSilent = repliedAt[provider].map { now - $0 >= Bounds.silentFloor } ?? true
            let isLost = fetch.sawSilenceEnd == true && now - fetch.startedAt >= Bounds.silentFloor
            try require(isSilent || isLost, "\(question): expired at once, and \(provider) has replied")
        }
    }

    /// The number of providers that a lookup queries within `clientTimeout`. A third provider's turn may come later. If
    /// the system resolver goes first, so may a second one's, and a first one's in a refresh.
    private func mostInTime(_ lookup: Lookup) -> Int { isSystemFirst ? lookup.isRefresh ? 0 : 1 : 2 }

    /// Checks an expired answer: no queried upstream answers within `clientTimeout` of the lookup's start, and every
    /// required upstream was queried by then. The system resolver does not count, and neither do lookups whose
    /// upstreams or hosts file changed. The time after a complete failure (`recheck`) is exempt.
    mutating func repliedExpired(
        _ waiter: Waiter, _ sourceRank: AgedAnswer.SourceRank, _ cause: StaleCause, _ policyOf: (Name) -> NamePolicy,
        now: Instant
    ) throws -> Question {
        let kept = debts[waiter]?.expired
        let hasStayed = debts[waiter]?.moves == moves
        let question = try replied(waiter, now: now)
        let policy = policyOf(question.name)
        // All clients of a lookup get the same expired answer.
        if let kept, hasStayed, cause != .otherNetwork, cause != .denied {
            try require(kept.isUsable(policy.limits), "\(question): an expired answer against the policy")
        }
        guard cause != .unresponsive else {
            try requireSilence(question, now: now)
            return question
        }
        let isOthers = cause == .otherNetwork
        try require(!isOthers || policy.limits.maxAgeSeconds > 0, "\(question): another network's against the policy")
        let patience = max(policy.stale.clientTimeout, isOthers ? Bounds.otherNetworkPatience : .zero)
        guard cause != .recheck, patience > .zero, !hasDisplaced else { return question }
        guard let lookup = lookups[question] else {
            // The lookup may have failed a moment ago, or wait to repeat a request.
            if isOthers || cause == .timeout { return question }
            // There is no upstream to query, or no room for a lookup.
            let candidates = providers.filter { $0.supports(question.kind) && $0.shadowShare == nil }
            let isAlone =
                !hasSystem && LocalNames.route(question, .none) == .system
                || !hasSystem && candidates.allSatisfy { leftAlone.contains($0.id) }
            try require(
                cause == .failure && (isAlone || lookups.count >= Bounds.maxLookups)
                    || candidates.contains { $0.questionsPerSecond != nil }, "\(question): \(cause), no lookup"
            )
            return question
        }
        // Results that arrive during a sleep are not yet handled.
        guard lookup.slept == slept else { return question }
        let end = min(now, lookup.startedAt + patience)
        let isCompared = lookup.isOfVerdict || lookup.asked.values.contains(.misleads)
        for (upstream, fate) in lookup.asked where !isCompared {
            // The gate may have closed after the system resolver was asked.
            guard case .answers(let at) = fate, upstream != .system else { continue }
            // Deadlines come before results of the same instant.
            try require(at >= end, "\(question): expired by \(cause), and \(upstream) has answered in time")
        }
        // While all providers are known to be down, a provider's expired answer comes before `clientTimeout`.
        guard lookup.upstreamChanges == upstreamChanges, !lookup.isLocalNow, !lookup.isStartedAnew,
            patience >= .milliseconds(1800), cause == .failure || lookup.startedAt.duration(to: now) >= patience
        else {
            return question
        }
        let candidates = lookup.candidates.count { leftAloneAt[$0].map { $0 < lookup.startedAt } ?? true }
        // The use of the system resolver depends on the providers' failures.
        let available = min(mostInTime(lookup), candidates)
        try require(
            lookup.asked.count >= available,
            "\(question): expired by \(cause), with \(lookup.asked.count) asked of \(available)")
        return question
    }
}
