// What a lookup does while the network changes: it asks no nameserver that may be the former network's, and gives no
// client a failure before the change is over.

import DNSWire

/// The network that a lookup starts anew on, compared with the one that it began on.
enum NetworkStanding {
    /// After a sleep, or after a doubt.
    case same
    /// A change is under way.
    case inDoubt
    case other
}

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
        let isRestored = expiredBeforeDoubt != nil
        rankExpired(on: .same, now: now, &around)
        let hasAwaited = awaitsNetworkUntil.take() != nil
        guard hasAwaited || isRestored else { return }
        if hasAwaited, case .waiting = system { system = .waiting(until: now) }
        proceed(now: now, &around)
    }

    /// Ranks the expired answer by the network that the machine is on. A doubt lowers the rank until it is over.
    mutating func rankExpired(on network: NetworkStanding, now: Instant, _ around: inout Surroundings) {
        switch network {
        case .same:
            guard let before = expiredBeforeDoubt.take(), ownExpired == nil else { return }
            // Its addresses may have been condemned meanwhile.
            expired = around.arranged(before, question, now: now)
        case .inDoubt:
            expiredBeforeDoubt = expiredBeforeDoubt ?? ownExpired
            expired = expired?.onOtherNetwork
        case .other:
            expiredBeforeDoubt = nil
            expired = expired?.onOtherNetwork
        }
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
