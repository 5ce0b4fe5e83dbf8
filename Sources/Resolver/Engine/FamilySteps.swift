// Changes of the address families that names use.

import DNSWire

extension Resolver {
    /// Returns the daemon's own reply: local knowledge, a rule's answer, or no data because of a rule's `family`. Nil:
    /// upstreams are asked.
    ///
    /// - Parameters:
    ///   - preferred: the cached answer to the question about the other family, if a rule prefers it.
    ///   - expired: the expired answer to the question.
    @inline(__always)
    func ownReply(
        _ routed: borrowing RoutedQuestion, preferred: AgedAnswer? = nil, over expired: AgedAnswer? = nil, now: Instant
    ) -> LocalReply? {
        if case .here(let reply, _) = routed.place { return reply }
        let question = routed.question
        if routing.isFamilyUnserved(routed, state.ranking, now: now), !state.dns64.isOn(for: question) {
            return .answer(.nothing(.noData, about: question, by: .familyUnserved))
        }
        return switch routed.policy.treatment(of: question.type) {
        case .ordinary: nil
        case .excluded: .answer(.withoutFamily(question))
        case .yielding:
            !state.dns64.isOn && state.verification.yields(question, expired, to: preferred, routed.policy)
                ? .answer(.withoutFamily(question)) : nil
        }
    }

    /// Returns the cached answer that decides about the question: that of the other address family, if a rule prefers
    /// it.
    @inline(__always)
    func preferredAnswer(
        over routed: borrowing RoutedQuestion, _ cache: some KnownAnswers, now: Instant
    ) -> AgedAnswer? {
        preferredQuestion(over: routed).flatMap { preferred in
            cache.known(preferred, within: routing.policy(for: preferred).limits, now: now)
        }
    }

    /// Returns the question whose cached answer decides about this one; nil: none does.
    @inline(__always)
    func preferredQuestion(over routed: borrowing RoutedQuestion) -> Question? {
        let question = routed.question
        return routed.policy.treatment(of: question.type) == .yielding ? question.otherFamily : nil
    }
}

extension Verification {
    fileprivate func yields(
        _ question: Question, _ expired: AgedAnswer?, to aged: AgedAnswer?, _ policy: NamePolicy
    ) -> Bool {
        guard let aged, let preferred = question.otherFamily, !aged.answer.isNegative,
            aged.freshness(policy.limits) != .gone, let records = try? aged.answer.records(of: preferred)
        else { return false }
        let answer = Answer(records: records)
        let isOutranked =
            aged.sourceRank == .system && expired?.sourceRank == .provider && !isVerified(preferred, answer)
        return !isOutranked && hasUsableAddress(preferred, answer)
    }
}
