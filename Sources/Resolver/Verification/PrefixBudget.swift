// Limits probes per /24 or IPv6 /56. Drops idle entries when the table has twice `Bounds.maxProbes` entries.

import DNSWire

struct PrefixBudget {
    private struct Use {
        var running = 0
        var starts = TokenBucket()

        func readyAt(_ now: Instant) -> Instant {
            starts.readyAt(perSecond: Bounds.probesPerSecondPerPrefix, now: now)
        }
    }

    private var uses: [AggregatePrefix: Use] = [:]

    /// Returns when a probe of the address may start; nil: not before another one ends.
    func readyAt(_ address: Address, now: Instant) -> Instant? {
        guard let use = uses[AggregatePrefix(of: address)] else { return now }
        return use.running < Bounds.maxProbesPerPrefix ? use.readyAt(now) : nil
    }

    mutating func began(_ address: Address, now: Instant) {
        if uses.count >= 2 * Bounds.maxProbes {
            uses = uses.filter { $0.value.running > 0 || $0.value.readyAt(now) > now }
        }
        var use = uses[AggregatePrefix(of: address)] ?? Use()
        use.running += 1
        _ = use.starts.spend(perSecond: Bounds.probesPerSecondPerPrefix, now: now)
        uses[AggregatePrefix(of: address)] = use
    }

    mutating func ended(_ address: Address) { uses[AggregatePrefix(of: address)]?.running -= 1 }
}
