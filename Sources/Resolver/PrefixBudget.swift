// How many probes there are in one part of the Internet: a /24, or a /56 of IPv6. Must never grow beyond the probes
// that ran within the last second.

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

    /// From when on a probe may begin; nil: not before another one ends.
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
