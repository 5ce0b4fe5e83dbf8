// Fetches that wait for a place at their provider. The wait is no latency of the provider, and no reason for the system
// resolver to stand in.

import DNSWire

extension Resolver {
    mutating func fetchWaits(_ id: FetchID, isOverdue: Bool, now: Instant) {
        guard let number = number(of: id) else { return state.dropBackground(id, now: now) }
        change(number, now: now) { $0.fetchWaits(id, isOverdue: isOverdue, now: now, &$1) }
    }
}

extension ResolverState {
    /// Drops a background fetch that got no place: no client waits for it.
    fileprivate mutating func dropBackground(_ id: FetchID, now: Instant) {
        guard let fetch = shadows.drop(id) else { return }
        portal.trialEnded(id)
        actions.append(.abandon(id))
        ranking[.provider(fetch.provider)]?.unbegun(fetch.holder, now: now)
    }
}

extension Lookup {
    /// - Parameter isOverdue: the fetch had a place and no reply. Otherwise it got no place yet, or lost its
    ///   connection.
    func fetchWaits(_ id: FetchID, isOverdue: Bool, now: Instant, _ state: inout ResolverState) {
        guard let index = running.firstIndex(where: { $0.id == id && $0.isSent }),
            let provider = running[index].provider
        else { return }
        let attempt = running[index]
        running[index].awaitsPlace = true
        holdBack(id, now: now, &state)
        if isOverdue {
            state.ranking.failed(provider, .overload, of: domain, startedAt: attempt.startedAt, now: now)
        }
    }
}
