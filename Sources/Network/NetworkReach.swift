// Where routes lead: which addresses it makes sense to dial now.

package import DNSWire

package struct NetworkReach: Hashable, Sendable {
    /// Of routes over interfaces that are up, and of on-link blocks; no duplicates.
    package let prefixes: Set<Prefix>

    /// - Parameter prefixes: loopback is reached in any case.
    package init(prefixes: Set<Prefix>) {
        self.prefixes = prefixes
    }

    /// Where nobody watches the network everything is worth a try.
    package static let everything = NetworkReach(prefixes: Set(["0.0.0.0/0", "::/0"].compactMap { Prefix($0) }))

    /// Where routes over interfaces that are up lead, and what is on their links. What lies within something else of it
    /// is left out: beside a default route a container's network is nothing new.
    package init(of tables: NetworkTables) {
        let links = tables.usableLinks
        let routed = tables.routes.filter { links[$0.link] != nil }.map(\.destination)
        let onLink = tables.addresses.filter { links[$0.link] != nil }.compactMap {
            Prefix(around: $0.address, length: $0.prefixLength)
        }
        self.init(prefixes: NetworkReach.outermost(Set(routed + onLink)))
    }

    private static func outermost(_ prefixes: Set<Prefix>) -> Set<Prefix> {
        // The shortest first: beside a default route most blocks need one look.
        let lengths = Set(prefixes.map(\.length)).sorted()
        return prefixes.filter { prefix in
            !lengths.prefix { $0 < prefix.length }.contains { length in
                Prefix(around: prefix.address, length: length).map(prefixes.contains) ?? false
            }
        }
    }

    package func includes(_ address: Address) -> Bool {
        address.isLoopback || prefixes.contains { $0.contains(address) }
    }

    /// There is a way out for this family: a default route, or two halves of one.
    package func hasWayOut(_ family: RecordType) -> Bool {
        let probes = family == .a ? NetworkReach.farAway4 : NetworkReach.farAway6
        return probes.allSatisfy(includes)
    }

    var hasSomeWayOut: Bool { hasWayOut(.a) || hasWayOut(.aaaa) }

    /// One of the routes that make up a way out: the default, one of its halves, or one of the blocks that some VPNs
    /// cut it into to leave out private networks. Not a route to some site that happens to lie there.
    static func leadsFarAway(_ prefix: Prefix) -> Bool {
        prefix.length <= 8 && (farAway4 + farAway6).contains { prefix.contains($0) }
    }

    /// Of both halves of the space that is given out: root servers (RFC 7720).
    private static let farAway4 = ["1.1.1.1", "198.41.0.4"].compactMap { Address($0) }
    private static let farAway6 = ["2001:503:ba3e::2:30", "2801:1b8:10::b"].compactMap { Address($0) }
}
