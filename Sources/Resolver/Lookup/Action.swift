// Outputs of the resolver: every action that it requests. The daemon carries them out in order.

package import DNSWire

/// An action. Every event moves actions, so the rare large ones are indirect.
package enum Action: Equatable, Sendable {
    /// Ask an upstream; report `fetchFinished` under this ID.
    case fetch(FetchID, Question, Upstream, FetchPurpose)
    /// Ask a provider as a background measurement; report `fetchFinished` under this ID. The answer goes to no client.
    /// Its time is measured, and it is compared if the provider is a shadow.
    case shadow(FetchID, Question, ProviderID)
    /// End the fetch: its result is not needed any more.
    case abandon(FetchID)
    /// Cache this answer with the TTLs given.
    ///
    /// - Parameter demand: queries per second.
    case store(Question, Answer, Source, demand: Double)
    case reply(Waiter, Answer, Source)
    case replyExpired(Waiter, ExpiredAnswer, StaleCause)
    /// Reply without records: SERVFAIL, or YXDOMAIN, with the reason.
    case fail(Waiter, ExtendedError, ResponseCode = .serverFailure)
    /// Replace the cached answer of this source: other addresses or another order, with the same expiry. An entry that
    /// the cache no longer has must not return.
    case rearrange(Question, Answer, Source, demand: Double)
    /// Remove all cached answers to this question.
    case remove(Question)
    /// Remove the cached answer of this source.
    case withdraw(Question, Source)
    /// Report `servedAgain` the next time that the cache gives its answer from this source.
    case awaitAsk(Question, Source)
    /// Connect to an address as a client would; report `probeFinished` under this ID.
    case probe(ProbeID, ProbeTarget)
    indirect case probeNews(ProbeNews)
    /// Record forgery evidence against a source.
    indirect case forged(ForgeryEvidence)
    /// Record an answer that contradicts the rule for its name.
    indirect case contradicted(ContradictingAnswer)
    case portal(PortalEvent)
    /// Clients get a last known good answer although an upstream denies it, or do not any more.
    indirect case doubt(DoubtNews)
}

extension LocalReply {
    func action(for waiter: Waiter) -> Action {
        switch self {
        case .answer(let answer): .reply(waiter, answer, .local)
        case .refusal(let extendedError): .fail(waiter, extendedError, .refused)
        }
    }
}
