// What an answer that contradicts the rule for its name brings about.

import DNSWire

extension UpstreamRanking {
    /// Judges an upstream's answer by the policy of its name.
    func judged(
        _ answer: Answer, to question: Question, by policy: NamePolicy, from upstream: Upstream
    ) -> AnswerJudgement {
        let traits = upstream.ranked.flatMap { self[$0]?.traits }
        return policy.judged(
            answer, to: question, from: traits?.id.provider == nil ? nil : traits,
            carriesAliases: upstream == .system || traits?.carriesAliases == true)
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
