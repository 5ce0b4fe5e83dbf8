// Read-only view of a lookup: its waiters, its running fetches and its next ones.

package import DNSWire

package struct LookupView: Equatable, Sendable {
    package struct Fetch: Equatable, Sendable {
        package let upstream: Upstream
        /// When the fetch started, or will start if no answer has arrived by then.
        package let at: Instant
    }

    package let question: Question
    /// The lookup was started by a refresh, not by a client.
    package let isRefresh: Bool
    package let startedAt: Instant
    package let waiters: Int
    /// The running fetches in the order of their start.
    package let running: [Fetch]
    /// The providers that are not asked yet, in their order.
    package let untried: [RankedID]
    /// The next provider and the system resolver, the earlier one first.
    package let coming: [Fetch]
    /// When the waiters get the expired answer; nil: there is none.
    package let expiredAt: Instant?
    package let givesUpAt: Instant
    /// The other address family is preferred, and its answer decides about this one.
    package let awaitsPreferred: Bool
}

extension LookupView {
    init(_ lookup: Lookup) {
        var coming: [Fetch] = []
        if let at = lookup.providers.nextAt, let next = lookup.providers.next {
            coming.append(Fetch(upstream: Upstream(next), at: at))
        }
        if case .waiting(let until) = lookup.system { coming.append(Fetch(upstream: .system, at: until)) }
        self.init(
            question: lookup.question, isRefresh: lookup.isRefresh, startedAt: lookup.startedAt,
            waiters: lookup.waiters.count,
            running: lookup.running.map { Fetch(upstream: $0.upstream, at: $0.startedAt) },
            untried: Array(lookup.providers.untried), coming: coming.sorted { $0.at < $1.at },
            expiredAt: lookup.expired.answer == nil ? nil : lookup.expired.dueAt, givesUpAt: lookup.giveUpAt,
            awaitsPreferred: lookup.preferredDueAt != nil)
    }
}

extension Resolver {
    /// The lookups in flight, the oldest first.
    package var lookupViews: [LookupView] {
        lookups.compactMap { $0.map(LookupView.init) }.sorted { $0.startedAt < $1.startedAt }
    }
}
