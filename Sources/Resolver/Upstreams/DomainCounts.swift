// Registrable domains of requests to one provider. Deriving one costs 12,000 instructions, so a domain is derived when
// a decision needs it. While replies arrive in time, none does.

import DNSWire

/// The requests in flight per domain.
struct DomainsInFlight {
    private var counts: [Name: Int] = [:]
    /// The requests that are not in `counts` yet.
    private var uncounted: [ShareHolder] = []

    mutating func begun(_ holder: ShareHolder) { uncounted.append(holder) }

    mutating func ended(_ holder: ShareHolder) {
        if let index = uncounted.firstIndex(where: { $0 === holder }) {
            uncounted.remove(at: index)
        } else {
            countAll()
            counts.decrement(holder.domain)
        }
    }

    /// Returns the number of domains.
    mutating func count() -> Int {
        countAll()
        return counts.count
    }

    private mutating func countAll() {
        for holder in uncounted { counts[holder.domain, default: 0] += 1 }
        uncounted.removeAll(keepingCapacity: true)
    }
}

/// The requests since the provider's last reply that are in flight or have timed out, per domain.
struct UnansweredDomains {
    private enum Change {
        case begun(ShareHolder)
        case ended(ShareHolder)
    }

    /// Start of the first request; nil: there is none.
    private(set) var since: Instant?
    private var counts: [Name: Int] = [:]
    /// Changes in their order that are not in `counts` yet.
    private var changes: [Change] = []

    /// Bound on `changes`. Replies come more often.
    private static let maxChanges = 256

    /// A reply has arrived.
    mutating func removeAll() {
        since = nil
        if !counts.isEmpty { counts = [:] }
        // Mostly there is one.
        while changes.popLast() != nil {}
    }

    mutating func begun(_ holder: ShareHolder, now: Instant) {
        since = min(since ?? now, now)
        note(.begun(holder))
    }

    mutating func ended(_ holder: ShareHolder) { note(.ended(holder)) }

    /// The request was never sent, or waits.
    mutating func unbegun() {
        countAll()
        if counts.isEmpty { since = nil }
    }

    /// The request ended without a reply.
    mutating func timedOut(_ domain: Name, startedAt: Instant) {
        since = min(since ?? startedAt, startedAt)
        countAll()
        add(domain)
    }

    /// Whether the requests are for several domains, or many are for this one.
    mutating func include(manyOf domain: Name) -> Bool {
        countAll()
        return counts.count >= Bounds.timedOutDomainsToOpen || counts[domain] ?? 0 >= Bounds.unansweredOfDomain
    }

    private mutating func note(_ change: Change) {
        changes.append(change)
        if changes.count == UnansweredDomains.maxChanges { countAll() }
    }

    private mutating func countAll() {
        for change in changes {
            switch change {
            case .begun(let holder): add(holder.domain)
            case .ended(let holder): counts.decrement(holder.domain)
            }
        }
        changes.removeAll(keepingCapacity: true)
    }

    private mutating func add(_ domain: Name) {
        // More domains would not change `include(manyOf:)`.
        guard counts[domain] != nil || counts.count < Bounds.timedOutDomainsToOpen else { return }
        counts[domain, default: 0] += 1
    }
}

extension [Name: Int] {
    fileprivate mutating func decrement(_ domain: Name) {
        let left = (self[domain] ?? 0) - 1
        self[domain] = left > 0 ? left : nil
    }
}
