// Which providers to ask, and in which order. Those that fail go to the end for a while, never away: when all of them
// fail, all of them are still asked. Only who is blocked, paused or paid by the question is left out of the order.

import DNSWire

struct UpstreamRanking {
    /// As they are on the network in use.
    private(set) var standings: [ProviderStanding] = []
    /// No route leads to them: they are not asked, and nothing is held against them.
    private var unreachable: Set<ProviderID> = []
    private var chance: SeededGenerator
    private var lookupsSinceExploration = 0
    /// A provider that had failed has answered; whoever reads it sets it back.
    var hasRecovered = false
    /// A request to a provider in trouble has ended; the resolver sets it back.
    var hasTrialEnded = false

    init(seed: UInt64) {
        chance = SeededGenerator(seed: seed)
    }

    /// Providers that stay keep what was measured; new ones start without.
    mutating func setProviders(_ providers: [ProviderTraits]) {
        let old = standings
        standings = providers.map { traits in old.first { $0.traits == traits } ?? ProviderStanding(traits) }
    }

    /// - Parameter provider: nil for all.
    mutating func reset(_ provider: ProviderID?) {
        for index in standings.indices where provider == nil || standings[index].traits.id == provider {
            standings[index].reset()
        }
    }

    /// What all failed by is gone: nobody is held to account for it.
    mutating func forgiveFailures() {
        for index in standings.indices { standings[index].forgive() }
    }

    // MARK: networks

    /// - Parameter known: what was measured on the network that is in use now.
    mutating func moved(to known: [ProviderStanding]) {
        standings = standings.map { standing in standing.moved(to: known.first { $0.traits == standing.traits }) }
        lookupsSinceExploration = 0
        hasRecovered = false
    }

    /// Those that are reached again have failed for the last time.
    ///
    /// - Returns: whether there are any.
    mutating func setUnreachable(_ providers: Set<ProviderID>) -> Bool {
        let reached = standings.indices.filter {
            unreachable.contains(standings[$0].traits.id) && !providers.contains(standings[$0].traits.id)
        }
        unreachable = providers
        for index in reached { standings[index] = standings[index].moved(to: standings[index]) }
        return !reached.isEmpty
    }

    /// There are providers, and none is reached.
    var isCutOff: Bool {
        standings.contains { !$0.isShadow } && standings.allSatisfy { $0.isShadow || isUnreachable($0.traits.id) }
    }

    func isUnreachable(_ provider: ProviderID) -> Bool { unreachable.contains(provider) }

    // MARK: the order

    /// Somebody is there to be asked for this type, if not just now.
    func serves(_ type: RecordType) -> Bool { standings.contains { !$0.isShadow && $0.traits.supports(type) } }

    /// Best first: those that work by the time a client waits with them, then those that were never measured, then
    /// those that may be back, then those that fail, soonest back first. Equals stand in the order of the settings.
    func order(for type: RecordType, now: Instant) -> [ProviderID] {
        places(for: type, now).map { standings[$0.index].traits.id }
    }

    /// The first in that order.
    func best(for type: RecordType, now: Instant) -> ProviderID? { order(for: type, now: now).first }

    /// The order for one lookup. Of two picks among those about as quick as the best the better goes first, reckoned
    /// with what they have to do.
    mutating func choose(for type: RecordType, now: Instant) -> [ProviderID] {
        var places = places(for: type, now)
        guard let best = places.first, best.rank == .working else {
            return places.map { standings[$0.index].traits.id }
        }
        let limit = max(best.cost * Bounds.nearBest, best.cost + Bounds.nearBestMilliseconds)
        let near = places.prefix { $0.rank == .working && $0.cost <= limit }.count
        if near > 1 {
            let first = Int.random(in: 0..<near, using: &chance)
            let other = (first + Int.random(in: 1..<near, using: &chance)) % near
            let picks = (min(first, other), max(first, other))
            let better = load(places[picks.1]) < load(places[picks.0]) ? picks.1 : picks.0
            places.insert(places.remove(at: better), at: 0)
        }
        return places.map { standings[$0.index].traits.id }
    }

