// Lookups of the other address family.

import DNSWire

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
        if number(of: question).flatMap({ lookups[$0]?.preference }) == .undecided,
            let known = state.knownPreferred(over: question), now < known.endsAt
        {
            return heardOfOtherFamily(question, .answer(known.left(now), known.source), now: now)
        }
        if let (answer, source) = state.dns64.known(other, now: now) {
            let arranged = state.verification.arranged(other, answer, now: now)
            return heardOfOtherFamily(question, .answer(arranged, source), now: now)
        }
        let number = number(of: question)
        let waiter = state.otherFamilies.newWaiter(
            for: question, of: number.flatMap { lookups[$0]?.holder.client },
            isForRefresh: number.flatMap { lookups[$0]?.isRefreshAlone } ?? false)
        let routed = routing.routed(other, now: now)
        if waiter.isForRefresh, self.number(of: other) == nil {
            refreshOtherFamily(routed, waiter, now: now)
        } else {
            lookUp(routed, waiter, nil, now: now)
        }
    }

    /// Begins the other family's lookup for a refresh, with the limits of a refresh.
    private mutating func refreshOtherFamily(_ other: borrowing RoutedQuestion, _ waiter: Waiter, now: Instant) {
        let route = route(other, now: now)
        guard failures.failure(of: other.question, hasExpired: false, now: now) == nil,
            lookupsInFlight < Bounds.maxLookups, !route.hasOnlyThrottled
        else { return state.actions.append(.fail(waiter, .notReady)) }
        beginRefreshNow(other, along: route, now: now) { lookup, _ in lookup.waiters.append(waiter) }
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
        guard let number = number(of: question) else { return }
        change(number, now: now) { $0.heardOfOtherFamily(outcome, now: now, &$1) }
    }
}
