// Shares the lookup slots: a new lookup replaces an old one if its domain or client holds too many.

import DNSWire

extension Resolver {
    /// Ends lookups until `holder` may have one more: one for each limit at most.
    mutating func makeRoom(for holder: ShareHolder, now: Instant) {
        while let number = shares.displaced(by: holder) {
            displacedLookups += 1
            change(number, now: now) { $0.displaced(now: now, &$1) }
        }
    }

    /// Returns whether a refresh may start. It never replaces a client's lookup.
    func hasRoom(for question: Question) -> Bool {
        shares.displaced(by: ShareHolder(question.name, nil)) == nil
    }

    /// The client that a fetch is made for; nil for a refresh, and for a fetch that no lookup waits for.
    package func client(of fetch: FetchID) -> ClientID? {
        lookupOfFetch[fetch].flatMap { shares.holder(of: $0)?.client }
    }
}
