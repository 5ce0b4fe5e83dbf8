// The operator's local zones: names in them are answered from local names alone, or do not exist. No upstream is asked
// for them, whatever the rules for shorter names say. A rule or nameserver with a name below the zone is more specific,
// as a zone within a zone of unbound's type "static", and sends that name elsewhere.

package import DNSWire

package struct LocalZones: Equatable, Sendable {
    /// The zones, the longest first.
    let names: [Name]

    package static let none = LocalZones([])

    package init(_ names: [Name]) {
        self.names = names.enumerated().sorted {
            ($1.element.wire.count, $0.offset) < ($0.element.wire.count, $1.offset)
        }.map(\.element)
        ofClients = names.first { !$0.isReverse }
    }

    /// The first zone of the settings that is no reverse zone: clients of DHCP belong to it.
    let ofClients: Name?

    var isEmpty: Bool { names.isEmpty }

    /// Returns the longest zone that has the name.
    func zone(of name: Name) -> Name? { names.first { name.isWithin($0) } }

    /// Returns the zones that only one of the two has.
    func differing(from other: LocalZones) -> [Name] { Set(names).symmetricDifference(other.names).sorted() }
}

extension Name {
    /// The name is in one of the zones for addresses (RFC 1035 section 3.5, RFC 3596 section 2.5).
    fileprivate var isReverse: Bool { isWithin(anyOf: reverseZones) }
}

private let reverseZones = Set(["in-addr.arpa", "ip6.arpa"].compactMap { Name($0) })

extension Answer {
    /// Returns NXDOMAIN or no data with the zone's SOA record, by which clients cache it (RFC 2308 section 5).
    static func nothing(_ kind: Kind, inZone zone: Name, ttlSeconds: UInt32) -> Answer {
        Answer(negative: kind, authority: .startOfAuthority(of: zone, ttlSeconds: ttlSeconds))
    }

    static func apex(_ zone: Name) -> Answer {
        Answer(records: [.startOfAuthority(of: zone, ttlSeconds: Bounds.hostsTTLSeconds)])
    }
}
