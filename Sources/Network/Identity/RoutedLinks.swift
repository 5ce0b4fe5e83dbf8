// Routes over interfaces that are up: the default route and the VPNs in use, derived from one state of the tables.

import DNSWire

struct RoutedLinks {
    /// The default route; nil if no family has one.
    let wayOut: WayOut?
    /// Names of the VPN interfaces, sorted.
    let tunnels: [String]
    let exits: [String]

    /// RT_TABLE_MAIN of <linux/rtnetlink.h>.
    private static let mainTable: UInt32 = 254

    init(_ tables: NetworkTables) {
        let links = tables.usableLinks
        var prefixesOfTunnel: [Int: Set<Prefix>] = [:]
        let tunnelLinks = Set(links.values.filter { $0.networkKind == .tunnel }.map(\.index))
        for route in tables.routes where tunnelLinks.contains(route.link) {
            prefixesOfTunnel[route.link, default: []].insert(route.destination)
        }
        // A VPN server has an interface with a host route per client, which is not a default route.
        let known = prefixesOfTunnel.compactMap { index, prefixes -> (name: String, reach: NetworkReach)? in
            guard let link = links[index], !prefixes.allSatisfy(\.isSingleAddress) else { return nil }
            return (link.name, NetworkReach(prefixes: prefixes))
        }.sorted { $0.name < $1.name }.prefix(NetworkBounds.maxTunnels)
        tunnels = known.map(\.name)
        exits = known.filter(\.reach.hasSomeWayOut).map(\.name)
        wayOut = RoutedLinks.wayOut(tables, links)
    }

    /// Chooses the route of traffic without a more specific route. VPNs come last, because the network below the VPN
    /// identifies the location. VPNs are recorded separately.
    private static func wayOut(_ tables: NetworkTables, _ links: [Int: NetworkTables.Link]) -> WayOut? {
        let routes = tables.routes.filter { links[$0.link] != nil }
        let reach = NetworkReach(prefixes: Set(routes.map(\.destination)))
        let families = [RecordType.a, .aaaa].filter(reach.hasWayOut)
        let candidates = routes.filter { NetworkReach.leadsFarAway($0.destination) && families.contains($0.family) }
        let ranked = candidates.compactMap { route in links[route.link].map { (route: route, link: $0) } }
        guard let best = ranked.min(by: { precedes($0, $1) }) else { return nil }
        return WayOut(best.route, best.link, tables)
    }

    /// Compares the fields in their order; the last ones make the result independent of the tables' order.
    private static func precedes(
        _ first: (route: NetworkTables.Route, link: NetworkTables.Link),
        _ second: (route: NetworkTables.Route, link: NetworkTables.Link)
    ) -> Bool {
        func rank(_ route: NetworkTables.Route, _ link: NetworkTables.Link) -> [Int] {
            [
                link.networkKind == .tunnel ? 1 : 0, route.table == mainTable ? 0 : 1,
                route.family == .a ? 0 : 1, route.destination.length, Int(route.metric),
            ]
        }
        let ranks = (rank(first.route, first.link), rank(second.route, second.link))
        guard ranks.0 == ranks.1 else { return ranks.0.lexicographicallyPrecedes(ranks.1) }
        guard first.link.name == second.link.name else { return first.link.name < second.link.name }
        return (first.route.gateway?.bytes ?? []).lexicographicallyPrecedes(second.route.gateway?.bytes ?? [])
    }
}

/// The default route with its gateway and addresses.
struct WayOut {
    let link: NetworkTables.Link
    let gateway: Address?
    let gatewayHardware: [UInt8]?
    /// The interface's addresses of the route's family; sorted, the one in the gateway's subnet first.
    let addresses: [NetworkTables.InterfaceAddress]
    let prefix: Prefix?

    init(_ route: NetworkTables.Route, _ link: NetworkTables.Link, _ tables: NetworkTables) {
        self.link = link
        gateway = route.gateway
        gatewayHardware =
            tables.neighbours.first { $0.link == link.index && $0.address == route.gateway }?
            .hardwareAddress
        addresses = tables.addresses.filter {
            $0.link == link.index && $0.address.recordType == route.family && !$0.address.isLinkLocal6
        }.sorted { WayOut.precedes($0, $1, gateway: route.gateway) }
        prefix = addresses.first.flatMap(WayOut.prefix)
    }

    /// Returns the prefix; nil for a single address, which is the machine's own and does not identify the network.
    private static func prefix(_ address: NetworkTables.InterfaceAddress) -> Prefix? {
        switch address.address {
        case .v4: Prefix(around: address.address, length: address.prefixLength).flatMap { $0.length < 31 ? $0 : nil }
        // The prefix is always a /64, whether the address has its own length (/128 by DHCPv6) or the network's.
        case .v6: Prefix(around: address.address, length: 64)
        }
    }

    private static func precedes(
        _ first: NetworkTables.InterfaceAddress, _ second: NetworkTables.InterfaceAddress, gateway: Address?
    ) -> Bool {
        func rank(_ address: NetworkTables.InterfaceAddress) -> [Int] {
            let block = Prefix(around: address.address, length: address.prefixLength)
            let isNeighbour = gateway.map { block?.contains($0) ?? false } ?? false
            return [isNeighbour ? 0 : 1, address.address.recordType == .a ? -address.prefixLength : 0]
        }
        let ranks = (rank(first), rank(second))
        guard ranks.0 == ranks.1 else { return ranks.0.lexicographicallyPrecedes(ranks.1) }
        return first.address.bytes.lexicographicallyPrecedes(second.address.bytes)
    }
}
