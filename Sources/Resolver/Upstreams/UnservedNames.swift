// Names that providers do not serve, such as those that are not registered for a vendor's account. A request for one
// costs money and gives nothing, so each is repeated after a pause only, which doubles with every refusal.
//
// Invariants: `order` has every name of `entries`, and possibly forgotten ones; at most `Bounds.maxUnservedNames`.

import DNSWire

struct UnservedNames {
    private struct Key: Hashable {
        let name: Name
        let provider: ProviderID
    }

    private struct Entry {
        var pause: Duration
        var until: Instant
    }

    private var entries: [Key: Entry] = [:]
    /// The longest known first.
    private var order: [Key] = []

    var isEmpty: Bool { entries.isEmpty }
    var count: Int { entries.count }

    /// When the provider may be asked again; nil: now.
    func pauseEnd(of name: Name, at provider: ProviderID, _ now: Instant) -> Instant? {
        guard !entries.isEmpty, let entry = entries[Key(name: name, provider: provider)], now < entry.until else {
            return nil
        }
        return entry.until
    }

    /// Refusals during a pause are replies to requests from before it, such as for the other address family.
    mutating func refused(_ name: Name, by provider: ProviderID, now: Instant) {
        let key = Key(name: name, provider: provider)
        guard let known = entries[key] else {
            enter(key)
            entries[key] = Entry(pause: Bounds.unservedFloor, until: now + Bounds.unservedFloor)
            return
        }
        guard known.until <= now else { return }
        let pause = min(known.pause * 2, Bounds.unservedCeiling)
        entries[key] = Entry(pause: pause, until: now + pause)
    }

    mutating func answered(_ name: Name, by provider: ProviderID) {
        if !entries.isEmpty { entries[Key(name: name, provider: provider)] = nil }
    }

    mutating func forget(_ scope: QuestionScope) {
        entries = entries.filter { known in
            scope.includesDescendants ? !known.key.name.isWithin(scope.name) : known.key.name != scope.name
        }
    }

    /// - Parameter provider: nil: all.
    mutating func forget(_ provider: ProviderID?) {
        entries = entries.filter { provider != nil && $0.key.provider != provider }
    }

    mutating func keep(_ providers: [ProviderTraits]) {
        entries = entries.filter { known in providers.contains { $0.id == known.key.provider } }
    }

    private mutating func enter(_ key: Key) {
        order.append(key)
        guard order.count > Bounds.maxUnservedNames else { return }
        // Removes a quarter at once, so that the array is rarely shifted.
        for key in order.prefix(Bounds.maxUnservedNames / 4) { entries[key] = nil }
        order = order.dropFirst(Bounds.maxUnservedNames / 4).filter { entries[$0] != nil || $0 == key }
    }
}
