// Lookups in flight when the settings or the operator's switches change.

import DNSWire

extension Resolver {
    /// Restarts lookups of names that a nameserver gets or loses: no other upstream may see them. Disables caching in
    /// other lookups whose upstreams, order, family, expectations or answer by a rule differ under the new routing.
    /// Clients still get the answer. Kept names whose cached answers no longer apply become due.
    mutating func redirect(now: Instant, _ change: (inout Routing) -> Void) {
        let former = routing
        change(&routing)
        forgetAnswers(after: former, now: now)
        for case (let number, let lookup?) in lookups.enumerated() {
            if routing.isOfFormerView(lookup.question) {
                // The lookup's clients get the answer that is under way.
                self.change(number, now: now) { lookup, _ in lookup.disableCaching() }
                continue
            }
            let routed = routing.routed(lookup.question, now: now)
            let upstreams = routing.direction(of: routed, state.ranking, now: now).upstreams
            if upstreams != lookup.upstreams, upstreams.areFinal || lookup.upstreams.areFinal {
                self.change(number, now: now) { lookup, state in
                    lookup.forgetExpired()
                    lookup.leaveNetwork(now: now, &state)
                }
                startAnew(number, on: .same, now: now)
                continue
            }
            let isRedirected =
                upstreams != lookup.upstreams || routing.isAnsweredHere(lookup.question)
            guard isRedirected || routed.policy.mayDiffer(from: lookup.policy) else { continue }
            self.change(number, now: now) { lookup, _ in lookup.disableCaching(isRedirected: isRedirected) }
        }
    }
}
