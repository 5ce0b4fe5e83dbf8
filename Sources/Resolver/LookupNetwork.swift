// What a lookup does while the network changes: it asks no nameserver that may be the former network's, and gives no
// client a failure before the change is over.

import DNSWire

extension Lookup {
    /// The nameservers that are known may be the former network's, and routes may be on their way. The clients' wait
    /// counts from their question on, also over several steps of a change.
    mutating func awaitNetwork(until changeEnd: Instant) {
        let askedAt = giveUpAt - Bounds.answerWithin
        let instant = min(changeEnd, askedAt + Bounds.networkPatience)
        awaitsNetworkUntil = instant
        if case .waiting(let until) = system { system = .waiting(until: max(until, instant)) }
    }

    /// It is the same network after all.
    mutating func networkIsSettled(now: Instant, _ around: inout Surroundings) {
        guard awaitsNetworkUntil.take() != nil else { return }
        if case .waiting = system { system = .waiting(until: now) }
        proceed(now: now, &around)
    }

    /// Nothing runs: the network's end of change decides.
    var onlyAwaitsNetwork: Bool { awaitsNetworkUntil != nil && running.isEmpty }

    func isAwaitingNetwork(_ now: Instant) -> Bool { awaitsNetworkUntil.map { now < $0 } ?? false }

    func isSystemDue(at instant: Instant, now: Instant) -> Bool {
        (providersAreDone && !isAwaitingNetwork(now)) || (instant <= now && trialUntil == nil)
    }

    /// The expired answer of the network in use.
    var ownExpired: ExpiredAnswer? { expired.flatMap { $0.origin == .otherNetwork ? nil : $0 } }
}
