// Handles network changes for verification: address state belongs to the network on which it was found. Running probes
// are void, and the state of a known network is probed again, the most asked names first.

import DNSWire

extension Verification {
    /// - Parameters:
    ///   - names: the stored state of the network now in use; nil: keep the present state.
    ///   - hottest: names, the most asked first.
    mutating func networkChanged(_ names: [NameVerification]?, hottest: [Name], now: Instant) {
        for target in plan.reset() {
            consequences.append(.news(.found(target, ProbeResult(.unprobed, detail: "the network has changed"))))
        }
        localFault = LocalFault()
        if let names { known = NameVerificationTable(names, after: known) }
        for number in known.names.indices {
            let hasPreferred = !known.names[number].preferred.isEmpty
            known.change(number) { $0.becomesDue() }
            // An address that was verified in another network, or before, is none to prefer.
            if hasPreferred { rearrange(number) }
        }
        reverify(hottest, now: now)
        begin(now: now)
    }

    /// Probes the most asked names one after the other. Other names are probed when they are asked.
    private mutating func reverify(_ hottest: [Name], now: Instant) {
        var isLookedAt: Set<Int> = []
        var at = now
        for name in hottest.prefix(Bounds.maxReverifiedNames) {
            for number in known.numbers(of: name) {
                isLookedAt.insert(number)
                for target in known.names[number].targetsInUse(now) {
                    plan.add(target, isRequested: false, notBefore: at, now: now)
                    at += .seconds(1) / Bounds.probesPerSecond
                }
            }
        }
        for number in known.names.indices where !isLookedAt.contains(number) { awaitAsks(number, now: now) }
    }
}

extension NameVerification {
    /// Targets of cached answers in use.
    fileprivate func targetsInUse(_ now: Instant) -> [ProbeTarget] {
        let inUse = questions.filter(isWorthProbing).compactMap(\.kept).filter { $0.endsAt > now }
            .flatMap(\.answer.addresses)
        return addresses.filter { inUse.contains($0.address) && terms.allows($0.address) }.flatMap { address in
            address.checks.filter { !leavesAlone($0, now) }.map { target(address.address, $0) }
        }
    }
}
