// What was measured about each provider, and in which order to ask them. Providers that fail go to the end for a
// while, never away: when all of them fail, all of them are still asked.

import DNSWire

struct UpstreamRanking {
    private struct Standing {
        let traits: ProviderTraits
        /// Smoothed latency and its mean deviation in milliseconds (RFC 6298 section 2); nil until the first answer.
        var latency: Double?
        var deviation = 0.0
        var failuresInARow = 0
        var backedOffUntil: Instant?
        /// Requests out, and since when no answer has come although one was out.
        var outstanding = 0
        var silentSince: Instant?
        var budget = RefreshBudget()

        func isBackedOff(_ now: Instant) -> Bool { (backedOffUntil ?? now) > now }

        /// Several requests are out and nothing comes back: it will be known to fail when they have timed out.
        func isSilent(_ now: Instant) -> Bool {
            guard let silentSince, outstanding >= Bounds.silentRequests else { return false }
            let usual = latency.map { Duration.milliseconds(2 * ($0 + 4 * deviation)) } ?? Bounds.hedgeCeiling
            return now - silentSince > max(usual, Bounds.silentFloor)
        }

        mutating func measure(_ elapsed: Duration) {
            // A request that was carried over a sleep says nothing beyond its time-out.
            let sample = min(elapsed, Bounds.providerTimeout).milliseconds
            guard let smoothed = latency else {
                latency = sample
                deviation = sample / 2
                return
            }
            deviation += (abs(sample - smoothed) - deviation) / 4
            latency = smoothed + (sample - smoothed) / 8
        }
    }

    private var standings: [Standing] = []
    /// A provider that had failed has answered; whoever reads it sets it back.
    var hasRecovered = false

    /// Providers that stay keep what was measured; new ones start without.
    mutating func setProviders(_ providers: [ProviderTraits]) {
        let old = standings
        standings = providers.map { traits in
            old.first { $0.traits == traits } ?? Standing(traits: traits)
        }
    }

    func knows(_ provider: ProviderID) -> Bool {
        standings.contains { $0.traits.id == provider }
    }

    func isBackedOff(_ provider: ProviderID, _ now: Instant) -> Bool {
        standings.contains { $0.traits.id == provider && $0.isBackedOff(now) }
    }

    /// Several requests are out, and none has been answered for longer than usual.
    func isSilent(_ provider: ProviderID, _ now: Instant) -> Bool {
        standings.contains { $0.traits.id == provider && $0.isSilent(now) }
    }

    /// Failed lately, or silent just now.
    func isInTrouble(_ provider: ProviderID, _ now: Instant) -> Bool {
        isBackedOff(provider, now) || isSilent(provider, now)
    }

    /// In trouble, and a request is out that will tell whether it is back.
    func isOnTrial(_ provider: ProviderID, _ now: Instant) -> Bool {
        standings.contains {
            $0.traits.id == provider && $0.outstanding > 0 && ($0.isBackedOff(now) || $0.isSilent(now))
        }
    }

    func traits(of provider: ProviderID) -> ProviderTraits? {
        standings.first { $0.traits.id == provider }?.traits
    }

    /// Best first: those not backed off, by latency, the unmeasured before the measured so that each is tried; then the
    /// backed-off ones, soonest back first. Equals stand in the order of the settings.
    func order(for type: RecordType, now: Instant) -> [ProviderID] {
        let usable = standings.indices.filter { standings[$0].traits.supports(type) }
        return usable.sorted { precedes($0, $1, now) }.map { standings[$0].traits.id }
    }

    /// The first in that order.
    func best(for type: RecordType, now: Instant) -> ProviderID? {
        var best: Int?
        for index in standings.indices where standings[index].traits.supports(type) {
            if best.map({ precedes(index, $0, now) }) ?? true { best = index }
        }
        return best.map { standings[$0].traits.id }
    }

    private func precedes(_ left: Int, _ right: Int, _ now: Instant) -> Bool {
        let (leftBack, rightBack) = (standings[left].backedOffUntil ?? now, standings[right].backedOffUntil ?? now)
        switch (leftBack > now, rightBack > now) {
        case (false, true): return true
        case (true, false): return false
        case (true, true): return leftBack != rightBack ? leftBack < rightBack : left < right
        case (false, false):
            let (leftLatency, rightLatency) = (standings[left].latency ?? 0, standings[right].latency ?? 0)
            return leftLatency != rightLatency ? leftLatency < rightLatency : left < right
        }
    }

