// The consequences of replies and places for the resolver, until they are reported.

import Resolver

/// Reported in the order of the properties.
struct FetchResults {
    /// Fetches that wait for a place, and fetches that got one.
    var places: [Event] = []
    var redirected: [Event] = []
    /// Providers whose peers have acknowledged nothing, each once.
    var unacknowledged: [ProviderID] = []
    var throttled: [Event] = []
    /// Failures are reported first: an answer in the same reply is the latest information about the provider.
    var finished: [(id: FetchID, result: FetchResult)] = []
    /// Answers that no fetch asked for.
    var volunteered: [Event] = []

    /// Whether places or requests that could not be sent have brought something about. Replies are read when they are
    /// reported.
    var isWaiting: Bool { !places.isEmpty || !finished.isEmpty }

    mutating func report(to outbox: any UpstreamOutbox) {
        for event in places { outbox.report(.event(event)) }
        for event in redirected { outbox.report(.event(event)) }
        for provider in unacknowledged { outbox.report(.event(.unacknowledged(provider))) }
        for event in throttled { outbox.report(.event(event)) }
        for (id, result) in finished where !result.isReply { outbox.report(.event(.fetchFinished(id, result))) }
        for (id, result) in finished where result.isReply { outbox.report(.event(.fetchFinished(id, result))) }
        for event in volunteered { outbox.report(.event(event)) }
        places.removeAll(keepingCapacity: true)
        redirected.removeAll(keepingCapacity: true)
        unacknowledged.removeAll(keepingCapacity: true)
        throttled.removeAll(keepingCapacity: true)
        finished.removeAll(keepingCapacity: true)
        volunteered.removeAll(keepingCapacity: true)
    }
}
