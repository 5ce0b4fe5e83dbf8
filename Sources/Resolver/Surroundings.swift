// What a lookup reads and writes outside itself: the one place where fetches begin and end, so that ranking, tables and
// actions agree about them.

import DNSWire

struct Surroundings {
    var ranking = UpstreamRanking()
    var actions: [Action] = []
    /// By the event in hand, for the resolver's tables.
    var begun: [FetchID] = []
    var ended: [FetchID] = []
    var learned: Learned?
    var privateAnswers: [ProviderID: UInt64] = [:]
    private var nextFetch: UInt64 = 0

    mutating func begin(_ upstream: Upstream, now: Instant) -> FetchID {
        defer { nextFetch += 1 }
        let id = FetchID(number: nextFetch)
        begun.append(id)
        if case .provider(let provider) = upstream { ranking.begun(provider, now: now) }
        return id
    }

    /// There is no room for this client. An upstream that cannot be asked is as good as one that fails.
    mutating func refuse(_ waiter: Waiter, _ expired: ExpiredAnswer?) {
        if let expired {
            actions.append(.replyExpired(waiter, expired, .failure))
        } else {
            actions.append(.fail(waiter, .notReady))
        }
    }

    mutating func end(_ id: FetchID, _ upstream: Upstream, isHeard: Bool, now: Instant) {
        ended.append(id)
        if case .provider(let provider) = upstream { ranking.ended(provider, isHeard: isHeard, now: now) }
    }
}

/// What a lookup has learned, for those who plan ahead.
struct Learned {
    /// As it is kept; 0 when it is not.
    let ttlSeconds: UInt32
    let isNegative: Bool
    /// The system resolver's, where a provider's was wanted.
    let isSubstitute: Bool
}
