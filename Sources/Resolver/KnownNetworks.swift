// The networks of which something is known: the one in use by its key, the others with all that was learned on them. A
// bounded table: the one that was left the longest ago goes.

import DNSWire

struct KnownNetworks {
    /// What belongs to a network that is not in use.
    struct Past {
        let key: NetworkKey
        fileprivate(set) var providers: [ProviderStanding]
        let systemTrust: Trust
        /// Those that were touched last.
        fileprivate(set) var names: [NameKnowledge]

        init(_ key: NetworkKey, providers: [ProviderStanding], systemTrust: Trust, names: [NameKnowledge]) {
            self.key = key
            self.providers = providers
            self.systemTrust = systemTrust
            self.names = names
        }
    }

    /// Nil as long as nobody has said which one it is.
    private(set) var present: NetworkKey?
    /// When it took the place of another one.
    private(set) var changedAt: Instant?
    /// The one that was left last at the end.
    private(set) var pasts: [Past] = []

    /// Just after a change clients are not to wait for what may not work here.
    func isNew(_ now: Instant) -> Bool { changedAt.map { now - $0 < Bounds.firstSeconds } ?? false }

    /// - Returns: what is known of the network in use now; nil: nothing.
    mutating func change(to key: NetworkKey, leaving past: Past?, now: Instant) -> Past? {
        // The first one that is named is the one that was in use already.
        if present != nil { changedAt = now }
        present = key
        let returning = pasts.firstIndex { $0.key == key }.map { pasts.remove(at: $0) }
        if let past {
            pasts.append(past)
            // The one in use is one of them.
            if pasts.count >= Bounds.maxNetworks { pasts.removeFirst() }
        }
        return returning
    }

    mutating func forget(_ key: NetworkKey) { pasts.removeAll { $0.key == key } }

    /// - Parameter provider: nil for all.
    mutating func reset(_ provider: ProviderID?) {
        for index in pasts.indices {
            pasts[index].providers.removeAll { provider == nil || $0.traits.id == provider }
        }
    }

    /// Whoever is away for a while comes back as a stranger.
    mutating func keep(_ providers: [ProviderTraits]) {
        for index in pasts.indices { pasts[index].providers.removeAll { !providers.contains($0.traits) } }
    }

    mutating func forget(_ scope: QuestionScope) {
        for index in pasts.indices {
            for number in pasts[index].names.indices { pasts[index].names[number].forget(scope) }
        }
    }
}
