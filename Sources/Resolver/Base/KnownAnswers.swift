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
