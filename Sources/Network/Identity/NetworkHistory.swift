// Known networks and the changes between them. Other modules keep state only for known networks; the rest is for
// reports. Uses wall time, because it survives restarts. No decision depends on this time.
//
// Invariants: `known` has each network once, the last used first, at most `NetworkBounds.maxKnown`. `changes` has the
// latest first, at most `NetworkBounds.maxChanges`.

package import DNSWire

package struct KnownNetwork: Equatable, Sendable {
    package let id: NetworkID
    /// The network with the same identity whose carrier was found first: `id`, or the ID of another carrier's network.
    package let link: NetworkID
    package fileprivate(set) var carrier = Carrier()
    /// `NetworkIdentity.words` of the last visit.
    package fileprivate(set) var words: String
    /// Times of the visits, in seconds since 1970.
    package fileprivate(set) var firstSeen: Int64
    package fileprivate(set) var lastSeen: Int64
    /// Number of visits.
    package fileprivate(set) var times: Int
}

package struct PastChange: Equatable, Sendable {
    package let id: NetworkID
    package let words: String
    package let cause: NetworkCause
    /// Seconds since 1970.
    package let wallSeconds: Int64
    /// Time from the first usable route to the first fresh answer. Nil: the next change came first.
    package fileprivate(set) var recovery: Duration?
}

package struct NetworkHistory: Equatable, Sendable {
    package private(set) var known: [KnownNetwork] = []
    package private(set) var changes: [PastChange] = []
    /// Number of changes by cause, since the start.
    package private(set) var countByCause: [NetworkCause: UInt64] = [:]
    package private(set) var lastRecovery: Duration?

    package init() {}

    package var changeCount: UInt64 { countByCause.values.reduce(0, +) }

    /// Returns the last used network with this identity.
    package func latest(onLink link: NetworkID) -> KnownNetwork? { known.first { $0.link == link } }

    /// Returns the network with this identity whose carrier has these addresses.
    package func network(onLink link: NetworkID, of carrier: Prefix) -> KnownNetwork? {
        known.first { $0.link == link && $0.carrier.prefixes.contains(carrier) }
    }

    package func carrier(of id: NetworkID) -> Carrier { known.first { $0.id == id }?.carrier ?? Carrier() }

    /// Records the carrier of a network.
    ///
    /// - Returns: false if the carrier is known, or the network is not.
    package mutating func found(_ carrier: Carrier, of id: NetworkID) -> Bool {
        guard let index = known.firstIndex(where: { $0.id == id }), known[index].carrier != carrier else {
            return false
        }
        known[index].carrier = carrier
        return true
    }

    /// - Parameters:
    ///   - link: the network with the same identity, as in `KnownNetwork`; nil: `id`.
    ///   - cause: the cause of the change; nil for the network at program start.
    /// - Returns: networks that are no longer known.
    package mutating func entered(
        _ id: NetworkID, onLink link: NetworkID? = nil, _ identity: NetworkIdentity, cause: NetworkCause?,
        wallSeconds: Int64
    ) -> [NetworkID] {
        if let cause { noteChange(to: id, identity, cause, wallSeconds) }
        // Without a default route no network is recorded.
        guard identity != .isolated else { return [] }
        if let last = known.indices.first { known[last].lastSeen = wallSeconds }
        var network =
            take(id)
            ?? KnownNetwork(
                id: id, link: link ?? id, words: "", firstSeen: wallSeconds, lastSeen: wallSeconds, times: 0)
        network.words = identity.words
        network.lastSeen = wallSeconds
        network.times += 1
        known.insert(network, at: 0)
        return forgetOldest()
    }

    /// Sets the recovery time of the latest change; ignored if there is no change, or its time is set.
    package mutating func recovered(after duration: Duration) {
        guard let first = changes.indices.first, changes[first].recovery == nil else { return }
        changes[first].recovery = duration
        lastRecovery = duration
    }

    /// Adds the stored history of earlier runs, after the entries learned meanwhile.
    ///
    /// - Returns: networks that are no longer known.
    package mutating func merge(_ earlier: NetworkHistory) -> [NetworkID] {
        for network in earlier.known {
            if let index = known.firstIndex(where: { $0.id == network.id }) {
                known[index].firstSeen = min(known[index].firstSeen, network.firstSeen)
                known[index].times += network.times
                for prefix in network.carrier.prefixes { known[index].carrier.set(prefix) }
            } else {
                known.append(network)
            }
        }
        return forgetOldest()
    }

    private mutating func noteChange(
        to id: NetworkID, _ identity: NetworkIdentity, _ cause: NetworkCause, _ wallSeconds: Int64
    ) {
        countByCause[cause, default: 0] += 1
        changes.insert(PastChange(id: id, words: identity.words, cause: cause, wallSeconds: wallSeconds), at: 0)
        if changes.count > NetworkBounds.maxChanges { changes.removeLast() }
    }

    private mutating func take(_ id: NetworkID) -> KnownNetwork? {
        known.firstIndex { $0.id == id }.map { known.remove(at: $0) }
    }

    private mutating func forgetOldest() -> [NetworkID] {
        let forgotten = known.dropFirst(NetworkBounds.maxKnown).map(\.id)
        known.removeLast(forgotten.count)
        return forgotten
    }
}

