// The other address family of a question; clients usually ask for both. Some lookups need its answer: DNS64 makes IPv6
// addresses of IPv4 ones, and a rule's `family` prefers one family. The other family's own lookup, which clients share,
// fetches it for an internal waiter.

import DNSWire

extension Question {
    /// The same question for the other address family.
    var otherFamily: Question? {
        switch type {
        case .a: with(.aaaa)
        case .aaaa: with(.a)
        default: nil
        }
    }
}

struct OtherFamilyLookups {
    /// Result of the other family's lookup.
    enum Outcome: Equatable {
        case answer(Answer, Source)
        case failed
    }

    /// Questions that need the other family's answer.
    private var needed: [Question] = []
    /// The question that each internal waiter's result is for.
    private var questionOfWaiter: [Waiter: Question] = [:]
    private var lastNumber = UInt64.max

    /// Internal waiters are numbered from the top down, clients from the bottom up. All numbers above this are
    /// internal.
    private static let lowestNumber = UInt64.max / 2

    mutating func need(_ question: Question) { needed.append(question) }

    mutating func takeNeeded() -> [Question] {
        defer { needed = [] }
        return needed
    }

    /// Returns a new internal waiter for the other family's lookup.
    mutating func newWaiter(for question: Question, of client: ClientID?, isForRefresh: Bool) -> Waiter {
        let waiter = Waiter(lastNumber, of: client, isForRefresh: isForRefresh)
        lastNumber -= 1
        questionOfWaiter[waiter] = question
        return waiter
    }

    /// Removes the replies to internal waiters from the actions, and returns them.
    mutating func takeHeard(from actions: inout [Action]) -> [(question: Question, outcome: Outcome)] {
        guard !questionOfWaiter.isEmpty else { return [] }
        var heard: [(Question, Outcome)] = []
        actions.removeAll { action in
            guard let (waiter, outcome) = OtherFamilyLookups.told(by: action),
                waiter.number > OtherFamilyLookups.lowestNumber
            else { return false }
            if let question = questionOfWaiter.removeValue(forKey: waiter) { heard.append((question, outcome)) }
            return true
        }
        return heard
    }

    private static func told(by action: Action) -> (Waiter, Outcome)? {
        switch action {
        case .reply(let waiter, _, .fallback), .replyExpired(let waiter, _, _), .fail(let waiter, _, _):
            (waiter, .failed)
        case .reply(let waiter, let answer, let source): (waiter, .answer(answer, source))
        default: nil
        }
    }
}

extension Resolver {
    /// Starts the needed lookups of other families and passes on the results of earlier ones. Such a lookup ends at
    /// once if its answer is known or no upstream can be asked.
    ///
    /// - Returns: whether anything was done, so that more may follow.
    mutating func askOtherFamilies(now: Instant) -> Bool {
        let needed = state.otherFamilies.takeNeeded()
        for question in needed { askOtherFamily(of: question, now: now) }
        let heard = state.otherFamilies.takeHeard(from: &state.actions)
        for (question, outcome) in heard { heardOfOtherFamily(question, outcome, now: now) }
        return !needed.isEmpty || !heard.isEmpty
    }

    private mutating func askOtherFamily(of question: Question, now: Instant) {
        guard let other = question.otherFamily else { return }
        if numberOfQuestion[question].flatMap({ lookups[$0]?.preference }) == .undecided,
            let known = state.knownPreferred(over: question), now < known.endsAt
        {
            return heardOfOtherFamily(question, .answer(known.left(now), known.source), now: now)
        }
        if let (answer, source) = state.synthesis.known(other, now: now) {
            let arranged = state.verification.arranged(other, answer, now: now)
            return heardOfOtherFamily(question, .answer(arranged, source), now: now)
        }
        let number = numberOfQuestion[question]
        let waiter = state.otherFamilies.newWaiter(
            for: question, of: number.flatMap { lookups[$0]?.holder.client },
            isForRefresh: number.flatMap { lookups[$0]?.isRefreshAlone } ?? false)
        let policy = routing.policy(for: other)
        if waiter.isForRefresh, numberOfQuestion[other] == nil {
            refreshOtherFamily(other, policy, waiter, now: now)
        } else {
            lookUp(other, policy, waiter, nil, now: now)
        }
    }

    /// Begins the other family's lookup for a refresh, with the limits of one.
    private mutating func refreshOtherFamily(
        _ other: Question, _ policy: NamePolicy, _ waiter: Waiter, now: Instant
    ) {
        let route = route(other, policy, now: now)
        guard failures.failure(of: other, hasExpired: false, now: now) == nil,
            lookupsInFlight < Bounds.maxLookups, !route.hasOnlyThrottled
        else { return state.actions.append(.fail(waiter, .notReady)) }
        beginRefreshNow(other, along: route, policy, now: now) { lookup, _ in lookup.waiters.append(waiter) }
    }

    /// Ends the wait of all lookups for a preferred family: with DNS64 there is none.
    mutating func preferNoFamily(now: Instant) {
        for number in lookups.indices where lookups[number]?.preference == .undecided {
            change(number, now: now) { $0.winAgainstPreferred(now: now, &$1) }
        }
    }

    private mutating func heardOfOtherFamily(
        _ question: Question, _ outcome: OtherFamilyLookups.Outcome, now: Instant
    ) {
        guard let number = numberOfQuestion[question] else { return }
        change(number, now: now) { $0.heardOfOtherFamily(outcome, now: now, &$1) }
    }
}

/// Whether a lookup's answer yields to the other family's (`FamilyPolicy`).
enum FamilyPreference {
    /// It does not.
    case none
    /// It may; the other family is not asked yet.
    case begins
    /// The other family is asked.
    case undecided
    /// The other family has no usable address, or is not known in time.
    case won
}

extension Lookup {
    /// Requests the preferred family's answer alongside. With DNS64 no family is preferred: IPv4 cannot be reached
    /// without an IPv6 address, and each family's answer would wait for the other's.
    mutating func askPreferredFamily(_ state: inout ResolverState) {
        guard case .begins = preference else { return }
        preference = state.synthesis.isOn ? .none : .undecided
        if case .undecided = preference { state.otherFamilies.need(question) }
    }

    /// Whether the answer waits for the preferred family's. Without records it would be the same.
    func awaitsPreferred(_ answer: Answer) -> Bool {
        if case .undecided = preference { answer.kind == .records } else { false }
    }

    /// When an answer in hand waits no longer for the preferred family's; nil: it does not wait for that.
    var preferredDueAt: Instant? {
        guard case .undecided = preference else { return nil }
        let latest = min(startedAt + Bounds.preferredFamilyPatience, giveUpAt)
        return expired.answer == nil ? latest : min(latest, expired.dueAt)
    }

    /// Ends the lookup without data if the preferred family has a usable address that no better answer outranks.
    mutating func heardOfPreferred(
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
    mutating func winAgainstPreferred(now: Instant, _ state: inout ResolverState) {
        preference = .won
        if case .awaitingOtherFamily(let held) = phase { end(with: held, now: now, &state) }
    }
}
