// Which prefix the network in use translates to IPv4 by (NAT64): whether one is needed, when to ask for it and when
// again (RFC 7050), and what router advertisements say of it (RFC 8781), which goes first. A value without clock and
// socket: who carries the question reports what came of it, and drops the question when the network changes.

package import DNSWire

package struct PrefixDiscovery: Equatable, Sendable {
    /// What IPv4 hosts are reached through, the best first; empty where nothing translates, or nothing has to.
    package private(set) var prefixes: [TranslationPrefix] = []
    /// When to ask; nil while a question is out, and where nobody needs a prefix.
    package private(set) var askAt: Instant?
    private var isAsking = false
    private var failuresInARow = 0
    private var network: NetworkID?
    /// What was found on networks, the longest untouched first: a known one is served at once, and asked again beside.
    private var known: [Known] = []

    private struct Known: Equatable {
        let network: NetworkID?
        let prefixes: [TranslationPrefix]
    }

    /// RFC 7050 section 3; for the network's own resolver, which alone knows.
    package static let question = Question(wellKnownName, .aaaa)

    private static let wellKnownName: Name = {
        guard let name = Name("ipv4only.arpa") else { preconditionFailure("not a name") }
        return name
    }()

    /// As many networks as are remembered otherwise.
    private static let maxKnown = 8
    /// A network has one, or two while it changes; more would be an attempt on our memory.
    private static let maxPrefixes = 4
    /// So long before the end of what was learned it is asked for again (RFC 7050 section 3).
    private static let refreshLead: Duration = .seconds(10)
    /// Whatever the answer says of its lifetime, no oftener than every minute, and once in a day.
    private static let lifetimes = Duration.seconds(60)...Duration.seconds(24 * 3600)
    /// "Nothing translates" is asked again within the hour: an operator may be at work.
    private static let maxNegative: Duration = .seconds(3600)
    /// After silence or a failure, doubling from the first to the second.
    private static let pauseFloor: Duration = .seconds(1)
    private static let pauseCeiling: Duration = .seconds(60)

    package init() {}

    /// Another network is in use, or its routes have changed. A question that is out is to be dropped.
    ///
    /// - Parameters:
    ///   - network: nil where networks are not told apart.
    ///   - advertised: the prefixes of router advertisements.
    /// - Returns: whether other prefixes are in force on this network than were before.
    @discardableResult
    package mutating func networkChanged(
        to network: NetworkID?, _ reach: NetworkReach, advertised: [TranslationPrefix], now: Instant
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
        prefixes = Array(advertised.prefix(PrefixDiscovery.maxPrefixes))
        remember()
        return remembered.map { $0 != prefixes } ?? false
    }

    package mutating func asked() {
        askAt = nil
        isAsking = true
    }

    /// The network's resolver has answered: with addresses, or that there are none.
    ///
    /// - Parameter ttlSeconds: how long the answer may be kept.
    /// - Returns: whether other prefixes are in force now.
    package mutating func answered(_ addresses: [Address], ttlSeconds: UInt32, now: Instant) -> Bool {
        guard isAsking else { return false }
        isAsking = false
        failuresInARow = 0
        let before = prefixes
        prefixes = Array(TranslationPrefix.discovered(from: addresses).prefix(PrefixDiscovery.maxPrefixes))
        remember()
        let (shortest, longest) = (PrefixDiscovery.lifetimes.lowerBound, PrefixDiscovery.lifetimes.upperBound)
        let wanted = Duration.seconds(Int64(ttlSeconds)) - PrefixDiscovery.refreshLead
        askAt = now + max(shortest, min(wanted, prefixes.isEmpty ? PrefixDiscovery.maxNegative : longest))
        return prefixes != before
    }

    /// No answer: what was known stays in force, since a translator does not end with its nameserver.
    package mutating func failed(now: Instant) {
        guard isAsking else { return }
        isAsking = false
        let pause = PrefixDiscovery.pauseFloor * (1 << min(failuresInARow, 6))
        failuresInARow += 1
        askAt = now + min(pause, PrefixDiscovery.pauseCeiling)
    }

    private mutating func remember() {
        known.removeAll { $0.network == network }
        known.append(Known(network: network, prefixes: prefixes))
        if known.count > PrefixDiscovery.maxKnown { known.removeFirst() }
    }
}
