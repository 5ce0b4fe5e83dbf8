// Names that are never sent to a provider: answered locally, or known to the local network only.

package import DNSWire

/// A reply of the daemon's own.
enum LocalReply: Equatable, Sendable {
    case answer(Answer)
    /// REFUSED, because a rule says so.
    case refusal(ExtendedError)
}

/// The local data that answer a question without an upstream.
package enum LocalOrigin: Equatable, Sendable {
    case hosts(FilePlace)
    /// A name that an RFC reserves.
    case specialName
    /// The rule for this name.
    case rule(Name)
    /// A DHCP lease; nil: it never ends.
    case lease(FilePlace, endsAt: Instant?)
    /// No local data have the name in this local zone.
    case zone(Name)
}

package enum LocalNames {
    enum Route: Equatable {
        case here(LocalReply, LocalOrigin)
        /// The system resolver only. It may know the local network; a provider cannot.
        case system
        case anywhere
    }

    /// Returns the route: hosts files come first, as on any Unix; then the names of IANA's registry of special-use
    /// domain names, and the zones of RFC 6303. "localhost" precedes hosts files: it is a loopback address whatever
    /// they have (RFC 6761 section 6.3).
    static func route(_ question: Question, _ hosts: HostsFiles) -> Route {
        let name = question.name
        let mayBeSpecial = name.isSingleLabel || topLevels.contains(name.topLevelCode)
        if mayBeSpecial, name == localhost { return special(loopback(question)) }
        if let (answer, place) = hosts.answer(question),
            !mayBeSpecial || !name.isWithin(localhost) || answer.isLoopback
        {
            return .here(.answer(answer), .hosts(place))
        }
        guard mayBeSpecial else { return .anywhere }
        // Other questions in the explanation zone get "no data" here and are not sent upstream.
        if name.isWithin(explanationZone) {
            return special(.nothing(.noData, inZone: explanationZone, ttlSeconds: 0))
        }
        if name.isWithin(localhost) { return special(loopback(question)) }
        if let zone = nonexistent.first(where: name.isWithin) { return special(absent(.noSuchName, in: zone)) }
        if name.isWithin(designatedResolvers) { return special(absent(.noData, in: designatedResolvers)) }
        if let target = pointers[name] { return special(pointer(question, to: target)) }
        return isOfLocalNetwork(name) && !isAboutTopLevelZone(question) ? .system : .anywhere
    }

    /// Returns whether a validator asks about the keys or the borders of a top-level zone. This is a link in the chain
    /// to almost every name, and never a host of the local network.
    private static func isAboutTopLevelZone(_ question: Question) -> Bool {
        question.dnssec.contains(.dnssecOK) && [.ds, .dnskey, .soa, .ns].contains(question.type)
            && question.name.isSingleLabel && !localNetwork.contains(question.name)
    }

    private static func special(_ answer: Answer) -> Route { .here(.answer(answer), .specialName) }

    /// Returns whether the name has one label, or is a special-use name of the local network. Its addresses may be
    /// private.
    static func isOfLocalNetwork(_ name: Name) -> Bool {
        name.isSingleLabel || topLevels.contains(name.topLevelCode) && name.isWithin(anyOf: localNetwork)
    }

    /// The zone for explanation queries. Its names are never sent upstream.
    package static let explanationZone = name("why.httpdnsd")

    /// TTL of answers that an RFC fixes (RFC 6303 section 3 uses 10,800 s in its example zone).
    private static let specialTTLSeconds: UInt32 = 10_800

    private static let localhost = name("localhost")
    /// RFC 6761 section 6.4 (invalid), 7686 (onion), 9476 (alt), 9031 (6tisch.arpa), 9965 (eap.arpa): these names are
    /// not in the DNS, and questions for them must not reach upstreams.
    private static let nonexistent = ["invalid", "onion", "alt", "6tisch.arpa", "eap.arpa"].map(name)
    /// RFC 9462 section 4: the daemon designates no other resolver. The designations of upstreams would make clients
    /// bypass it.
    private static let designatedResolvers = name("resolver.arpa")
    /// Loopback addresses (RFC 6303 section 4), and the addresses of ipv4only.arpa (RFC 8880 section 7.2).
    private static let pointers: [Name: Name] = [
        Address.v4(0x7F00_0001).reverseName: localhost,
        Address.v6(high: 0, low: 1).reverseName: localhost,
        Address.v4(0xC000_00AA).reverseName: name("ipv4only.arpa"),
        Address.v4(0xC000_00AB).reverseName: name("ipv4only.arpa"),
    ]

    /// RFC 6762 (local), 8375 (home.arpa), 6761 (test), 9665 (default.service.arpa), ICANN's "internal", and reverse
    /// zones of private, shared, link-local, unspecified and documentation addresses (RFC 6303 section 4, RFC 7793, RFC
    /// 9637). The AAAA records of ipv4only.arpa are the network's NAT64 prefix, which only the network's own resolver
    /// knows (RFC 8880 section 7.1).
    private static let localNetwork = Set(
        """
        local home.arpa test internal ipv4only.arpa default.service.arpa
        0.in-addr.arpa 10.in-addr.arpa 127.in-addr.arpa 254.169.in-addr.arpa 168.192.in-addr.arpa
        2.0.192.in-addr.arpa 100.51.198.in-addr.arpa 113.0.203.in-addr.arpa 255.255.255.255.in-addr.arpa
        c.f.ip6.arpa d.f.ip6.arpa 8.e.f.ip6.arpa 9.e.f.ip6.arpa a.e.f.ip6.arpa b.e.f.ip6.arpa
        8.b.d.0.1.0.0.2.ip6.arpa 0.f.f.f.3.ip6.arpa
        """.split { $0 == " " || $0 == "\n" }.map { name(String($0)) }
            + (16...31).map { name("\($0).172.in-addr.arpa") } + (64...127).map { name("\($0).100.in-addr.arpa") }
            + [Address.v6(high: 0, low: 0).reverseName])

    /// The last labels of all special names. They rule most names out.
    private static let topLevels =
        ["local", "test", "internal", "arpa"].map { name($0).topLevelCode }
        + (nonexistent + [localhost, explanationZone]).map(\.topLevelCode)

    private static func loopback(_ question: Question) -> Answer {
        let address: Address
        switch question.type {
        case .a: address = .v4(0x7F00_0001)
        case .aaaa: address = .v6(high: 0, low: 1)
        default: return absent(.noData, in: localhost)
        }
        return Answer(records: [ResourceRecord(owner: question.name, address: address, ttlSeconds: specialTTLSeconds)])
    }

    private static func pointer(_ question: Question, to target: Name) -> Answer {
        guard question.type == .ptr else { return absent(.noData, in: question.name) }
        return Answer(pointer: question.name, to: target, ttlSeconds: specialTTLSeconds)
    }

    private static func absent(_ kind: Answer.Kind, in zone: Name) -> Answer {
        .nothing(kind, inZone: zone, ttlSeconds: specialTTLSeconds)
    }

    private static func name(_ text: String) -> Name {
        guard let name = Name(text) else { preconditionFailure("\(text) is not a name") }
        return name
    }
}

extension Answer {
    /// All addresses are of this machine alone.
    fileprivate var isLoopback: Bool { !addresses.isEmpty && addresses.allSatisfy(\.isLoopback) }
}
