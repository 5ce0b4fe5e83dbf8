// Handles network changes in a lookup: it asks no nameserver that may belong to the former network, and fails no client
// before the change is over.

import DNSWire

/// The network that a lookup restarts on, compared with the one that it started on.
enum NetworkStanding {
    /// The same network, after a sleep or after a suspected change.
    case same
    /// A change is under way.
    case inDoubt
    case other
}

extension Lookup {
    /// The known nameservers may belong to the former network, and routes may be incomplete. The clients' wait counts
    /// from their question, even across several steps of a change.
    mutating func awaitNetwork(until changeEnd: Instant) {
        let askedAt = giveUpAt - Bounds.answerWithin
        let instant = min(changeEnd, askedAt + Bounds.networkPatience)
        awaitsNetworkUntil = instant
        if case .waiting(let until) = system { system = .waiting(until: max(until, instant)) }
    }

    /// Resumes the lookup on the same network.
    mutating func networkIsSettled(now: Instant, _ around: inout Surroundings) {
        let isRestored = expiredBeforeDoubt != nil
        rankExpired(on: .same, now: now, &around)
        let hasAwaited = awaitsNetworkUntil.take() != nil
        guard hasAwaited || isRestored else { return }
        if hasAwaited, case .waiting = system { system = .waiting(until: now) }
        proceed(now: now, &around)
    }

    /// Ranks the expired answer by the current network. During a suspected change, its rank is lower.
    mutating func rankExpired(on network: NetworkStanding, now: Instant, _ around: inout Surroundings) {
        switch network {
        case .same:
            guard let before = expiredBeforeDoubt.take(), ownExpired == nil else { return }
            // A probe may have found its addresses mismatched meanwhile.
            expired = around.arranged(before, question, now: now)
        case .inDoubt:
            expiredBeforeDoubt = expiredBeforeDoubt ?? ownExpired
            expired = expired?.onOtherNetwork
        case .other:
            expiredBeforeDoubt = nil
            expired = expired?.onOtherNetwork
        }
    }

    /// No fetch runs; the lookup waits for the end of the network change.
    var onlyAwaitsNetwork: Bool { awaitsNetworkUntil != nil && running.isEmpty }

    func isAwaitingNetwork(_ now: Instant) -> Bool { awaitsNetworkUntil.map { now < $0 } ?? false }

    func isSystemDue(at instant: Instant, now: Instant) -> Bool {
        (providersAreDone && !isAwaitingNetwork(now)) || (instant <= now && trialUntil == nil)
    }

    /// The expired answer, if it is from the current network.
    var ownExpired: ExpiredAnswer? { expired.flatMap { $0.origin == .otherNetwork ? nil : $0 } }
}
