// Limits probes per /24 or IPv6 /56. Must never hold more entries than the probes that ran within the last second.

import DNSWire

struct PrefixBudget {
    private struct Use {
        var running = 0
        var starts = TokenBucket()

        func readyAt(_ now: Instant) -> Instant {
            starts.readyAt(perSecond: Bounds.probesPerSecondPerNeighbourhood, now: now)
        }
    }

    private var uses: [Neighbourhood: Use] = [:]

    /// Returns when a probe may start; nil: not before another one ends.
    func readyAt(_ address: Address, now: Instant) -> Instant? {
        guard let use = uses[Neighbourhood(of: address)] else { return now }
        return use.running < Bounds.maxProbesPerNeighbourhood ? use.readyAt(now) : nil
    }

    mutating func began(_ address: Address, now: Instant) {
        if uses.count >= 2 * Bounds.maxProbes {
            uses = uses.filter { $0.value.running > 0 || $0.value.readyAt(now) > now }
        }
        var use = uses[Neighbourhood(of: address)] ?? Use()
        use.running += 1
        _ = use.starts.spend(perSecond: Bounds.probesPerSecondPerNeighbourhood, now: now)
        uses[Neighbourhood(of: address)] = use
    }

    mutating func ended(_ address: Address) { uses[Neighbourhood(of: address)]?.running -= 1 }
}
