// The consequences of replies and places for the resolver, until they are reported.

import DNSWire
import Resolver

/// Reported in the order of the properties.
struct FetchResults {
    /// Fetches that wait for a place, and fetches that got one.
    var places: [Event] = []
    var redirected: [Event] = []
    /// Providers whose peers have acknowledged nothing, each once.
    var unacknowledged: [ProviderID] = []
    var throttled: [Event] = []
    /// Failures are reported before replies: an answer in the same reply is the latest information about the provider.
    private var failed: [Event] = []
    private var replied: [Event] = []
    /// Answers that no fetch asked for.
    var volunteered: [Event] = []

    /// Whether places or requests that could not be sent have brought something about. Replies are read when they are
    /// reported.
    var isWaiting: Bool { !places.isEmpty || !failed.isEmpty || !replied.isEmpty }

    mutating func finished(_ id: FetchID, _ result: consuming FetchResult) {
        if result.isReply {
            replied.append(.fetchFinished(id, result))
        } else {
            failed.append(.fetchFinished(id, result))
        }
    }

    mutating func report(to outbox: any UpstreamOutbox) {
        FetchResults.report(&places, to: outbox)
        FetchResults.report(&redirected, to: outbox)
        for provider in unacknowledged { outbox.report(.event(.unacknowledged(provider))) }
        unacknowledged.removeAll(keepingCapacity: true)
        FetchResults.report(&throttled, to: outbox)
        FetchResults.report(&failed, to: outbox)
        FetchResults.report(&replied, to: outbox)
        FetchResults.report(&volunteered, to: outbox)
    }

    /// Moves the events out: a copy of one retains all the records of its answer.
    private static func report(_ events: inout [Event], to outbox: any UpstreamOutbox) {
        events.drain { outbox.report(.event($0)) }
    }
}
