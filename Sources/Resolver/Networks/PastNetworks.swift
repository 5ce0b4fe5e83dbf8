// What the resolver knows of the networks that were left, and the key of the current one. The network left longest ago
// is evicted.

import DNSWire

struct PastNetworks {
    /// State of a network that is not in use.
    struct Past {
        let key: NetworkID
        fileprivate(set) var providers: [ProviderStanding]
        let systemCredibility: Credibility
        /// The most recently used names.
        fileprivate(set) var names: [NameVerification]
        let comparedNames: ComparedNames

        init(
            _ key: NetworkID, providers: [ProviderStanding], systemCredibility: Credibility, names: [NameVerification],
            comparedNames: ComparedNames = ComparedNames()
        ) {
            self.key = key
            self.providers = providers
            self.systemCredibility = systemCredibility
            self.names = names
            self.comparedNames = comparedNames
        }
    }

    /// The current network; nil until it is first reported.
    private(set) var present: NetworkID?
    /// When the current network replaced another one.
    private(set) var changedAt: Instant?
    /// The networks left, the one that was left last at the end.
    private(set) var pasts: [Past] = []

    /// Returns whether the network changed so recently that clients should not wait for upstreams that may not work.
    func isNew(_ now: Instant) -> Bool { changedAt.map { now - $0 < Bounds.firstSeconds } ?? false }

    /// - Returns: the state of the network now in use; nil: none.
    mutating func change(to key: NetworkID, leaving past: Past?, now: Instant) -> Past? {
        // The first reported network was already in use before the report.
        if present != nil { changedAt = now }
        present = key
        let returning = pasts.firstIndex { $0.key == key }.map { pasts.remove(at: $0) }
        if let past {
            pasts.append(past)
            // The current network counts towards the limit.
            if pasts.count >= Bounds.maxNetworks { pasts.removeFirst() }
        }
        return returning
    }

    mutating func forget(_ key: NetworkID) { pasts.removeAll { $0.key == key } }

    /// - Parameter provider: the provider to reset; nil: all providers.
    mutating func reset(_ provider: RankedID?) {
        for index in pasts.indices {
            pasts[index].providers.removeAll { provider == nil || $0.traits.id == provider }
        }
    }

    /// Drops the state of removed providers. A provider that returns later starts without state.
    mutating func keep(_ providers: [ProviderTraits]) {
        for index in pasts.indices { pasts[index].providers.removeAll { !providers.contains($0.traits) } }
    }

    mutating func forget(_ scope: QuestionScope) {
        for index in pasts.indices {
            for number in pasts[index].names.indices { pasts[index].names[number].forget(where: scope.contains) }
        }
    }
}
