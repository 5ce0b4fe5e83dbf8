// Applies the effects of probe results to lookups and to the cache. Starts lookups and probes; judges no address.

import DNSWire

extension Resolver {
    /// Consequences may cascade. Each starts at most one lookup, which has none of its own before its fetches end, so
    /// the loop terminates.
    mutating func carryOutConsequences(now: Instant) {
        while case let consequences = around.verification.takeConsequences(), !consequences.isEmpty {
            for consequence in consequences { carryOut(consequence, now: now) }
        }
    }

    private mutating func carryOut(_ consequence: Verification.Consequence, now: Instant) {
        switch consequence {
        case .probe(let id, let target): around.actions.append(.probe(id, target))
        case .news(let news): around.actions.append(.probeNews(news))
        case .awaitAsk(let question, let source): around.actions.append(.awaitAsk(question, source))
        case .rearrange(let question, let answer, let source):
            around.actions.append(.rearrange(question, answer, source))
            if let number = numberOfQuestion[question] {
                change(number, now: now) { lookup, _ in lookup.rearranged(answer) }
            }
        case .askElsewhere(let question, let source, let forged):
            askElsewhere(question, besides: source, forged, now: now)
        case .diverged(let divergence):
            around.toldFalsehood(divergence.condemned.source, about: divergence.question.name, now: now)
            around.actions.append(.diverged(divergence))
        case .toldTruth(let source, let name): around.toldTruth(source, about: name, now: now)
        }
    }

    /// Asks other sources. A lookup in flight evaluates its own replies; the forged answer is withheld until it ends.
    private mutating func askElsewhere(_ question: Question, besides source: Source, _ forged: Answer?, now: Instant) {
        let number = numberOfQuestion[question]
        if forged != nil, around.verification.isGuarded {
            around.actions.append(.withdraw(question, source))
            // Behind a portal, a lookup started now has no better chance than one that a client starts.
            if number == nil { return }
        }
        let policy = routing.policy.of(question.name)
        let everybody = routing.route(question, policy, &around.ranking, now: now)
        let route = everybody.without(source)
        guard !route.isEmpty, !route.hasOnlyWithheld,
            number == nil ? mayRefresh && hasRoom(for: question) : forged != nil
        else { return }
        if forged != nil, !around.verification.isGuarded { around.actions.append(.remove(question)) }
        if let number {
            return change(number, now: now) { lookup, around in
                lookup.isBesides(source, forged, on: everybody, around.verification, now: now)
            }
        }
        // It starts at once; its cost delays later refreshes.
        if let first = route.providers.first { _ = around.ranking.spend(on: first, now: now) }
        refreshes.started += 1
        begin(question, along: route, policy, isRefresh: true, now: now) { lookup, around in
            lookup.isBesides(source, forged, on: everybody, around.verification, now: now)
        }
    }
}
