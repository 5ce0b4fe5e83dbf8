// The part of the cache of the network in use that the resolver reads. It comes with each event.

package import DNSWire

package protocol KnownAnswers {
    /// Returns an expired answer that may still be served, or else a provider's answer of another network; nil: there
    /// is none, or the cache has a fresh one.
    ///
    /// - Parameter limits: read only if there is an entry.
    func expired(
        _ question: Question, within limits: @autoclosure () -> Freshness.Limits, now: Instant
    ) -> AgedAnswer?

    /// Returns the answer that clients get, fresh or expired, if it may still be served.
    func known(_ question: Question, within limits: Freshness.Limits, now: Instant) -> AgedAnswer?

    /// Returns the number of answers from the cache since the last `takeHits`.
    func hits(_ question: Question) -> Int

    /// Returns `hits`, and resets the count.
    mutating func takeHits(_ question: Question) -> Int
}

/// The same answers, of which no hits are taken: for a copy of the resolver that tries what would happen.
package struct ReadAnswers<Cache: KnownAnswers>: KnownAnswers {
    private let cache: Cache

    init(_ cache: Cache) { self.cache = cache }

    package func expired(
        _ question: Question, within limits: @autoclosure () -> Freshness.Limits, now: Instant
    ) -> AgedAnswer? { cache.expired(question, within: limits(), now: now) }
    package func known(_ question: Question, within limits: Freshness.Limits, now: Instant) -> AgedAnswer? {
        cache.known(question, within: limits, now: now)
    }
    package func hits(_ question: Question) -> Int { cache.hits(question) }
    package func takeHits(_ question: Question) -> Int { cache.hits(question) }
}

/// An empty cache, for a resolver that answers no client.
package struct NoAnswers: KnownAnswers {
    package init() {}

    package func expired(
        _ question: Question, within limits: @autoclosure () -> Freshness.Limits, now: Instant
    ) -> AgedAnswer? { nil }
    package func known(_ question: Question, within limits: Freshness.Limits, now: Instant) -> AgedAnswer? { nil }
    package func hits(_ question: Question) -> Int { 0 }
    package mutating func takeHits(_ question: Question) -> Int { 0 }
}
