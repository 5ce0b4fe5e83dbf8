// Reachable destinations: the addresses that are worth dialling now.

package import DNSWire

package struct NetworkReach: Hashable, Sendable {
    /// Destinations of routes over interfaces that are up, and on-link blocks; no duplicates.
    package let prefixes: Set<Prefix>

    /// - Parameter prefixes: loopback is always reachable in addition.
    package init(prefixes: Set<Prefix>) {
        self.prefixes = prefixes
    }

    /// The reach without a network monitor: every address may be dialled.
    package static let everything = NetworkReach(prefixes: Set(["0.0.0.0/0", "::/0"].compactMap { Prefix($0) }))

    /// Takes the destinations of routes over interfaces that are up, and their on-link blocks. Omits prefixes within
    /// others: a container's network adds nothing to a default route.
    package init(of tables: NetworkTables) {
        let links = tables.usableLinks
        let routed = tables.routes.filter { links[$0.link] != nil }.map(\.destination)
        let onLink = tables.addresses.filter { links[$0.link] != nil }.compactMap {
            Prefix(around: $0.address, length: $0.prefixLength)
        }
        self.init(prefixes: NetworkReach.outermost(Set(routed + onLink)))
    }

    private static func outermost(_ prefixes: Set<Prefix>) -> Set<Prefix> {
        // The shortest prefixes come first: with a default route most blocks need one comparison.
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

    /// Returns whether this family has a default route, or two halves of one.
    package func hasWayOut(_ family: RecordType) -> Bool {
        let probes = family == .a ? NetworkReach.farAway4 : NetworkReach.farAway6
        return probes.allSatisfy(includes)
    }

    package var hasSomeWayOut: Bool { hasWayOut(.a) || hasWayOut(.aaaa) }

    /// Returns whether the route is part of a default route: the default, one of its halves, or a block of a VPN that
    /// leaves out private networks. A route to a site that contains a probe address does not count.
    static func leadsFarAway(_ prefix: Prefix) -> Bool {
        prefix.length <= 8 && (farAway4 + farAway6).contains { prefix.contains($0) }
    }

    /// Root servers in both halves of the allocated address space (RFC 7720).
    private static let farAway4 = ["1.1.1.1", "198.41.0.4"].compactMap { Address($0) }
    private static let farAway6 = ["2001:503:ba3e::2:30", "2801:1b8:10::b"].compactMap { Address($0) }
}