    /// Those that want to be asked less, and those that do not serve our account: for when nobody else can serve.
    func withheld(for type: RecordType, now: Instant) -> [ProviderID] {
        standings.filter { isCandidate($0, type) && $0.isWithheld(now) }.map(\.traits.id)
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
    }

    private func isCandidate(_ standing: ProviderStanding, _ type: RecordType) -> Bool {
        !standing.isShadow && standing.traits.supports(type) && !isUnreachable(standing.traits.id)
    }

    private func places(for type: RecordType, _ now: Instant) -> [Place] {
        standings.indices.filter { isCandidate(standings[$0], type) && !standings[$0].isWithheld(now) }
            .map { place($0, now) }.sorted { ($0.rank, $0.cost, $0.index) < ($1.rank, $1.cost, $1.index) }
    }

    private func place(_ index: Int, _ now: Instant) -> Place {
        let standing = standings[index]
        if standing.isFailing(now) {
            let back = standing.openUntil.map { max(0, now.duration(to: $0).seconds) } ?? 0
            return Place(rank: .failing, cost: back, index: index)
        }
        let rank: Rank = standing.isHalfOpen(now) ? .halfOpen : standing.isMeasured ? .working : .unmeasured
        return Place(rank: rank, cost: standing.expected(now), index: index)
    }

    private func load(_ place: Place) -> Double { (place.cost + 1) * Double(1 + standings[place.index].outstanding) }

    // MARK: what is measured beside

    /// A lookup begins.
    ///
    /// - Returns: who is asked the same beside it, though nobody waits for that: providers that may be back or better
    ///   than they seem, and shadows.
    mutating func begunLookup(with first: ProviderID, for type: RecordType, now: Instant) -> [ProviderID] {
        update(first) { $0.chosenFirst(now: now) }
        lookupsSinceExploration += 1
        var beside = standings.indices.filter { isShadowed($0, type, now) }
        if let explored = explored(beside: first, type, now) {
            lookupsSinceExploration = 0
            _ = standings[explored].spend(now: now)
            beside.append(explored)
        }
        return beside.map { standings[$0].traits.id }
    }

    private mutating func isShadowed(_ index: Int, _ type: RecordType, _ now: Instant) -> Bool {
        let standing = standings[index]
        guard let share = standing.traits.shadowShare, standing.traits.supports(type) else { return false }
        guard !isUnreachable(standing.traits.id) else { return false }
        guard !standing.isFailing(now), !standing.isWithheld(now) else { return false }
        return chance.hits(share)
    }

    /// While somebody works, others cost no client a wait: what may be back, what was never asked, and what was only
    /// overtaken is looked at at once, the rest now and then; one request to each at a time.
    private func explored(beside first: ProviderID, _ type: RecordType, _ now: Instant) -> Int? {
        let places = places(for: type, now)
        guard places.contains(where: { standings[$0.index].traits.id == first && $0.rank == .working }) else {
            return nil
        }
        let others = places.filter { place in
            let standing = standings[place.index]
            return standing.traits.id != first && standing.outstanding == 0 && place.rank != .failing
                && standing.canSpend(now)
        }
        let longestAgo = { (left: Place, right: Place) in
            guard let triedLeft = standings[left.index].triedAt else { return standings[right.index].triedAt != nil }
            return standings[right.index].triedAt.map { triedLeft < $0 } ?? false
        }
        let urgent = others.filter { $0.rank != .working || isToBeLookedAtSoon(standings[$0.index], now) }
        if let next = urgent.min(by: longestAgo) { return next.index }
        guard lookupsSinceExploration >= Bounds.lookupsPerExploration, let next = others.min(by: longestAgo),
            standings[next.index].triedAt.map({ now - $0 >= Bounds.explorationPause }) ?? true
        else { return nil }
        return next.index
    }

