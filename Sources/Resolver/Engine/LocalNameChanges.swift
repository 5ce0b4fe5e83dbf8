// Changes of hosts and lease files: lookups in flight and cached answers would hide the names of these files.

import DNSWire

extension Resolver {
    mutating func hostsChanged(_ hosts: HostsFiles, now: Instant) {
        let former = routing
        routing.hosts = hosts
        forgetAnswers(after: former, now: now)
        disableCaching(where: hosts.speaks, now: now)
    }

    mutating func leasesChanged(_ leases: Leases, new names: Set<Name>, now: Instant) {
        routing.leases = leases
        guard !names.isEmpty else { return }
        forgetAnswers(now: now) { names.contains($0.name) }
        disableCaching(where: names.contains, now: now)
    }

    /// Disables caching in lookups of local names: a cached answer would hide the local name.
    private mutating func disableCaching(where isLocal: (Name) -> Bool, now: Instant) {
        for number in lookups.indices {
            guard let question = lookups[number]?.question, isLocal(question.name) else { continue }
            change(number, now: now) { lookup, _ in lookup.disableCaching() }
        }
    }
}
