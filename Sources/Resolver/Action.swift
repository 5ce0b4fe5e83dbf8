// Outputs of the resolver: every action that it requests. The daemon carries them out in order.

package import DNSWire

/// Every event moves actions, so the rare large ones are indirect.
package enum Action: Equatable, Sendable {
    /// Ask an upstream; report `fetchFinished` under this ID.
    case fetch(FetchID, Question, Upstream, FetchPurpose)
    /// Ask a provider as a background measurement; report `fetchFinished` under this ID. The answer goes to no client.
    /// It is measured, and compared if the provider is a shadow.
    case shadow(FetchID, Question, ProviderID)
    /// The result is no longer wanted.
    case abandon(FetchID)
    /// Cache this answer with the TTLs given.
    case store(Question, Answer, Source)
    case reply(Waiter, Answer, Source)
    case replyExpired(Waiter, ExpiredAnswer, StaleCause)
    /// A reply without records: SERVFAIL, or YXDOMAIN, with the reason.
    case fail(Waiter, ExtendedError, ResponseCode = .serverFailure)
    /// Replace the cached answer of this source: other addresses or another order, with the same expiry. An entry that
    /// the cache no longer has must not return.
    case rearrange(Question, Answer, Source)
    /// Remove all cached answers to this question.
    case remove(Question)
    /// Remove the cached answer of this source.
    case withdraw(Question, Source)
    /// Report the next time that the cache gives its answer from this source: `servedAgain`.
    case awaitAsk(Question, Source)
    /// Connect to an address as a client would; report `probeFinished` under this ID.
    case probe(ProbeID, ProbeTarget)
    indirect case probeNews(ProbeNews)
    /// Record forgery evidence against a source.
    indirect case diverged(ForgeryEvidence)
    /// Record an answer that contradicts the rule for its name.
    indirect case contradicted(ContradictingAnswer)
    case portal(PortalEvent)
    /// Report the cache hits of these questions since the last report: `hitsCounted`. Costs an action and an event per
    /// refresh; reporting every hit would cost more than the increment that a hit makes.
    case countHits([Question])
}

/// The holder that a fetch counts for, and whether a client started its lookup.
package struct FetchPurpose: Equatable, Sendable {
    /// The domain and client that the lookup's slot counts for.
    package let holder: ShareHolder
    /// No client started the lookup.
    package let isRefresh: Bool
    package let cause: RequestCause
    /// No other upstream has an answer, so that the provider is asked although its budget is used up.
    package let isLastResort: Bool

    package init(_ holder: ShareHolder, isRefresh: Bool, isHedge: Bool = false, isLastResort: Bool = false) {
        self.holder = holder
        self.isRefresh = isRefresh
        self.isLastResort = isLastResort
        cause = isHedge ? .hedge : isRefresh ? .refresh : .client
    }
}

/// An expired answer, ready to be served stale. Immutable. A class for the reason of `AgedAnswer`.
package final class ExpiredAnswer: Equatable, Sendable {
    /// Its TTLs are those of an expired answer.
    package let answer: RenderedAnswer
    package let extendedError: ExtendedError
    /// The stale limit. It may pass while upstreams are asked or the machine sleeps.
    let usableUntil: Instant
    let origin: AgedAnswer.Origin

    init(answer: RenderedAnswer, extendedError: ExtendedError, usableUntil: Instant, origin: AgedAnswer.Origin) {
        self.answer = answer
        self.extendedError = extendedError
        self.usableUntil = usableUntil
        self.origin = origin
    }

    package static func == (one: ExpiredAnswer, other: ExpiredAnswer) -> Bool {
        one.answer == other.answer && one.extendedError == other.extendedError
            && one.usableUntil == other.usableUntil && one.origin == other.origin
    }

    /// - Parameter answer: with the TTLs of an expired answer.
    func with(_ answer: RenderedAnswer) -> ExpiredAnswer {
        ExpiredAnswer(answer: answer, extendedError: extendedError, usableUntil: usableUntil, origin: origin)
    }

    /// Returns the answer as it may be used after a network change; nil for system resolver answers and negative
    /// answers, which never cross networks.
    var onOtherNetwork: ExpiredAnswer? {
        guard origin != .system, !answer.isNegative else { return nil }
        return ExpiredAnswer(
            answer: answer, extendedError: extendedError, usableUntil: usableUntil, origin: .otherNetwork)
    }

    func cause(_ cause: StaleCause) -> StaleCause { origin == .otherNetwork ? .otherNetwork : cause }
}

/// Reason for serving an expired answer. The raw values appear in statistics.
package enum StaleCause: String, Sendable, CaseIterable {
    /// No upstream had answered in time.
    case timeout
    /// No provider has replied to anything for a while, so that none was waited for.
    case unresponsive
    /// Every upstream had failed.
    case failure
    /// Every upstream failed a short while ago.
    case recheck
    /// The client asked for the cache only (RD=0).
    case cacheOnly = "cache-only"
    /// The only answer was an expired one from another network's provider.
    case otherNetwork = "other-network"
}

/// Where an answer comes from.
package enum Source: Hashable, Sendable {
    case provider(ProviderID)
    case system
    /// The daemon's own knowledge: special names, /etc/hosts.
    case local
    /// A rule's fallback addresses, used if everything else has failed.
    case fallback

    var isProvider: Bool {
        switch self {
        case .provider: true
        case .system, .local, .fallback: false
        }
    }
}

extension LocalReply {
    func action(for waiter: Waiter) -> Action {
        switch self {
        case .answer(let answer): .reply(waiter, answer, .local)
        case .refusal(let extendedError): .fail(waiter, extendedError, .refused)
        }
    }
}