// The text for a note in the store: a line for each known network, latest first, such as "known id=6f2c1a09
// link=6f2c1a09 first=1700000000 last=1700003600 times=3 carrier=203.0.0.0/16 words=wifi, gateway 192.168.1.1".
extension NetworkHistory {
    /// The text has at most `NetworkBounds.maxNoteBytes`: eight lines of 410 bytes.
    package var encoded: String {
        known.map {
            let carrier = $0.carrier.prefixes.map { " carrier=\($0)" }.joined()
            return "known id=\($0.id) link=\($0.link) first=\($0.firstSeen) last=\($0.lastSeen) times=\($0.times)"
                + "\(carrier) words=\($0.words)"
        }.joined(separator: "\n")
    }

    /// Restores the history. Skips lines and fields with other names, because a later release may add some. Any other
    /// text that `encoded` does not write is damage and leaves the history empty: the owner of an entry must not be
    /// guessed.
    package init(restoring text: String) {
        guard text.utf8.count <= NetworkBounds.maxNoteBytes else { return }
        for line in text.split(separator: "\n") where line.hasPrefix("known ") {
            guard let network = KnownNetwork(line: line.dropFirst("known ".count)),
                !known.contains(where: { $0.id == network.id }), known.count < NetworkBounds.maxKnown
            else {
                known = []
                return
            }
            known.append(network)
        }
    }
}

extension KnownNetwork {
    fileprivate init?(line: Substring) {
        guard let wordsAt = line.firstRange(of: " words=") else { return nil }
        var fields: [Substring: Substring] = [:]
        var carrier = Carrier()
        for field in line[..<wordsAt.lowerBound].split(separator: " ") {
            guard let sign = field.firstIndex(of: "=") else { return nil }
            let (name, value) = (field[..<sign], field[sign...].dropFirst())
            fields[name] = value
            if name == "carrier" {
                guard let prefix = Prefix(String(value)) else { return nil }
                carrier.set(prefix)
            }
        }
        let words = String(line[wordsAt.upperBound...])
        guard let id = fields["id"].flatMap({ NetworkID(String($0)) }),
            let first = fields["first"].flatMap({ Int64($0) }), let last = fields["last"].flatMap({ Int64($0) }),
            let times = fields["times"].flatMap({ Int($0) }), (1...KnownNetwork.maxTimes).contains(times),
            words == ShortLine.of(words)
        else { return nil }
        // An earlier release wrote no link.
        guard let link = NetworkID(fields["link"].map(String.init) ?? id.description) else { return nil }
        self.init(
            id: id, link: link, carrier: carrier, words: words, firstSeen: first, lastSeen: last, times: times)
    }

    /// Maximum number of visits. A larger number is damage: it means a change every second for thirty years.
    private static let maxTimes = 1_000_000_000
}
