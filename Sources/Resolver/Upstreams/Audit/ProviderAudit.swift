// Counts for each provider what its replies were worth beside those of the others, from requests that are made anyway
// and from a few comparison questions.

import DNSWire
import PublicSuffix

struct ProviderAudit {
    private struct Entry {
        let id: ProviderID
        var history = AuditHistory()
        var names = AuditedNames()
        /// Comparison questions, the latest of which decide which provider is next.
        var comparisons = 0
    }

    private var entries: [Entry] = []
    /// Comparison questions that may be asked.
    private var allowance = 0.0

    mutating func keep(_ providers: [ProviderTraits]) {
        let former = entries
        entries = providers.compactMap(\.id.provider).map { id in former.first { $0.id == id } ?? Entry(id: id) }
    }

    /// Adds what was counted before a restart. Ignored for an unknown provider.
    mutating func restore(_ provider: ProviderID, _ history: AuditHistory, now: Instant) {
        guard let index = index(of: provider) else { return }
        entries[index].history.add(history, now: now)
    }

    func history(of provider: ProviderID) -> AuditHistory? { index(of: provider).map { entries[$0].history } }

    // MARK: requests

    /// Counts a request that ended, abandoned ones included. Each allows a part of a comparison question.
    mutating func ended(_ provider: RankedID, now: Instant) {
        guard let index = index(of: provider) else { return }
        allowance = min(allowance + Bounds.comparisonsPerRequest, Bounds.maxComparisonAllowance)
        entries[index].history.change(now: now) { $0[.requests] += 1 }
    }

    /// Records an answer, or that another provider's answer overtook the request.
    ///
    /// - Parameter usual: the time after which a hedge would be sent at the quickest provider.
    mutating func replied(_ provider: RankedID, after elapsed: Duration, usual: Duration, now: Instant) {
        guard let index = index(of: provider) else { return }
        let time = Int(max(.zero, min(elapsed, Bounds.hedgeCeiling)).milliseconds * 10)
        entries[index].history.change(now: now) { counts in
            counts[.replies] += 1
            counts[.replyTime] += time
            counts[.replyTimeSquares] += time * time
            if elapsed > usual { counts[.late] += 1 }
        }
    }

    mutating func failed(_ provider: RankedID, now: Instant) {
        guard let index = index(of: provider) else { return }
        entries[index].history.change(now: now) { $0[.failed] += 1 }
    }

    // MARK: answers

    /// Records what was found about the provider's answer for a name, unless the same was counted within half a day.
    mutating func found(_ finding: AuditedFact, _ provider: RankedID, about name: Name, now: Instant) {
        guard let index = index(of: provider) else { return }
        let new = entries[index].names.insert(finding, name, now: now)
        guard !new.isEmpty else { return }
        entries[index].history.change(now: now) { counts in
            for (fact, count) in AuditedFact.counts where new.contains(fact) { counts[count] += 1 }
        }
        let bad = new.intersection(.bad)
        guard !bad.isEmpty else { return }
        let domain = name.registrableDomain
        for (fact, count) in AuditedFact.counts where bad.contains(fact) {
            entries[index].history.witness(count, domain, now: now)
        }
    }

    /// Records the connection times of the provider's quickest address of a name, and of the other sources'.
    mutating func measured(_ provider: RankedID, about name: Name, _ distance: AddressDistance, now: Instant) {
        guard let index = index(of: provider), !entries[index].names.insert(.measured, name, now: now).isEmpty else {
            return
        }
        let tenths = { (time: Duration) in Int(max(.zero, min(time, Bounds.providerTimeout)).milliseconds * 10) }
        entries[index].history.change(now: now) { counts in
            counts[.measured] += 1
            counts[.ownDistance] += tenths(distance.own)
            counts[.otherDistance] += tenths(distance.others)
            if distance.isFarther { counts[.farther] += 1 }
        }
    }

    // MARK: comparison questions

    var mayCompare: Bool { allowance >= 1 }

    /// Whether the name was compared within half a day.
    func hasCompared(_ provider: RankedID, _ name: Name) -> Bool {
        index(of: provider).map { entries[$0].names.has(.compared, name) } ?? true
    }

    /// Number of comparison questions to the provider since the start.
    func comparisons(_ provider: RankedID) -> Int { index(of: provider).map { entries[$0].comparisons } ?? 0 }

    mutating func comparing(_ provider: RankedID) {
        guard let index = index(of: provider) else { return }
        allowance -= 1
        entries[index].comparisons += 1
    }

    /// The question suits no provider. The search costs time, so the next one is after some more requests.
    mutating func postpone() { allowance -= Bounds.comparisonsPerRequest * Bounds.requestsPerSearch }

    private func index(of provider: RankedID) -> Int? {
        guard case .provider(let id) = provider else { return nil }
        return index(of: id)
    }

    private func index(of id: ProviderID) -> Int? {
        for index in entries.indices where entries[index].id == id { return index }
        return nil
    }
}

/// Connection times of the quickest verified addresses: those that the source gave, and those that others gave.
struct AddressDistance: Equatable {
    let own: Duration
    let others: Duration

    /// Whether the provider's addresses are much farther than the others'.
    var isFarther: Bool {
        own - others >= Bounds.nearQuickestMargin && own >= others * Bounds.nearQuickest
    }
}

/// What is found about a provider's answer for a name.
struct AuditedFact: OptionSet {
    let rawValue: UInt8

    static let judged = AuditedFact(rawValue: 1)
    static let forged = AuditedFact(rawValue: 2)
    static let compared = AuditedFact(rawValue: 4)
    static let denied = AuditedFact(rawValue: 8)
    static let aged = AuditedFact(rawValue: 16)
    static let expired = AuditedFact(rawValue: 32)
    static let measured = AuditedFact(rawValue: 64)

    static let bad: AuditedFact = [.forged, .denied, .expired]

    static let counts: KeyValuePairs<AuditedFact, AuditCount> = [
        .judged: .judged, .forged: .forged, .compared: .compared, .denied: .denied, .aged: .aged, .expired: .expired,
    ]
}

/// The names about which something was counted lately: two tables, of which the older is dropped when the newer is full
/// or half a day old. Names are known by their hash; of two names with one hash, one is not counted.
struct AuditedNames {
    private var newer: [Int: AuditedFact] = [:]
    private var older: [Int: AuditedFact] = [:]
    private var beganAt: Instant?

    /// - Returns: the facts that were not known.
    mutating func insert(_ facts: AuditedFact, _ name: Name, now: Instant) -> AuditedFact {
        if newer.count >= Bounds.maxAuditedNames || beganAt.map({ now - $0 >= .seconds(12 * 3600) }) ?? true {
            (older, newer, beganAt) = (newer, [:], now)
        }
        let hash = name.indexHash
        let known = (newer[hash] ?? []).union(older[hash] ?? [])
        let new = facts.subtracting(known)
        if !new.isEmpty { newer[hash, default: []].formUnion(new) }
        return new
    }

    func has(_ facts: AuditedFact, _ name: Name) -> Bool {
        let hash = name.indexHash
        return (newer[hash] ?? []).union(older[hash] ?? []).isSuperset(of: facts)
    }
}
