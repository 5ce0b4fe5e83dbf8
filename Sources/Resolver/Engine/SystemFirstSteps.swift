// Lookups that ask the system resolver first.

import DNSWire

extension Resolver {
    /// Returns the route of a question under the order in force for its name.
    mutating func route(
        _ question: Question, _ policy: NamePolicy, charged: RankedID? = nil, now: Instant
    ) -> Lookup.Route {
        let order = state.orderInForce(for: question, policy, now: now)
        var route = routing.route(
            question, policy, charged: charged, systemLead: order.isSystemFirst ? state.systemPace.lead(now) : nil,
            &state.ranking, now: now)
        if !state.systemPace.isSilent(now) { route.hedgeSystem(patience: policy.systemPatience, state.ranking) }
        return route
    }
}
