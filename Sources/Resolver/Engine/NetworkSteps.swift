// What a network change does to lookups in flight and to what the resolver knows.
//
//     stable ──── changing ────> changing: answers are given but not cached; no lookup begins without a waiter
//        ▲                             │
//        └─── unchanged, changed ──────┘

import DNSWire

extension Resolver {
    mutating func learned(_ news: NetworkEvent, now: Instant) {
        switch news {
        case .changing: changing(now: now)
        case .unchanged: unchanged(now: now)
        case .changed(let key): changed(to: key, now: now)
        case .forgotten(let key): networks.forget(key)
        case .unreachable(let providers): setUnreachable(providers, now: now)
        }
        state.verification.begin(now: now)
    }

    /// Begins a network change: the fetches in flight and the expired answers belong to the former network.
    private mutating func changing(now: Instant) {
        state.isStable = false
        changingUntil = now + Bounds.networkPatience
        // Refreshes end here and restart when the network is known.
        retry(lookups.compactMap { $0 }.filter(\.waiters.isEmpty).map(\.question), now: now)
        for number in lookups.indices { change(number, now: now) { $0.leaveNetwork(now: now, &$1) } }
        state.dropBackground(now: now)
        state.dropComparisons()
        for number in lookups.indices { startAnew(number, on: .inDoubt, now: now) }
    }

    private mutating func unchanged(now: Instant) {
        state.isStable = true
        changingUntil = nil
        withdrawOverdueSubstitutes(now: now)
        for number in lookups.indices {
            if lookups[number]?.onlyAwaitsNetwork ?? false {
                startAnew(number, on: .same, now: now)
            } else {
                change(number, now: now) { $0.networkIsUnchanged(now: now, &$1) }
            }
        }
        state.verification.networkIsUnchanged(now: now)
    }

    /// Latest end of the network change under way; nil: none.
    func changeEnd(_ now: Instant) -> Instant? { changingUntil.flatMap { now < $0 ? $0 : nil } }

    private mutating func changed(to key: NetworkID, now: Instant) {
        for number in lookups.indices { change(number, now: now) { $0.leaveNetwork(now: now, &$1) } }
        state.dropBackground(now: now)
        state.dropComparisons()
        state.isStable = true
        changingUntil = nil
        state.dns64.forgetAnswers()
        troubled = []
        let hottest = state.plan.hottest(atMost: Bounds.maxReverifiedNames, now: now)
        _ = failures.removeAll()
        let former = networks.present
        let returning = networks.change(to: key, leaving: former == key ? nil : former.map(state.past), now: now)
        if former == key {
            state.comeBack(hottest: hottest, now: now)
        } else {
            state.move(to: returning, hottest: hottest, now: now)
        }
        withdrawOverdueSubstitutes(now: now)
        state.plan.networkChanged(to: former == key ? .same : returning == nil ? .new : .known, now: now)
        for number in lookups.indices { startAnew(number, on: former == key ? .same : .other, now: now) }
    }

    /// Restarts a lookup for its waiters on the current network.
    mutating func startAnew(_ number: Int, on network: NetworkSinceStart, now: Instant) {
        guard let former = lookups[number] else { return }
        let routed = routing.routed(former.question, now: now)
        if case .here(let reply, _) = routed.place {
            return change(number, now: now) { $0.answeredHere(reply, &$1) }
        }
        let route = route(routed, now: now)
        let terms = terms(for: route, isRefresh: false, now: now)
        let changeEnd = changeEnd(now)
        replace(number, by: former.startedAnew(along: route, policy: routed.policy, terms, now: now))
        change(number, now: now) { lookup, state in
            lookup.rankExpired(on: network, now: now, &state)
            if let changeEnd { lookup.awaitNetwork(until: changeEnd) }
            lookup.proceed(now: now, &state)
        }
    }

    private mutating func setUnreachable(_ providers: Set<RankedID>, now: Instant) {
        let isProviderReachableAgain = state.ranking.setUnreachable(providers)
        state.dropBackground(now: now, where: { providers.contains(.provider($0)) })
        for number in lookups.indices { change(number, now: now) { $0.leaveUnreachable(now: now, &$1) } }
        guard isProviderReachableAgain else { return }
        if changeEnd(now) != nil {
            // The new network has a route: waiting questions are asked over it at once.
            for number in lookups.indices where lookups[number]?.onlyAwaitsNetwork ?? false {
                startAnew(number, on: .inDoubt, now: now)
            }
        }
        retry(failures.removeAll(), now: now)
        state.plan.resumed(now: now)
    }
}
