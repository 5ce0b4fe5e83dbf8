// The wait of a lookup for the other address family.

import DNSWire

extension Lookup {
    /// Requests the preferred family's answer alongside. With DNS64 no family is preferred: IPv4 cannot be reached
    /// without an IPv6 address, and each family's answer would wait for the other's.
    func askPreferredFamily(_ state: inout ResolverState) {
        guard case .begins = preference else { return }
        preference = state.dns64.isOn ? .none : .undecided
        if case .undecided = preference { state.otherFamilies.need(question) }
    }

    /// Whether the answer waits for the preferred family's. An answer without records would be the same in any case.
    func awaitsPreferred(_ answer: Answer) -> Bool {
        if case .undecided = preference { answer.kind == .records } else { false }
    }

    /// When an answer in hand no longer waits for the preferred family's; nil: it does not wait for it.
    var preferredDueAt: Instant? {
        guard case .undecided = preference else { return nil }
        let latest = min(startedAt + Bounds.preferredFamilyPatience, giveUpAt)
        return expired.answer == nil ? latest : min(latest, expired.dueAt)
    }

    /// Ends the lookup without data if the preferred family has a usable address that no better answer outranks.
    func heardOfPreferred(
        _ outcome: OtherFamilyLookups.Outcome, now: Instant, _ state: inout ResolverState
    ) {
        guard !isFinished else { return }
        if case .answer(let answer, let source) = outcome, let preferred = question.otherFamily,
            state.verification.hasUsableAddress(preferred, answer),
            !hasProvidersAnswer || state.verification.isVerified(preferred, answer)
                || !isSubstitute(source, state.ranking, now)
        {
            hasLearned = true
            replyToAll(.withoutFamily(question), from: .local, &state)
            leaveNetwork(now: now, &state)
            phase = .finished(.yielded)
        } else {
            winAgainstPreferred(now: now, &state)
        }
    }

    /// A provider has answered the question: the answer is in hand, cached or expired.
    private var hasProvidersAnswer: Bool {
        if case .awaitingOtherFamily(let held) = phase, held.source.isProvider { true } else { isProvidersCached }
    }

    /// Gives the answer in hand, if there is one, as it is.
    func winAgainstPreferred(now: Instant, _ state: inout ResolverState) {
        preference = .won
        if case .awaitingOtherFamily(let held) = phase { end(with: held, now: now, &state) }
    }
}