    /// Only overtaken, or not believed: both may be past. Whoever is not believed is asked no more often than a client
    /// would ask it.
    private func isToBeLookedAtSoon(_ standing: ProviderStanding, _ now: Instant) -> Bool {
        guard !standing.isDoubted else { return true }
        return standing.trust.isLost(now) && standing.triedAt.map { now - $0 >= Bounds.mistrustPause } ?? true
    }

    // MARK: one provider

    func knows(_ provider: ProviderID) -> Bool { standing(provider) != nil }

    func traits(of provider: ProviderID) -> ProviderTraits? { standing(provider)?.traits }

    /// Not to be counted on just now: it is down, is on trial, or is not to be asked.
    func isInTrouble(_ provider: ProviderID, _ now: Instant) -> Bool {
        standing(provider).map { $0.isDown(now) || $0.isWithheld(now) } ?? false
    }

    /// Was down lately, and the next request tells whether it is back.
    func mayBeBack(_ provider: ProviderID, _ now: Instant) -> Bool {
        standing(provider).map { $0.mayBeBack(now) } ?? false
    }

    /// In trouble, and a request is out that tells whether the provider is back. A request that takes too long proves
    /// nothing for other names, and the next lookup may try.
    func isOnTrial(_ provider: ProviderID, _ now: Instant) -> Bool {
        guard let standing = standing(provider), standing.outstanding > 0, standing.isDown(now) else { return false }
        return standing.triedAt.map { now - $0 < Bounds.trialSpacing } ?? false
    }

    /// None of these replies to names of this domain, as far as is known. False for no providers.
    func areUnresponsive(_ providers: [ProviderID], for domain: @autoclosure () -> Name, _ now: Instant) -> Bool {
        !providers.isEmpty && providers.allSatisfy { standing($0)?.isUnresponsive(for: domain(), now) ?? false }
    }

    /// Requests that the provider does not reply to may hold all places.
    func mayBeSilent(_ provider: ProviderID, _ now: Instant) -> Bool { standing(provider)?.mayBeSilent(now) ?? false }

    /// A request is out.
    func isAsked(_ provider: ProviderID) -> Bool { standing(provider).map { $0.outstanding > 0 } ?? false }

    /// Works, and is not to be asked just now.
    func isWithheld(_ provider: ProviderID, _ now: Instant) -> Bool {
        standing(provider)?.isWithheld(now) ?? false
    }

    /// How long to wait for this provider before a second one is asked too.
    func hedgeDelay(_ provider: ProviderID) -> Duration { standing(provider)?.hedgeDelay ?? Bounds.hedgeUnmeasured }

    /// How long it takes to ask the best provider and, after its hedge delay, another one that is as slow. Zero without
    /// providers.
    func patience(for type: RecordType, now: Instant) -> Duration {
        guard let best = best(for: type, now: now) else { return .zero }
        return hedgeDelay(best) + (standing(best)?.slowLatency ?? Bounds.hedgeUnmeasured)
    }

    /// So long the slowest of these usually takes; nil when one of them was not measured, or there is none.
    func patience(of providers: some Sequence<ProviderID>) -> Duration? {
        var longest: Duration?
        for provider in providers {
            guard let patience = standing(provider)?.patience else { return nil }
            longest = max(patience, longest ?? patience)
        }
        return longest
    }

    func state(of provider: ProviderID, now: Instant) -> ProviderState? { standing(provider)?.state(now) }

    func estimate(of provider: ProviderID, now: Instant) -> ProviderEstimate? {
        let all = standings.reduce(0) { $0 + $1.firstChoices.value(now) }
        return standing(provider)?.estimate(of: all, now)
    }

