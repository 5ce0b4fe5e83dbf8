// What an answer that contradicts the rule for its name brings about.

import DNSWire

extension NamePolicy {
    /// Judges an upstream's answer.
    func judged(
        _ answer: Answer, to question: Question, from upstream: Upstream, _ ranking: UpstreamRanking
    ) -> AnswerJudgement {
        let standing = upstream.ranked.flatMap { ranking[$0] }
        let mayBlock = if case .provider = upstream { standing != nil } else { false }
        return judged(
            answer, to: question, mayBlock: mayBlock,
            isFilter: standing?.traits.filters == true,
            carriesAliases: upstream == .system || standing?.traits.carriesAliases == true)
    }
}

extension ResolverState {
    /// Records a contradicting answer.
    ///
    /// - Parameter took: time until the answer; nil for an unsolicited one.
    mutating func contradicted(
        _ question: Question, _ answer: Answer, _ contradiction: Contradiction, from source: Source, took: Duration?,
        now: Instant
    ) {
        verification.answered(question, answer, usable: answer, contradiction, by: source, took: took, now: now)
        let heard = ContradictingAnswer(
            question: question, source: source, addresses: answer.addresses, contradiction: contradiction)
        if contradicting.heard(heard, now: now) { actions.append(.contradicted(heard)) }
    }
}

extension Lookup {
    /// Treats an answer as forged, and makes the next upstream due.
    func contradicted(
        _ attempt: Attempt, _ answer: Answer, _ contradiction: Contradiction, now: Instant,
        _ state: inout ResolverState
    ) {
        let took = attempt.startedAt.duration(to: now)
        state.contradicted(question, answer, contradiction, from: attempt.source, took: took, now: now)
        failures.contradicted(contradiction, at: attempt.upstream)
        guard let provider = attempt.provider else { return systemFailed(now: now) }
        state.ranking.answered(provider, after: took, now: now)
        providers.makeNextDue(now)
    }
}
