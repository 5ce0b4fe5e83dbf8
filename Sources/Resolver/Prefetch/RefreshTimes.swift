// What refreshes need of the upstreams: time before the expiry, and an interval between two of them.

import DNSWire

extension Resolver {
    /// Time in which the lookup's upstreams answer. Adjusts the plan to it.
    mutating func learnUpstreamLatency(of lookup: Lookup, now: Instant) -> Duration {
        // The system resolver is not measured; the providers' latency stands for its own.
        let upstreams = lookup.isSystemName ? .providers : lookup.upstreams
        let latency = state.ranking.firstAndHedgeTime(for: lookup.question.kind, among: upstreams, now: now)
        // The plan knows one latency per type, that of most names.
        if upstreams == .providers { plan.upstreamsNeed(latency, for: lookup.question.type) }
        return latency
    }

    /// Interval of refreshes after an outage: the longest that one of the questions' upstreams needs.
    func retryStep(for questions: [Question], now: Instant) -> Duration {
        let upstreams = Set(questions.map { routing.policy(for: $0).upstreams })
        return upstreams.map { state.ranking.retryStep(among: $0, now: now) }.max() ?? Bounds.retryStep
    }
}
