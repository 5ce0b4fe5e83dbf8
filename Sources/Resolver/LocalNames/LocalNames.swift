// Names that are never sent to a provider: answered locally, or known to the local network only.

package import DNSWire

/// A reply of the daemon's own.
enum LocalReply: Equatable, Sendable {
    case answer(Answer)
    /// REFUSED, as a rule wants it.
    case refusal(ExtendedError)

    func action(for waiter: Waiter) -> Action {
        switch self {
        case .answer(let answer): .reply(waiter, answer, .local)
        case .refusal(let extendedError): .fail(waiter, extendedError, .refused)
        }
    }
}

/// What answers a question without an upstream.
package enum LocalOrigin: Equatable, Sendable {
    case hosts(FilePlace)
    /// A name that an RFC reserves.
    case specialName
    /// The rule for this name.
    case rule(Name)
    /// A DHCP lease; nil: it never ends.
    case lease(FilePlace, endsAt: Instant?)
    /// Nothing has the name in this local zone.
    case zone(Name)
}

enum LocalNames {
    enum Route: Equatable {
        case here(LocalReply, LocalOrigin)
        /// The system resolver only. It may know the local network; a provider cannot.
        case system
        case anywhere
    }

    /// Hosts files first, as on any Unix; then the special names of RFC 6761, 6303, 7686, 8375.
    static func route(_ question: Question, _ hosts: HostsFiles) -> Route {
        if let (answer, place) = hosts.answer(question) { return .here(.answer(answer), .hosts(place)) }
        guard question.name.isSingleLabel || topLevels.contains(question.name.topLevelCode) else { return .anywhere }
        // Other questions in the explanation zone get "no data" here and are not sent upstream.
        if question.name.isWithin(Explanation.zone) { return special(Answer(negative: .noData, ttlSeconds: 0)) }
        if question.name.isWithin(localhost) { return special(loopback(question)) }
        if nonexistent.contains(where: question.name.isWithin) {
            return special(Answer(negative: .noSuchName, ttlSeconds: specialTTLSeconds))
        }
        if question.name.isWithin(designatedResolvers) {
            return special(Answer(negative: .noData, ttlSeconds: specialTTLSeconds))
        }
        if let target = reverseLoopback[question.name] { return special(pointer(question, to: target)) }
        return isOfLocalNetwork(question.name) && !isAboutTopLevelZone(question) ? .system : .anywhere
    }

    /// Returns whether a validator asks about the keys or the borders of a top-level zone: a link in the chain to
    /// almost every name, and never a host of the local network.
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

    /// TTL of answers that an RFC fixes (RFC 6303 section 3 uses 10,800 s in its example zone).
    private static let specialTTLSeconds: UInt32 = 10_800

    private static let localhost = name("localhost")
    /// RFC 6761 section 6.4, RFC 7686.
    private static let nonexistent = [name("invalid"), name("onion")]
    /// RFC 9462 section 4: the daemon designates no other resolver. The designations of upstreams would make clients
    /// bypass it.
    private static let designatedResolvers = name("resolver.arpa")
    private static let reverseLoopback: [Name: Name] = [
        Address.v4(0x7F00_0001).reverseName: localhost,
        Address.v6(high: 0, low: 1).reverseName: localhost,
    ]

    /// RFC 6762 (local), 8375 (home.arpa), 6761 (test), ICANN's "internal", and the reverse zones of private, shared,
    /// link-local and unspecified addresses (RFC 6303 section 4, RFC 7793). The AAAA records of ipv4only.arpa are the
    /// network's NAT64 prefix, which only its own resolver knows (RFC 8880 section 7.1).
    private static let localNetwork = Set(
        """
        local home.arpa test internal ipv4only.arpa
        0.in-addr.arpa 10.in-addr.arpa 127.in-addr.arpa 254.169.in-addr.arpa 168.192.in-addr.arpa
        255.255.255.255.in-addr.arpa
        c.f.ip6.arpa d.f.ip6.arpa 8.e.f.ip6.arpa 9.e.f.ip6.arpa a.e.f.ip6.arpa b.e.f.ip6.arpa
        """.split { $0 == " " || $0 == "\n" }.map { name(String($0)) }
            + (16...31).map { name("\($0).172.in-addr.arpa") } + (64...127).map { name("\($0).100.in-addr.arpa") }
            + [Address.v6(high: 0, low: 0).reverseName])

    /// The last labels of all special names. They rule most names out.
    private static let topLevels =
        ["local", "test", "internal", "arpa"].map { name($0).topLevelCode }
        + (nonexistent + [localhost, Explanation.zone]).map(\.topLevelCode)

    private static func loopback(_ question: Question) -> Answer {
        let address: Address
        switch question.type {
        case .a: address = .v4(0x7F00_0001)
        case .aaaa: address = .v6(high: 0, low: 1)
        default: return Answer(negative: .noData, ttlSeconds: specialTTLSeconds)
        }
        return Answer(records: [ResourceRecord(owner: question.name, address: address, ttlSeconds: specialTTLSeconds)])
    }

    private static func pointer(_ question: Question, to target: Name) -> Answer {
        guard question.type == .ptr else { return Answer(negative: .noData, ttlSeconds: specialTTLSeconds) }
        return Answer(pointer: question.name, to: target, ttlSeconds: specialTTLSeconds)
    }

    private static func name(_ text: String) -> Name {
        guard let name = Name(text) else { preconditionFailure("\(text) is not a name") }
        return name
    }
}
