// Lookups in flight when the settings, the hosts file or the operator's switches change.

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
            let policy = routing.policy.of(lookup.question.name)
            let upstreams = routing.upstreams(for: lookup.question, policy, state.ranking, now: now)
            if upstreams != lookup.upstreams, upstreams.isNameserver || lookup.upstreams.isNameserver {
                self.change(number, now: now) { lookup, state in
                    lookup.forgetExpired()
                    lookup.leaveNetwork(now: now, &state)
                }
                startAnew(number, on: .same, now: now)
                continue
            }
            let isRedirected =
                upstreams != lookup.upstreams || routing.policy.ruleAnswer(for: lookup.question.name) != nil
            guard isRedirected || policy.mayDiffer(from: lookup.policy) else { continue }
            self.change(number, now: now) { lookup, _ in lookup.disableCaching(isRedirected: isRedirected) }
        }
    }

    /// Disables caching in lookups of names in the new hosts file: a cached answer would hide the file's entry.
    mutating func hostsChanged(_ hosts: HostsTable, now: Instant) {
        let former = routing
        routing.hosts = hosts
        forgetAnswers(after: former, now: now)
        for number in lookups.indices {
            guard let question = lookups[number]?.question, hosts.speaks(of: question.name) else { continue }
            change(number, now: now) { lookup, _ in lookup.disableCaching() }
        }
    }
}
