// How the places for lookups are shared: a new lookup takes the place of an old one where its domain or its client has
// too many.

import DNSWire

extension Resolver {
    /// Ends lookups until `holder` may have one more: one for each limit at most.
    mutating func makeRoom(for holder: ShareHolder, now: Instant) {
        while let number = shares.displaced(by: holder) {
            displacedLookups += 1
            change(number, now: now) { $0.displaced(now: now, &$1) }
        }
    }

    /// Whether a refresh may begin: it never takes a client's place.
    func hasRoom(for question: Question) -> Bool {
        shares.displaced(by: ShareHolder(question.name, nil)) == nil
    }

    /// The client whose question a fetch is for; nil for a refresh, and for a fetch that no lookup waits for.
    package func client(of fetch: FetchID) -> ClientID? {
        lookupOfFetch[fetch].flatMap { shares.holder(of: $0)?.client }
    }
}

extension Lookup {
    /// Its place goes to another lookup. Clients get what is at hand, and nothing is held against an upstream.
    mutating func displaced(now: Instant, _ around: inout Surroundings) {
        replyExpired(.failure, &around)
        around.actions += waiters.map { .fail($0, .notReady) }
        waiters = []
        leaveNetwork(now: now, &around)
    }
}
