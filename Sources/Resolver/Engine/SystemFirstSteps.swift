// Lookups that ask the system resolver first.

import DNSWire

extension Resolver {
    /// Returns the route of a question under the order in force for its name.
    mutating func route(
        _ routed: borrowing RoutedQuestion, charged: RankedID? = nil, now: Instant
    ) -> Lookup.Route {
        let order = state.orderInForce(for: routed.question, routed.policy, now: now)
        var route = routing.route(
            routed, charged: charged, systemLead: order.isSystemFirst ? state.systemPace.lead(now) : nil,
            state.ranking, now: now)
        if !state.systemPace.isSilent(now) { route.hedgeSystem(patience: routed.policy.systemPatience, state.ranking) }
        return route
    }
}
