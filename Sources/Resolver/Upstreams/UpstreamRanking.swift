// Ranks the providers for each lookup. Failing providers move to the end and are still asked if all fail. Providers
// that asked for a pause, are over their question rate or reject the account are asked last; unreachable ones never.

import DNSWire

/// A class with one owner, the resolver's state, for the reason of `ProviderStanding`.
final class UpstreamRanking {
    /// The providers' state on the current network.
    private(set) var standings: [ProviderStanding] = [] {
        didSet { hasFilters = standings.contains { $0.traits.filters } }
    }
    private var hasFilters = false
    /// Providers without a route: they are not asked, and no failure is recorded.
    private var unreachable: Set<RankedID> = []
    var unserved = UnservedNames()
    private var random: SeededGenerator
    private var lookupsSinceExploration = 0
    var audit = ProviderAudit()
    /// The usual hedge delay, and when it was computed.
    private var usual: (delay: Duration, at: Instant)?
    /// The failed provider that has answered last; nil: none has. The reader resets it.
    var recovered: RankedID?
    /// A request to a provider in trouble has ended. The resolver resets it.
    var hasTrialEnded = false
    /// Set by `waitedInVain` if it showed the silence of a provider to names of one parent, until the caller clears it.
    var hasNewSilence = false

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
    }

    /// Returns a ranking that shares no state with this one.
    func copy() -> UpstreamRanking { UpstreamRanking(copying: self) }

    private init(copying other: UpstreamRanking) {
        standings = other.standings.map { $0.copy() }
        hasFilters = other.hasFilters
        (unreachable, unserved, random) = (other.unreachable, other.unserved, other.random)
        lookupsSinceExploration = other.lookupsSinceExploration
        (audit, usual) = (other.audit, other.usual)
        (recovered, hasTrialEnded) = (other.recovered, other.hasTrialEnded)
        hasNewSilence = other.hasNewSilence
    }

    /// Replaces the list of providers. Unchanged providers keep their measurements.
    func setProviders(_ providers: [ProviderTraits]) {
        unserved.keep(providers)
        audit.keep(providers)
        let old = standings
        standings = providers.map { traits in old.first { $0.traits == traits } ?? ProviderStanding(traits) }
    }

    /// - Parameter provider: the provider to reset; nil: all.
    func reset(_ provider: RankedID?) {
        for index in standings.indices where provider == nil || standings[index].traits.id == provider {
            standings[index] = standings[index].afterReset()
        }
    }

    /// Closes the breakers of all providers after a fault with a common cause.
    func forgiveFailures() {
        for index in standings.indices { standings[index].forgive() }
    }

    // MARK: networks

    /// - Parameter known: states measured earlier on the new network.
    func moved(to known: [ProviderStanding]) {
        standings = standings.map { standing in standing.moved(to: known.first { $0.traits == standing.traits }) }
        lookupsSinceExploration = 0
        recovered = nil
    }

    /// Forgets the refusals of providers without TLS, of names and of the account, after a change to another network or
    /// the end of a captive portal: the former network or the portal may have forged them.
    func forgetUnverifiedRefusals() {
        for standing in standings where !standing.traits.verifies {
            unserved.forget(standing.traits.id)
            standing.unblock()
        }
    }

    /// Sets the providers without a route. Closes the breakers of providers that have a route again.
    ///
    /// - Returns: whether any provider has a route again.
    func setUnreachable(_ providers: Set<RankedID>) -> Bool {
        let reached = standings.indices.filter {
            unreachable.contains(standings[$0].traits.id) && !providers.contains(standings[$0].traits.id)
        }
        unreachable = providers
        for index in reached { standings[index] = standings[index].moved(to: standings[index]) }
        return !reached.isEmpty
    }

    /// Whether there are providers and none has a route.
    var isCutOff: Bool {
        standings.contains(where: \.isInGeneralUse)
            && standings.allSatisfy { !$0.isInGeneralUse || isUnreachable($0.traits.id) }
    }

    func isUnreachable(_ provider: RankedID) -> Bool { unreachable.contains(provider) }

    // MARK: the order

    /// Whether a provider can be asked questions of this kind, throttled providers included.
    func serves(_ kind: QuestionKind, among upstreams: NameUpstreams) -> Bool {
        standings.indices.contains {
            !standings[$0].isShadow && standings[$0].traits.supports(kind) && upstreams.include(standings[$0].traits)
        }
    }

    /// Whether the name's upstreams can be asked the question. Nameservers can be asked every question.
    func isServed(_ question: Question, by upstreams: NameUpstreams) -> Bool {
        switch upstreams {
        case .system, .nameserver, .nothing: true
        case .providers, .owners: serves(question.kind, among: upstreams)
        case .provider(let only): self[.provider(only)]?.traits.supports(question.kind) ?? false
        }
    }

    /// Returns when the first provider may be asked for the name again. Nil unless every provider among the upstreams
    /// replied that it does not serve the name.
    func unservedUntil(_ question: Question, among upstreams: NameUpstreams, now: Instant) -> Instant? {
        guard !unserved.isEmpty else { return nil }
        var earliest: Instant?
        for standing in standings where standing.traits.supports(question.kind) && upstreams.include(standing.traits) {
            if standing.isShadow, !upstreams.isOnly(standing.traits.id) { continue }
            guard let end = unserved.pauseEnd(of: question.name, at: standing.traits.id, now) else { return nil }
            earliest = min(end, earliest ?? end)
        }
        return earliest
    }

    /// Providers in this order: working by expected answer time, unmeasured, half-open, failing by end of back-off.
    /// Ties follow the order of the settings.
    func order(for kind: QuestionKind, among upstreams: NameUpstreams, now: Instant) -> [RankedID] {
        places(of: candidates(for: kind, upstreams, now), now).map { standings[$0.index].traits.id }
    }

    /// The first provider of `order`. Its measurements estimate those of the lookups with these upstreams.
    func best(for kind: QuestionKind, among upstreams: NameUpstreams, now: Instant) -> RankedID? {
        var (first, best): (Int?, Place?)
        for index in standings.indices where isCandidate(index, kind, upstreams) && !standings[index].isThrottled(now) {
            // With one candidate there is nothing to compare.
            guard let first else {
                first = index
                continue
            }
            let (known, other) = (best ?? place(first, now), place(index, now))
            best = other.precedes(known) ? other : known
        }
        return (best?.index ?? first).map { standings[$0].traits.id }
    }

    /// Returns the order for one lookup. Of two random picks near the best, the one with the lower load goes first
    /// (power of two choices). The owners of a name precede other providers unless they are failing.
    func choose(for kind: QuestionKind, among upstreams: NameUpstreams, now: Instant) -> [RankedID] {
        guard case .owners(let owners, let isExclusive) = upstreams else {
            // With one candidate there is nothing to compare.
            if let only = onlyCandidate(for: kind, upstreams, now) { return [standings[only].traits.id] }
            return choose(candidates(for: kind, upstreams, now), now)
        }
        let own = choose(candidates(for: kind, .owners(owners, isExclusive: true), now), now)
        guard !isExclusive else { return own }
        let isSound = { [self] (provider: RankedID) in
            index(of: provider).map { place($0, now).rank < .halfOpen } ?? false
        }
        return own.filter(isSound) + choose(candidates(for: kind, .providers, now), now) + own.filter { !isSound($0) }
    }

    private func choose(_ candidates: [Int], _ now: Instant) -> [RankedID] {
        guard candidates.count > 1 else { return candidates.map { standings[$0].traits.id } }
        var places = places(of: candidates, now)
        let best = places[0]
        guard best.rank == .working else { return places.map { standings[$0.index].traits.id } }
        let limit = max(best.cost * Bounds.nearBest, best.cost + Bounds.nearBestMilliseconds)
        let near = places.prefix { $0.rank == .working && $0.cost <= limit }.count
        if near > 1 {
            let first = Int.random(in: 0..<near, using: &random)
            let other = (first + Int.random(in: 1..<near, using: &random)) % near
            let picks = (min(first, other), max(first, other))
            let better = load(places[picks.1]) < load(places[picks.0]) ? picks.1 : picks.0
            places.insert(places.remove(at: better), at: 0)
        }
        return places.map { standings[$0.index].traits.id }
    }

    /// Providers that are asked as a last resort only.
    func throttled(for kind: QuestionKind, among upstreams: NameUpstreams, now: Instant) -> [RankedID] {
        var throttled: [RankedID] = []
        for index in standings.indices where isCandidate(index, kind, upstreams) && standings[index].isThrottled(now) {
            throttled.append(standings[index].traits.id)
        }
        return throttled
    }

    private enum Rank: Int, Comparable {
        case working
        case unmeasured
        case halfOpen
        case failing

        static func < (left: Rank, right: Rank) -> Bool { left.rawValue < right.rawValue }
    }

    private struct Place {
        let rank: Rank
        let cost: Double
        let index: Int

        func precedes(_ other: Place) -> Bool { (rank, cost, index) < (other.rank, other.cost, other.index) }
    }

    private func isCandidate(_ index: Int, _ kind: QuestionKind, _ upstreams: NameUpstreams) -> Bool {
        isReachable(index, kind, upstreams) && !(hasFilters && isStandIn(index, kind, upstreams))
    }

    private func isReachable(_ index: Int, _ kind: QuestionKind, _ upstreams: NameUpstreams) -> Bool {
        isListed(index, kind, upstreams) && !isUnreachable(standings[index].traits.id)
    }

    private func isListed(_ index: Int, _ kind: QuestionKind, _ upstreams: NameUpstreams) -> Bool {
        !standings[index].isShadow && standings[index].traits.supports(kind)
            && upstreams.include(standings[index].traits)
    }

    // MARK: filters

    /// Whether the provider filters nothing, and one that filters serves the name too. An account keeps its own names.
    func isStandIn(_ provider: RankedID, for kind: QuestionKind, among upstreams: NameUpstreams) -> Bool {
        hasFilters && index(of: provider).map { isStandIn($0, kind, upstreams) } ?? false
    }

    private func isStandIn(_ index: Int, _ kind: QuestionKind, _ upstreams: NameUpstreams) -> Bool {
        guard !standings[index].traits.filters else { return false }
        if case .owners(_, isExclusive: false) = upstreams, upstreams.isOwner(standings[index].traits.id) {
            return false
        }
        return standings.indices.contains { standings[$0].traits.filters && isListed($0, kind, upstreams) }
    }

    /// The providers that are asked only if none that filters can be reached, in the order of `order`.
    func standIns(for kind: QuestionKind, among upstreams: NameUpstreams, now: Instant) -> [RankedID] {
        guard hasFilters else { return [] }
        let indices = standings.indices.filter {
            isReachable($0, kind, upstreams) && isStandIn($0, kind, upstreams) && !standings[$0].isThrottled(now)
        }
        return places(of: indices, now).map { standings[$0.index].traits.id }
    }

    private func onlyCandidate(for kind: QuestionKind, _ upstreams: NameUpstreams, _ now: Instant) -> Int? {
        var only: Int?
        for index in standings.indices where isCandidate(index, kind, upstreams) && !standings[index].isThrottled(now) {
            guard only == nil else { return nil }
            only = index
        }
        return only
    }

    private func candidates(for kind: QuestionKind, _ upstreams: NameUpstreams, _ now: Instant) -> [Int] {
        var candidates: [Int] = []
        for index in standings.indices where isCandidate(index, kind, upstreams) && !standings[index].isThrottled(now) {
            candidates.append(index)
        }
        return candidates
    }

    /// Returns the places in the order of `order`.
    private func places(of candidates: [Int], _ now: Instant) -> [Place] {
        var places: [Place] = []
        for index in candidates { places.append(place(index, now)) }
        if places.count > 1 { places.sort { $0.precedes($1) } }
        return places
    }

    private func place(_ index: Int, _ now: Instant) -> Place {
        if standings[index].isFailing(now) {
            let back = standings[index].openUntil.map { max(0, now.duration(to: $0).seconds) } ?? 0
            return Place(rank: .failing, cost: back, index: index)
        }
        let rank: Rank =
            standings[index].isHalfOpen(now) ? .halfOpen : standings[index].isMeasured ? .working : .unmeasured
        return Place(rank: rank, cost: standings[index].expected(now), index: index)
    }

    private func load(_ place: Place) -> Double { (place.cost + 1) * Double(1 + standings[place.index].outstanding) }

    // MARK: background measurements

    /// Counts a new lookup.
    ///
    /// - Parameters:
    ///   - upstreams: the upstreams of the name. Only these are measured with it.
    ///   - mayCompare: the question may be a comparison question of the audit.
    /// - Returns: providers to ask in the background: half-open, unmeasured or possibly underrated ones, those to
    ///   compare, and shadow providers.
    func begunLookup(
        with first: RankedID, for question: Question, among upstreams: NameUpstreams,
        mayCompare: Bool = false, now: Instant
    ) -> [ProviderID] {
        self[first]?.chosenFirst(now: now)
        lookupsSinceExploration += 1
        var beside = upstreams.allowsComparison ? standings.indices.filter { isShadowed($0, question, now) } : []
        if let explored = explored(beside: first, question, upstreams, now) {
            lookupsSinceExploration = 0
            _ = standings[explored].spend(now: now)
            beside.append(explored)
        } else if audit.mayCompare, upstreams == .providers, question.isSameForAll {
            if mayCompare, let compared = compared(beside: first, question, now) {
                audit.comparing(standings[compared].traits.id)
                _ = standings[compared].spend(now: now)
                beside.append(compared)
            } else {
                audit.postpone()
            }
        }
        return beside.compactMap { standings[$0].traits.id.provider }
    }

    private func isShadowed(_ index: Int, _ question: Question, _ now: Instant) -> Bool {
        guard let share = standings[index].traits.shadowShare, standings[index].traits.supports(question.kind),
            !unserved.isPaused(question.name, at: standings[index].traits.id, now),
            !isUnreachable(standings[index].traits.id), !standings[index].isFailing(now),
            !standings[index].isThrottled(now)
        else { return false }
        return random.hits(share)
    }

    /// Chooses a provider for a background measurement, only if the first choice works. Half-open, unmeasured and
    /// doubted providers are due at once, others and billed ones at intervals. Each provider gets one request at a
    /// time.
    private func explored(
        beside first: RankedID, _ question: Question, _ upstreams: NameUpstreams, _ now: Instant
    ) -> Int? {
        guard standings.count > 1 else { return nil }
        let places = places(of: candidates(for: question.kind, upstreams, now), now)
        guard places.contains(where: { standings[$0.index].traits.id == first && $0.rank == .working }) else {
            return nil
        }
        let others = places.filter { place in
            standings[place.index].traits.id != first && standings[place.index].outstanding == 0
                && place.rank != .failing && standings[place.index].canSpend(now)
                && !unserved.isPaused(question.name, at: standings[place.index].traits.id, now)
        }
        let longestAgo = { [standings] (left: Place, right: Place) in
            guard let triedLeft = standings[left.index].triedAt else { return standings[right.index].triedAt != nil }
            return standings[right.index].triedAt.map { triedLeft < $0 } ?? false
        }
        let urgent = others.filter {
            let isIdle = standings[$0.index].isUntried(for: Bounds.explorationPause, now)
            return ($0.rank != .working || isDueForMeasurement($0.index, now))
                && (isIdle || !standings[$0.index].traits.isBilled)
        }
        if let next = urgent.min(by: longestAgo) { return next.index }
        guard lookupsSinceExploration >= Bounds.lookupsPerExploration, let next = others.min(by: longestAgo),
            standings[next.index].isUntried(for: Bounds.explorationPause, now)
        else { return nil }
        return next.index
    }

    /// Chooses the provider for a comparison question: the one with the fewest so far, without trouble and without a
    /// budget that the operator has set.
    private func compared(beside first: RankedID, _ question: Question, _ now: Instant) -> Int? {
        guard self[first]?.isFailing(now) == false, self[first]?.isMeasured == true else { return nil }
        let others = candidates(for: question.kind, .providers, now).filter { index in
            let (standing, id) = (standings[index], standings[index].traits.id)
            return id != first && standing.traits.isAudited && !standing.isAsked && !standing.isFailing(now)
                && !standing.isHalfOpen(now) && standing.canSpend(now) && !unserved.isPaused(question.name, at: id, now)
                && !audit.hasCompared(id, question.name)
        }
        return others.min {
            (audit.comparisons(standings[$0].traits.id), $0) < (audit.comparisons(standings[$1].traits.id), $1)
        }
    }

    /// Whether a new measurement is due: another upstream was faster, or the provider lost credibility. Either may no
    /// longer hold. A provider that lost credibility is measured at most every `Bounds.mistrustPause`.
    private func isDueForMeasurement(_ index: Int, _ now: Instant) -> Bool {
        guard !standings[index].isDoubted else { return true }
        return standings[index].credibility.isLost(now)
            && standings[index].isUntried(for: Bounds.mistrustPause, now)
    }

    // MARK: one provider

    /// Returns the state of a provider; nil: the settings do not have it any more.
    subscript(provider: RankedID) -> ProviderStanding? { index(of: provider).map { standings[$0] } }

    /// Whether a lookup may ask the provider: it has a route, carries the question, and the settings allow it for the
    /// name. A reload may have changed that since the lookup began.
    func mayAsk(_ provider: RankedID, for kind: QuestionKind, among upstreams: NameUpstreams) -> Bool {
        guard let index = index(of: provider) else { return false }
        guard upstreams.isOnly(provider) else { return isReachable(index, kind, upstreams) }
        return standings[index].traits.supports(kind) && !isUnreachable(provider)
    }

    func timeout(of provider: RankedID) -> Duration { self[provider]?.traits.timeout ?? Bounds.providerTimeout }

    /// Whether the provider is down, on trial or throttled.
    func isInTrouble(_ provider: RankedID, _ now: Instant) -> Bool {
        self[provider].map { $0.isDown(now) || $0.isThrottled(now) } ?? false
    }

    /// Interval of refreshes after an outage: `Bounds.retryStep`, or longer if the connections to the best provider
    /// carry less.
    func retryStep(among upstreams: NameUpstreams, now: Instant) -> Duration {
        let best = best(for: .a, among: upstreams, now: now).flatMap { self[$0] }
        return max(Bounds.retryStep, best?.retryStep ?? .zero)
    }

    /// Time until a second provider is asked as well.
    func hedgeDelay(_ provider: RankedID) -> Duration { self[provider]?.hedgeDelay ?? Bounds.hedgeUnmeasured }

    /// Time to ask the best provider and, after its hedge delay, another one of equal latency. Zero without providers.
    func firstAndHedgeTime(for kind: QuestionKind, among upstreams: NameUpstreams, now: Instant) -> Duration {
        guard let best = best(for: kind, among: upstreams, now: now) else { return .zero }
        return hedgeDelay(best) + (self[best]?.slowLatency ?? Bounds.hedgeUnmeasured)
    }

    /// Expected answer time of the slowest of these providers; nil if one is unmeasured, or if there are none.
    func slowestAnswerTime(of providers: some Sequence<RankedID>) -> Duration? {
        var longest: Duration?
        for provider in providers {
            guard let expected = self[provider]?.expectedAnswerTime else { return nil }
            longest = max(expected, longest ?? expected)
        }
        return longest
    }

    func estimate(of provider: RankedID, now: Instant) -> ProviderEstimate? {
        let all = standings.reduce(0) { $0 + ($1.traits.id.provider == nil ? 0 : $1.firstChoices.value(now)) }
        return self[provider]?.estimate(of: all, now)
    }

    /// Returns the state changes since the last call.
    func takeStateChanges(now: Instant) -> [ProviderStateChange] {
        var changes: [ProviderStateChange] = []
        for index in standings.indices {
            let (old, new) = (standings[index].reportedState, standings[index].state(now))
            guard old != new else { continue }
            standings[index].reportedState = new
            changes.append(ProviderStateChange(upstream: standings[index].traits.id, from: old, to: new))
        }
        return changes
    }

    // MARK: events

    /// - Parameter isHeard: whether a reply arrived, a failure included.
    func ended(_ provider: RankedID, _ holder: ShareHolder, isHeard: Bool, now: Instant) {
        if isInTrouble(provider, now) { hasTrialEnded = true }
        self[provider]?.ended(holder, isHeard: isHeard, now: now)
        audit.ended(provider, now: now)
    }

    func answered(_ provider: RankedID, after elapsed: Duration, now: Instant) {
        let isBack = self[provider]?.answered(after: elapsed, now: now)
        audit.replied(provider, after: elapsed, usual: usualHedgeDelay(now), now: now)
        noteRecovery(of: provider, isBack)
    }

    /// Records that another upstream was quicker. A request that was overtaken early may have been as quick.
    func overtaken(_ provider: RankedID, after elapsed: Duration, now: Instant) {
        self[provider]?.overtaken(after: elapsed)
        let usual = usualHedgeDelay(now)
        if elapsed > usual { audit.replied(provider, after: elapsed, usual: usual, now: now) }
    }

    /// Records that the provider failed for a name without giving a reason while another provider had an answer.
    func contradicted(_ provider: RankedID, now: Instant) {
        self[provider]?.contradicted(now: now)
        audit.failed(provider, now: now)
    }

    /// The hedge delay of the quickest working provider.
    private func usualHedgeDelay(_ now: Instant) -> Duration {
        if let usual, now - usual.at < .seconds(1) { return usual.delay }
        var delay = Bounds.hedgeCeiling
        for standing in standings where standing.isInGeneralUse && standing.isMeasured && !standing.isFailing(now) {
            delay = min(delay, standing.hedgeDelay)
        }
        usual = (delay, now)
        return delay
    }

    /// Records a reply without an answer for its name: the provider works.
    func replied(_ provider: RankedID, now: Instant) {
        noteRecovery(of: provider, self[provider]?.replied(now: now))
    }

    /// Records an error reply that does not depend on the name: connections work, but perhaps every name fails.
    func failedService(_ provider: RankedID, for name: Name, of domain: Name, now: Instant) {
        noteRecovery(of: provider, self[provider]?.failedService(name, of: domain, now: now))
    }

    private func noteRecovery(of provider: RankedID, _ isBack: Bool?) {
        if isBack == true, self[provider]?.isInGeneralUse == true { recovered = provider }
    }

    /// Records that a question waited in vain for any reply of the provider.
    func waitedInVain(
        _ provider: RankedID, _ name: Name, parent: Name, of domain: Name, startedAt: Instant, now: Instant
    ) {
        let isNews = self[provider]?.waitedInVain(name, parent: parent, of: domain, startedAt: startedAt, now: now)
        if isNews == true { hasNewSilence = true }
    }

    /// - Parameters:
    ///   - isOfService: a reply of the provider arrived that has no answer.
    ///   - name: the question's name; nil: the domain.
    ///   - domain: the registrable domain of the name.
    ///   - startedAt: start of the attempt; nil: now.
    func failed(
        _ provider: RankedID, _ failure: FetchFailure, isOfService: Bool = false, for name: Name? = nil,
        of domain: Name, startedAt: Instant? = nil, now: Instant
    ) {
        guard let standing = self[provider] else { return }
        if isOfService { standing.noteServiceFailure(name ?? domain, of: domain, now: now) }
        if failure.mayBeProviders, haveOthersReplied(than: provider, since: startedAt ?? now) {
            audit.failed(provider, now: now)
        }
        switch failure {
        case .overload: standing.endedUnanswered(of: domain, startedAt: startedAt ?? now, now: now)
        case .unsupported: break
        case .throttled: standing.throttled(for: nil, now: now)
        case .account: standing.refused(now: now)
        case .refused, .unreachable, .timeout, .unacknowledged, .tls, .reset, .status, .redirected, .garbage, .server,
            .clock:
            standing.failed(failure, of: domain, startedAt: startedAt ?? now, now: now)
        }
    }

    /// Whether another provider has replied since: the path of this machine to the Internet works.
    private func haveOthersReplied(than provider: RankedID, since instant: Instant) -> Bool {
        standings.contains {
            $0.traits.id != provider && $0.traits.id.provider != nil && $0.hasReplied(since: instant)
        }
    }

    private func index(of provider: RankedID) -> Int? {
        for index in standings.indices where standings[index].traits.id == provider { return index }
        return nil
    }
}

extension Question {
    /// All clients get the answer, and it is the same for them: no view, no subnet, no DO and CD.
    fileprivate var isSameForAll: Bool { type.isAddress && clients == .all && dnssec.isEmpty }
}
