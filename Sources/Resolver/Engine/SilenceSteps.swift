// Lookups that began before the silence of their providers was known.

import DNSWire

extension Resolver {
    /// Applies the terms of an outage to lookups that began before the silence of their providers was known.
    mutating func shortenSilentWaits(now: Instant) {
        guard state.ranking.hasNewSilence else { return }
        state.ranking.hasNewSilence = false
        for number in lookups.indices where lookups[number]?.waitsForSilence(state.ranking, now) == true {
            change(number, now: now) { $0.shortenDeadlines(.inSilence, now: now, &$1) }
        }
    }
}
