// Applies the effects of probe results to lookups and to the cache. Starts lookups and probes; judges no address.

import DNSWire

extension Resolver {
    /// Consequences may cascade. Each starts at most one lookup, which has none of its own before its fetches end, so
    /// the loop terminates.
    mutating func carryOutConsequences(now: Instant) {
        while case let consequences = state.verification.takeConsequences(), !consequences.isEmpty {
            for consequence in consequences { carryOut(consequence, now: now) }
        }
    }

    private mutating func carryOut(_ consequence: Verification.Consequence, now: Instant) {
        switch consequence {
        case .probe(let id, let target): state.actions.append(.probe(id, target))
        case .news(let news): state.actions.append(.probeNews(news))
        case .awaitAsk(let question, let source): state.actions.append(.awaitAsk(question, source))
        case .rearrange(let question, let answer, let source):
            state.actions.append(.rearrange(question, answer, source))
            if let number = numberOfQuestion[question] {
                change(number, now: now) { lookup, _ in lookup.rearranged(answer) }
            }
        case .askElsewhere(let question, let source, let forged):
            askElsewhere(question, insteadOf: source, forged, now: now)
        case .diverged(let divergence):
            state.recordForged(divergence.mismatched.source, about: divergence.question.name, now: now)
            state.actions.append(.diverged(divergence))
        case .recordConfirmed(let source, let name): state.recordConfirmed(source, about: name, now: now)
        }
    }

    /// Asks other sources. A lookup in flight evaluates its own replies; the forged answer is throttled until it ends.
    private mutating func askElsewhere(
        _ question: Question, insteadOf source: Source, _ forged: Answer?, now: Instant
    ) {
        let number = numberOfQuestion[question]
        if forged != nil, state.verification.isGuarded {
            state.actions.append(.withdraw(question, source))
            // Behind a portal, a lookup started now has no better chance than one that a client starts.
            if number == nil { return }
        }
        let policy = routing.policy.of(question.name)
        let fullRoute = routing.route(question, policy, &state.ranking, now: now)
        let route = fullRoute.without(source)
        guard !route.isEmpty, !route.hasOnlyThrottled,
            number == nil ? mayRefresh && hasRoom(for: question) : forged != nil
        else { return }
        if forged != nil, !state.verification.isGuarded { state.actions.append(.remove(question)) }
        if let number {
            return change(number, now: now) { lookup, state in
                lookup.replace(source, forged, on: fullRoute, state.verification, now: now)
            }
        }
        // It starts at once; its cost delays later refreshes.
        if let first = route.providers.first { _ = state.ranking.spend(on: first, now: now) }
        refreshes.started += 1
        begin(question, along: route, policy, isRefresh: true, now: now) { lookup, state in
            lookup.replace(source, forged, on: fullRoute, state.verification, now: now)
        }
    }
}
