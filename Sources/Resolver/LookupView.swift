// Read-only view of a lookup: its waiters, its running fetches and its next ones.

package import DNSWire

package struct LookupView: Equatable, Sendable {
    package struct Fetch: Equatable, Sendable {
        package let upstream: Upstream
        /// When it started, or will start if no answer has arrived by then.
        package let at: Instant
    }

    package let question: Question
    /// Started by a refresh, not by a client.
    package let isRefresh: Bool
    package let startedAt: Instant
    package let waiters: Int
    /// In order of their start.
    package let running: [Fetch]
    /// The next provider and the system resolver, the earlier one first.
    package let coming: [Fetch]
    /// When the waiters get the expired answer; nil: there is none.
    package let expiredAt: Instant?
    package let givesUpAt: Instant
}

extension Lookup {
    var view: LookupView {
        var coming: [LookupView.Fetch] = []
        if let nextProviderAt, let next = untried.first {
            coming.append(.init(upstream: .provider(next), at: nextProviderAt))
        }
        if case .waiting(let until) = system { coming.append(.init(upstream: .system, at: until)) }
        return LookupView(
            question: question, isRefresh: isRefresh, startedAt: startedAt, waiters: waiters.count,
            running: running.map { LookupView.Fetch(upstream: $0.upstream, at: $0.startedAt) },
            coming: coming.sorted { $0.at < $1.at }, expiredAt: expired == nil ? nil : expiredDueAt,
            givesUpAt: giveUpAt)
    }
}

extension Resolver {
    /// Returns whether a lookup of the question is in flight that no client started.
    package func isRefreshing(_ question: Question) -> Bool {
        numberOfQuestion[question].flatMap { lookups[$0]?.isRefresh } ?? false
    }

    /// The lookups in flight, the oldest first.
    package var lookupViews: [LookupView] {
        lookups.compactMap { $0?.view }.sorted { $0.startedAt < $1.startedAt }
    }
}
