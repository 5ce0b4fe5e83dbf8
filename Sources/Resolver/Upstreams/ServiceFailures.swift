// Failures of a provider since its last success that a name need not explain: error statuses, throttling, SERVFAIL.
// Many in a row prove that the provider fails for every name.

import DNSWire

struct ServiceFailures {
    /// Names that failed, at most `Bounds.namesToFail`.
    private var names: Set<Name> = []
    /// The registrable domains of the names, at most `Bounds.domainsToFail`.
    private var domains: Set<Name> = []
    private var since: Instant?

    /// - Parameter domain: the registrable domain of the name; the name itself at a provider with names of its own.
    mutating func failed(_ name: Name, of domain: Name, now: Instant) {
        since = since ?? now
        if names.count < Bounds.namesToFail { names.insert(name) }
        if domains.count < Bounds.domainsToFail { domains.insert(domain) }
    }

    var isEmpty: Bool { names.isEmpty }

    /// Whether so many names failed that the next success is a recovery.
    var areSuspicious: Bool { names.count >= Bounds.namesToSuspect }

    /// Whether the provider fails for every name.
    func areProof(_ now: Instant) -> Bool {
        names.count >= Bounds.namesToFail && domains.count >= Bounds.domainsToFail && (proofAt ?? now) <= now
    }

    /// Earliest instant at which the failures can be a proof; nil without failures.
    var proofAt: Instant? { since.map { $0 + Bounds.failingFor } }
}
