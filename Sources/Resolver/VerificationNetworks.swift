// What a change of the network means for addresses: what is known of them belongs to the network on which it was found.
// Probes under way are void, and what is known of the network that comes back is looked at again, the most asked first.

import DNSWire

extension Verification {
    /// - Parameters:
    ///   - names: what is known of them on the network in use now; nil: what is known here.
    ///   - hottest: the most asked first.
    mutating func networkChanged(_ names: [NameKnowledge]?, hottest: [Name], now: Instant) {
        for target in plan.reset() {
            consequences.append(.news(.found(target, ProbeResult(.unprobed, detail: "the network has changed"))))
        }
        ownTrouble = OwnTrouble()
        if let names { known = KnownNames(names, after: known) }
        for number in known.names.indices { known.change(number) { $0.becomesDue() } }
        reverify(hottest, now: now)
        begin(now: now)
    }

    /// One after the other; those that are asked seldom when they are asked.
    private mutating func reverify(_ hottest: [Name], now: Instant) {
        var isLookedAt: Set<Int> = []
        var at = now
        for name in hottest.prefix(Bounds.maxReverifiedNames) {
            guard let number = known.number(of: name) else { continue }
            isLookedAt.insert(number)
            for target in known.names[number].targetsInUse(now) {
                plan.add(target, isWanted: false, notBefore: at, now: now)
                at += .seconds(1) / Bounds.probesPerSecond
            }
        }
        for number in known.names.indices where !isLookedAt.contains(number) { awaitAsks(number, now: now) }
    }
}

extension NameKnowledge {
    /// Of what is kept and asked for.
    fileprivate func targetsInUse(_ now: Instant) -> [ProbeTarget] {
        let inUse = questions.filter(isWorthProbing).compactMap(\.kept).filter { $0.endsAt > now }
            .flatMap(\.answer.addresses)
        return addresses.filter { inUse.contains($0.address) && terms.allows($0.address) }.flatMap { address in
            address.checks.filter { !leavesAlone($0, now) }.map {
                ProbeTarget(name, address.address, port: $0.port)
            }
        }
    }
}
