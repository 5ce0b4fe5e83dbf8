// What the audit learns from two answers to one question. Different addresses alone prove nothing, as content networks
// give each resolver others.

import DNSWire

extension ResolverState {
    /// Records the answer that the lookup's clients and the cache got.
    mutating func used(_ question: Question, _ answer: Answer, from source: Source, now: Instant) {
        for comparison in shadows.used(question, answer, from: source) { compare(comparison, now: now) }
    }

    /// Counts a denial only if the name is known to exist. A denial of an unverified name proves nothing, and what a
    /// filter says is on purpose.
    mutating func compare(_ comparison: ShadowFetches.Comparison, now: Instant) {
        let (question, given, used) = (comparison.question, comparison.given, comparison.used)
        guard question.type.isAddress, !isFilters(given, from: .provider(comparison.provider)),
            !isFilters(used, from: comparison.source)
        else { return }
        let provider = RankedID.provider(comparison.provider)
        let (hasGiven, hasUsed) = (given.kind == .records, used.kind == .records)
        if hasGiven, hasUsed { compareAge(comparison, now: now) }
        let denier = hasUsed ? (hasGiven ? nil : Source(Upstream(provider))) : comparison.source
        guard hasGiven || hasUsed, exists(question, hasUsed ? used : given, unlike: denier, now: now) else { return }
        let denies: AuditedFact = [.compared, .denied]
        ranking.audit.found(hasGiven ? .compared : denies, provider, about: question.name, now: now)
        if let other = comparison.source.ranked {
            ranking.audit.found(hasUsed ? .compared : denies, other, about: question.name, now: now)
        }
    }

    /// Whether the answer is a filter's. The one of a comparison is as received: a block may have the form of an
    /// address that no public name has.
    private func isFilters(_ answer: Answer, from source: Source) -> Bool {
        isFinal(answer, from: source) || answer.remark?.tellsBlock == true
            || !answer.addresses.isEmpty && answer.addresses.allSatisfy(\.isPrivate)
    }

    /// TTL 0 is the mark of an answer that is given after its expiry, if another source knows a longer TTL. An answer
    /// that has just counted down has it, too, so it counts only in numbers (`Bounds.expiredShare`).
    private mutating func compareAge(_ comparison: ShadowFetches.Comparison, now: Instant) {
        // The settings may have changed the TTL of the answer that clients got.
        let received = verification.answers(to: comparison.question).last { $0.source == comparison.source }
        let (given, used) = (comparison.given.ttlSeconds, received?.ttlSeconds ?? comparison.used.ttlSeconds)
        let name = comparison.question.name
        let fact = { (own: UInt32, other: UInt32) -> AuditedFact in own == 0 && other > 0 ? [.aged, .expired] : .aged }
        ranking.audit.found(fact(given, used), .provider(comparison.provider), about: name, now: now)
        guard let other = comparison.source.ranked else { return }
        ranking.audit.found(fact(used, given), other, about: name, now: now)
    }

    /// Whether an address of the answer was verified, or two other sources gave a common address lately.
    private func exists(_ question: Question, _ answer: Answer, unlike denier: Source?, now: Instant) -> Bool {
        if verification.isVerified(question, answer) { return true }
        let others = verification.answers(to: question).filter {
            $0.source != denier && $0.kind == .records && now - $0.answeredAt <= Bounds.recentAnswerAge
        }
        return others.contains { one in
            others.contains { $0.source != one.source && !Set($0.addresses).isDisjoint(with: one.addresses) }
        }
    }
}
