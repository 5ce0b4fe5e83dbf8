// Discovery of the network's NAT64 prefix: whether one is needed, when to ask for it (RFC 7050), and which prefixes
// router advertisements have (RFC 8781). The latter take precedence. A value without clock and socket; the caller sends
// the question and reports its result.

package import DNSWire

package struct NAT64Discovery: Equatable, Sendable {
    /// Prefixes that reach IPv4 hosts, best first; empty if the network has no NAT64, or needs none.
    package private(set) var prefixes: [NAT64Prefix] = []
    /// When to ask; nil while a question is in flight, and if no prefix is needed.
    package private(set) var askAt: Instant?
    private var isAsking = false
    private var failuresInARow = 0
    private var network: NetworkID?
    /// Prefixes by network, least recently used first: a known prefix is used at once and verified in the background.
    private var known: [Known] = []

    private struct Known: Equatable {
        let network: NetworkID?
        let prefixes: [NAT64Prefix]
    }

    /// The question of RFC 7050 section 3; only the network's own resolver can answer it.
    package static let question = Question(wellKnownName, .aaaa)

    private static let wellKnownName: Name = {
        guard let name = Name("ipv4only.arpa") else { preconditionFailure("not a name") }
        return name
    }()

    /// Maximum number of networks, as elsewhere.
    private static let maxKnown = 8
    /// Maximum number of prefixes. A network has one, or two during a renumbering; the bound protects memory.
    private static let maxPrefixes = 4
    /// The question is repeated this long before the answer expires (RFC 7050 section 3).
    private static let refreshLead: Duration = .seconds(10)
    /// Bounds on the answer's lifetime: at most one question a minute, at least one a day.
    private static let lifetimes = Duration.seconds(60)...Duration.seconds(24 * 3600)
    /// Maximum lifetime of "no NAT64": it is verified within the hour, because the network's operator may add it.
    private static let maxNegative: Duration = .seconds(3600)
    /// Pause after silence or a failure, doubling from the floor to the ceiling.
    private static let pauseFloor: Duration = .seconds(1)
    private static let pauseCeiling: Duration = .seconds(60)

    package init() {}

    /// Records another network, or changed routes. A question in flight is to be dropped.
    ///
    /// - Parameters:
    ///   - network: the network; nil if networks are not distinguished.
    ///   - advertised: the prefixes of router advertisements.
    /// - Returns: whether the prefixes in force have changed on this network.
    @discardableResult
    package mutating func networkChanged(
        to network: NetworkID?, _ reach: NetworkReach, advertised: [NAT64Prefix], now: Instant
    ) -> Bool {
        self.network = network
        failuresInARow = 0
        isAsking = false
        askAt = nil
        guard reach.hasWayOut(.aaaa), !reach.hasWayOut(.a) else {
            prefixes = []
            return false
        }
        let remembered = known.first { $0.network == network }?.prefixes
        if advertised.isEmpty {
            prefixes = remembered ?? []
            askAt = now
            return false
        }
        prefixes = Array(advertised.prefix(NAT64Discovery.maxPrefixes))
        remember()
        return remembered.map { $0 != prefixes } ?? false
    }

    package mutating func asked() {
        askAt = nil
        isAsking = true
    }

    /// Records the answer of the network's resolver: addresses, or none.
    ///
    /// - Parameter ttlSeconds: how long the answer may be kept.
    /// - Returns: whether the prefixes in force have changed.
    package mutating func answered(_ addresses: [Address], ttlSeconds: UInt32, now: Instant) -> Bool {
        guard isAsking else { return false }
        isAsking = false
        failuresInARow = 0
        let before = prefixes
        prefixes = Array(NAT64Prefix.discovered(from: addresses).prefix(NAT64Discovery.maxPrefixes))
        remember()
        let (shortest, longest) = (NAT64Discovery.lifetimes.lowerBound, NAT64Discovery.lifetimes.upperBound)
        let untilRefresh = Duration.seconds(Int64(ttlSeconds)) - NAT64Discovery.refreshLead
        askAt = now + max(shortest, min(untilRefresh, prefixes.isEmpty ? NAT64Discovery.maxNegative : longest))
        return prefixes != before
    }

    /// Records a failure. Known prefixes stay in force, because NAT64 does not depend on the nameserver.
    package mutating func failed(now: Instant) {
        guard isAsking else { return }
        isAsking = false
        let pause = NAT64Discovery.pauseFloor * (1 << min(failuresInARow, 6))
        failuresInARow += 1
        askAt = now + min(pause, NAT64Discovery.pauseCeiling)
    }

    private mutating func remember() {
        known.removeAll { $0.network == network }
        known.append(Known(network: network, prefixes: prefixes))
        if known.count > NAT64Discovery.maxKnown { known.removeFirst() }
    }
}
