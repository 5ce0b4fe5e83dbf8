// Names that providers do not serve, such as those that are not registered for a vendor's account. A request for such a
// name costs money and gets no answer, so each is repeated after a pause only, which doubles with every refusal.
//
// Invariants: each entry has one number, which `keys` and `queue` have too. There are at most `Bounds.maxUnservedNames`
// entries; beyond that, the oldest of the domain with the most leaves.

import DNSWire

struct UnservedNames {
    private struct Key: Hashable {
        let name: Name
        let provider: RankedID
    }

    private struct Entry {
        let place: FairQueue.ID
        var pause: Duration
        var until: Instant
    }

    private var entries: [Key: Entry] = [:]
    /// The entries' keys by place. Free places are reused.
    private var keys: [Key?] = []
    private var freePlaces: [FairQueue.ID] = []
    private var queue = FairQueue(capacity: 0, leaving: .oldest)
    /// Entries that were evicted for others. Their names may be asked again at once.
    private(set) var evictions: UInt64 = 0

    var isEmpty: Bool { entries.isEmpty }
    var count: Int { entries.count }

    /// When the provider may be asked for the name again; nil: now.
    func pauseEnd(of name: Name, at provider: RankedID, _ now: Instant) -> Instant? {
        guard !entries.isEmpty, let entry = entries[Key(name: name, provider: provider)], now < entry.until else {
            return nil
        }
        return entry.until
    }

    func isPaused(_ name: Name, at provider: RankedID, _ now: Instant) -> Bool {
        pauseEnd(of: name, at: provider, now) != nil
    }

    /// Records a refusal. Refusals during a pause are replies to requests from before it, such as for the other address
    /// family.
    mutating func refused(_ name: Name, by provider: RankedID, now: Instant) {
        let key = Key(name: name, provider: provider)
        guard var entry = entries[key] else {
            let place = enter(key)
            entries[key] = Entry(place: place, pause: Bounds.unservedFloor, until: now + Bounds.unservedFloor)
            return
        }
        guard entry.until <= now else { return }
        entry.pause = min(entry.pause * 2, Bounds.unservedCeiling)
        entry.until = now + entry.pause
        entries[key] = entry
    }

    mutating func answered(_ name: Name, by provider: RankedID) {
        if !entries.isEmpty { remove(Key(name: name, provider: provider)) }
    }

    mutating func forget(_ scope: QuestionScope) {
        removeAll { scope.includesDescendants ? $0.name.isWithin(scope.name) : $0.name == scope.name }
    }

    /// - Parameter provider: the provider whose names are forgotten; nil: all providers.
    mutating func forget(_ provider: RankedID?) {
        removeAll { provider == nil || $0.provider == provider }
    }

    mutating func keep(_ providers: [ProviderTraits]) {
        removeAll { key in !providers.contains { $0.id == key.provider } }
    }

    private mutating func removeAll(where isMeant: (Key) -> Bool) {
        for key in entries.keys where isMeant(key) { remove(key) }
    }

    private mutating func enter(_ key: Key) -> FairQueue.ID {
        if entries.count >= Bounds.maxUnservedNames, let oldest = queue.waitingOfLargest.flatMap({ keys[$0] }) {
            remove(oldest)
            evictions += 1
        }
        let place = freePlaces.popLast() ?? keys.count
        if place == keys.count { keys.append(nil) }
        keys[place] = key
        queue.add(place, for: ShareHolder(key.name, nil))
        return place
    }

    private mutating func remove(_ key: Key) {
        guard let place = entries.removeValue(forKey: key)?.place else { return }
        keys[place] = nil
        freePlaces.append(place)
        queue.remove(place)
    }
}
