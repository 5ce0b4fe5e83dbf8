// Answers of filtering providers: no other source is asked to overrule them.

import DNSWire

extension UpstreamRanking {
    /// Returns the answer for clients if the upstream's error reply blocks the name; nil: it does not.
    func block(
        of question: Question, by failure: NameFailure, _ policy: NamePolicy, from upstream: Upstream
    ) -> Answer? {
        guard case .provider = upstream, let standing = upstream.ranked.flatMap({ self[$0] }) else { return nil }
        return policy.block(of: question, by: failure, isFilter: standing.traits.filters)
    }
}

extension ResolverState {
    /// Whether no other source may overrule the answer: it is a block, or a filtering provider's.
    ///
    /// - Parameter answer: the answer as judged.
    func isFinal(_ answer: Answer, from source: Source) -> Bool {
        guard case .provider = source else { return false }
        return answer.isBlock || verification.filters.makeFinal(answer, from: source)
    }
}

extension Lookup {
    /// Ends the lookup with a provider's final answer.
    ///
    /// - Parameter answer: the answer as judged.
    func answeredFinally(_ attempt: Attempt, _ answer: Answer, now: Instant, _ state: inout ResolverState) {
        guard let provider = attempt.provider, let id = provider.provider else { return }
        // The provider was removed after the request, and the cache may have been replaced.
        if state.ranking[provider] == nil { disableCaching() }
        state.answered(attempt, by: provider, now: now)
        finishFinally(with: answer, by: id, now: now, &state)
    }

    /// Returns the answer as clients and the cache get it: one in the place of a filter's must not outlive the filter's
    /// outage.
    func limited(_ answer: Answer, from source: Source, _ ranking: UpstreamRanking) -> Answer {
        guard let provider = source.ranked, ranking.isStandIn(provider, for: question.kind, among: upstreams) else {
            return answer
        }
        return answer.withTTL(to: Bounds.systemSubstituteTTLSeconds)
    }

    /// Gives a block at once: neither the other address family nor DNS64 has an address in its place.
    func finishFinally(with answer: Answer, by provider: ProviderID, now: Instant, _ state: inout ResolverState) {
        guard !answer.isBlock else {
            state.blocks[provider, default: 0] += 1
            // A block has the limits of negative answers, whichever form it has.
            return end(with: answer, from: .provider(provider), substituteReason: nil, now: now, &state)
        }
        let answer = policy.cache.applied(to: answer.withoutAmbiguity)
        finish(with: answer, from: .provider(provider), now: now, &state)
    }
}
