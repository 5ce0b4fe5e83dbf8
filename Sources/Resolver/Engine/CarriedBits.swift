// The DO and CD bits of a client that are asked for. A name whose upstreams cannot carry them is resolved without them.

package import DNSWire

extension Resolver {
    /// Returns the bits of the question that its upstreams carry: all, or none if no provider of the name carries them.
    /// Nameservers carry them; a local answer has no signatures.
    package func carriedBits(of question: Question, now: Instant) -> DNSSECBits {
        guard !question.dnssec.isEmpty else { return [] }
        let routed = routing.routed(question.withoutDNSSEC, now: now)
        if case .here = routed.place { return [] }
        let upstreams = routing.direction(of: routed, state.ranking, now: now).upstreams
        return state.ranking.isServed(question, by: upstreams) ? question.dnssec : []
    }
}