    /// Since it was called last.
    mutating func takeStateChanges(now: Instant) -> [ProviderStateChange] {
        var changes: [ProviderStateChange] = []
        for index in standings.indices {
            let (old, new) = (standings[index].reportedState, standings[index].state(now))
            guard old != new else { continue }
            standings[index].reportedState = new
            changes.append(ProviderStateChange(provider: standings[index].traits.id, from: old, to: new))
        }
        return changes
    }

    // MARK: what happens

    /// - Parameter domain: the registrable domain of the name that is asked.
    mutating func begun(_ provider: ProviderID, _ domain: Name, now: Instant) {
        update(provider) { $0.begun(domain, now: now) }
    }

    /// - Parameter isHeard: something came back, be it a failure.
    mutating func ended(_ provider: ProviderID, _ domain: Name, isHeard: Bool, now: Instant) {
        if isInTrouble(provider, now) { hasTrialEnded = true }
        update(provider) { $0.ended(domain, isHeard: isHeard, now: now) }
    }

    /// The path to the provider is interrupted, until it replies or no request is out.
    mutating func unacknowledged(_ provider: ProviderID) { update(provider) { $0.unacknowledged() } }

    mutating func answered(_ provider: ProviderID, after elapsed: Duration, now: Instant) {
        var isRecovered = false
        update(provider) { isRecovered = $0.answered(after: elapsed, now: now) && !$0.isShadow }
        if isRecovered { hasRecovered = true }
    }

    /// The provider replied about a name for which it has no answer: the provider works.
    mutating func replied(_ provider: ProviderID, now: Instant) {
        var isRecovered = false
        update(provider) { isRecovered = $0.replied(now: now) && !$0.isShadow }
        if isRecovered { hasRecovered = true }
    }

    /// The provider failed for a name without a reason, and another provider had an answer.
    mutating func contradicted(_ provider: ProviderID, now: Instant) {
        update(provider) { $0.contradicted(now: now) }
    }

    mutating func overtaken(_ provider: ProviderID, after elapsed: Duration) {
        update(provider) { $0.overtaken(after: elapsed) }
    }

    mutating func recordConfirmed(_ provider: ProviderID, about name: Name, now: Instant) {
        update(provider) { $0.recordConfirmed(about: name, now: now) }
    }

    mutating func recordForged(_ provider: ProviderID, about name: Name, now: Instant) {
        update(provider) { $0.recordForged(about: name, now: now) }
    }

    /// - Parameters:
    ///   - domain: the registrable domain of the name that was asked.
    ///   - startedAt: when the attempt began; nil: just now.
    mutating func failed(
        _ provider: ProviderID, _ failure: FetchFailure, of domain: Name, startedAt: Instant? = nil, now: Instant
    ) {
        switch failure {
        case .overload: update(provider) { $0.endedUnanswered(of: domain, startedAt: startedAt ?? now, now: now) }
        case .unsupported: break
        case .throttled: throttled(provider, for: nil, now: now)
        case .account: update(provider) { $0.refused(now: now) }
        case .refused, .unreachable, .timeout, .unacknowledged, .tls, .reset, .status, .redirected, .garbage, .server,
            .clock:
            update(provider) { $0.failed(failure, of: domain, startedAt: startedAt ?? now, now: now) }
        }
    }

    mutating func throttled(_ provider: ProviderID, for pause: Duration?, now: Instant) {
        update(provider) { $0.throttled(for: pause, now: now) }
    }

    /// Charges the budget for one refresh. Nil: it may begin; else when it may.
    mutating func spend(on provider: ProviderID, now: Instant) -> Instant? {
        var notBefore: Instant?
        update(provider) { notBefore = $0.spend(now: now) }
        return notBefore
    }

    private func standing(_ provider: ProviderID) -> ProviderStanding? {
        standings.first { $0.traits.id == provider }
    }

    private mutating func update(_ provider: ProviderID, _ change: (inout ProviderStanding) -> Void) {
        guard let index = standings.firstIndex(where: { $0.traits.id == provider }) else { return }
        change(&standings[index])
    }
}