    /// How long to wait for this provider before a second one is asked too.
    func hedgeDelay(_ provider: ProviderID) -> Duration {
        guard let standing = standings.first(where: { $0.traits.id == provider }), let latency = standing.latency else {
            return Bounds.hedgeUnmeasured
        }
        let usual = Duration.milliseconds(latency + 4 * standing.deviation)
        return min(max(usual, Bounds.hedgeFloor), Bounds.hedgeCeiling)
    }

    /// How long it takes to ask the best provider and, when nothing comes from it as it usually does, another one. Zero
    /// without providers.
    func patience(for type: RecordType, now: Instant) -> Duration {
        best(for: type, now: now).map { hedgeDelay($0) * 2 } ?? .zero
    }

    mutating func begun(_ provider: ProviderID, now: Instant) {
        update(provider) { standing in
            standing.silentSince = standing.silentSince ?? now
            standing.outstanding += 1
        }
    }

    /// - Parameter isHeard: something came back, be it a failure.
    mutating func ended(_ provider: ProviderID, isHeard: Bool, now: Instant) {
        update(provider) { standing in
            standing.outstanding = max(0, standing.outstanding - 1)
            if isHeard { standing.silentSince = now }
            if standing.outstanding == 0 { standing.silentSince = nil }
        }
    }

    mutating func answered(_ provider: ProviderID, after elapsed: Duration) {
        if standings.contains(where: { $0.traits.id == provider && $0.failuresInARow > 0 }) { hasRecovered = true }
        update(provider) { standing in
            standing.failuresInARow = 0
            standing.backedOffUntil = nil
            standing.measure(elapsed)
        }
    }

    /// Charges the budget for one refresh. Nil: it may begin; else when it may.
    mutating func spend(on provider: ProviderID, now: Instant) -> Instant? {
        var notBefore: Instant?
        update(provider) { standing in
            notBefore = standing.budget.spend(perSecond: standing.traits.budgetPerSecond, now: now)
        }
        return notBefore
    }

    /// Overtaken by another upstream: its latency is at least so long, which is news only beyond what was presumed.
    mutating func overtaken(_ provider: ProviderID, after elapsed: Duration) {
        update(provider) { standing in
            let presumed = standing.latency ?? Bounds.hedgeUnmeasured.milliseconds
            if elapsed.milliseconds > presumed { standing.measure(elapsed) }
        }
    }

    /// Failures during a back-off are the same trouble: many requests break together.
    mutating func failed(_ provider: ProviderID, now: Instant) {
        update(provider) { standing in
            guard !standing.isBackedOff(now) else { return }
            let doublings = min(standing.failuresInARow, 5)
            standing.failuresInARow += 1
            standing.backedOffUntil = now + min(Bounds.backOffFloor * (1 << doublings), Bounds.backOffCeiling)
        }
    }

    private mutating func update(_ provider: ProviderID, _ change: (inout Standing) -> Void) {
        guard let index = standings.firstIndex(where: { $0.traits.id == provider }) else { return }
        change(&standings[index])
    }
}

/// A bucket of tokens, one for each question that refreshes put to a provider. Clients' questions cost nothing: they
/// are never refused for the sake of refreshes.
struct RefreshBudget {
    private var tokens = 0.0
    private var countedAt: Instant?

    func tokens(perSecond: Int, now: Instant) -> Double {
        let rate = Double(perSecond)
        let most = max(1, rate * Bounds.budgetBurst)
        return countedAt.map { min(most, tokens + rate * max(0, $0.duration(to: now).seconds)) } ?? most
    }

    /// Nil: taken; else when the next one is there.
    mutating func spend(perSecond: Int, now: Instant) -> Instant? {
        tokens = tokens(perSecond: perSecond, now: now) - 1
        countedAt = now
        return tokens >= 0 ? nil : now + .seconds(-tokens / Double(perSecond))
    }
}

extension Duration {
    fileprivate var milliseconds: Double { seconds * 1000 }
}
