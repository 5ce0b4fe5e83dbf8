// Copy of the kernel's routes, updated by its messages.
//
// The kernel does not report all removals of IPv4 routes. It reports none if a link is switched off, if it loses its
// last address, or (before Linux 6.8) if the routes' source address is removed. This type derives these removals. IPv6
// removals are reported unless skip_notify_on_dev_down is set.
//
// Invariants: no list in `paths` is empty. Each is in the kernel's order and includes routes that are not unicast,
// because a replacement takes the place of the first path. `gateways` and `uses` count the hops of all paths, `count`
// the paths.

import DNSWire

struct RouteMirror {
    private var paths: [RouteReport.Key: [RouteReport.Path]] = [:]
    private(set) var gateways: [NeighbourReport.Place: Int] = [:]
    private var uses: [Int: Int] = [:]
    private var count = 0
    /// Number of routes dropped for lack of room since the last full read.
    private(set) var leftOut = 0
    /// New gateways since the last call of `takeNewGateways`.
    private(set) var newGateways: [NeighbourReport.Place] = []

    /// Maximum number of routes, which take about 300 bytes each, 2.5 MiB in all. A backbone router has a million
    /// routes; the first thousands are enough to identify a network.
    static let maxRoutes = 8192
    /// Maximum number of routes with default routes and the halves of one that VPNs install. These identify the
    /// network, so they have separate room.
    private static let maxRoutesWithDefaults = 2 * maxRoutes
    private static let longestDefault = 1

    /// - Parameter replaces: the flag NLM_F_REPLACE; `appends`: NLM_F_APPEND.
    /// - Returns: whether the visible routes have changed.
    mutating func add(_ report: RouteReport, replaces: Bool, appends: Bool) -> Bool {
        let before = paths[report.key] ?? []
        var after = before
        if replaces, !after.isEmpty { after.removeFirst() }
        // An IPv6 route that gets another hop is reported with all its hops.
        after.removeAll { $0 == report.path || (report.key.destination.address.isIPv6 && $0.isPart(of: report.path)) }
        let isDefault = report.key.destination.length <= RouteMirror.longestDefault
        let limit = isDefault ? RouteMirror.maxRoutesWithDefaults : RouteMirror.maxRoutes
        if count - before.count + after.count < limit {
            after.insert(report.path, at: appends ? after.count : 0)
        } else {
            leftOut += 1
        }
        return put(after, for: report.key, before: before)
    }

    /// - Returns: whether the visible routes have changed.
    mutating func remove(_ report: RouteReport) -> Bool {
        guard let before = paths[report.key] else { return false }
        var after = before
        if report.key.destination.address.isIPv6 {
            for index in after.indices where after[index].type == report.path.type {
                after[index].hops.removeAll { report.path.hops.contains($0) }
            }
            after.removeAll { $0.type == report.path.type && $0.hops.isEmpty }
        } else if let index = after.firstIndex(of: report.path) {
            // If the path is missing, its removal was derived before.
            after.remove(at: index)
        }
        return put(after, for: report.key, before: before)
    }

    /// Removes the routes that use only links that are gone or switched off.
    ///
    /// - Parameter isOff: whether a link is gone or switched off.
    mutating func linkWentOff(_ link: Int, isOff: (Int) -> Bool) -> Bool {
        guard uses[link] != nil else { return false }
        return drop { _, path in path.uses(link) && path.hops.allSatisfy { isOff($0.link) } }
    }

    /// Removes the IPv4 routes of a link that has lost its last IPv4 address.
    mutating func lastAddressWent(from link: Int, isOff: (Int) -> Bool) -> Bool {
        guard uses[link] != nil else { return false }
        return drop { key, path in
            !key.destination.address.isIPv6 && path.uses(link)
                && path.hops.allSatisfy { $0.link == link || isOff($0.link) }
        }
    }

    /// Removes the routes with a source address that was removed.
    ///
    /// - Parameter table: the only table in which the kernel looks for routes with that source.
    mutating func sourceWent(_ address: Address, table: UInt32) -> Bool {
        guard !address.isIPv6 else { return false }
        return drop { key, path in key.table == table && path.preferredSource == address }
    }

    mutating func takeNewGateways() -> [NeighbourReport.Place] {
        defer { newGateways = [] }
        return newGateways.filter { gateways[$0] != nil }
    }

    /// Whether at least half of the room is free, so that dropped routes should be read again.
    var wantsReading: Bool { leftOut > 0 && count < RouteMirror.maxRoutes / 2 }

    func list(isUp: (Int) -> Bool) -> [NetworkTables.Route] {
        var routes: [NetworkTables.Route] = []
        routes.reserveCapacity(count)
        for (key, list) in paths {
            for path in list where path.isUnicast {
                guard let hop = path.hops.first(where: { isUp($0.link) }) ?? path.hops.first else { continue }
                routes.append(
                    NetworkTables.Route(
                        destination: key.destination, gateway: hop.gateway, link: hop.link, metric: key.metric,
                        table: key.table))
            }
        }
        return routes.sorted { $0.precedes($1) }
    }

    private mutating func drop(_ isDropped: (RouteReport.Key, RouteReport.Path) -> Bool) -> Bool {
        let affected = paths.filter { key, list in list.contains { isDropped(key, $0) } }
        var isChanged = false
        for (key, list) in affected {
            let shows = put(list.filter { !isDropped(key, $0) }, for: key, before: list)
            isChanged = isChanged || shows
        }
        return isChanged
    }

    /// - Returns: whether the visible routes have changed.
    private mutating func put(_ after: [RouteReport.Path], for key: RouteReport.Key, before: [RouteReport.Path]) -> Bool
    {
        guard after != before else { return false }
        // The new hops are counted first, so that a gateway that stays does not count as new.
        after.forEach { path in path.hops.forEach { use($0) } }
        before.forEach { path in path.hops.forEach { release($0) } }
        paths[key] = after.isEmpty ? nil : after
        count += after.count - before.count
        return after.filter(\.isUnicast) != before.filter(\.isUnicast)
    }

    private mutating func use(_ hop: RouteReport.Hop) {
        uses[hop.link, default: 0] += 1
        guard let place = hop.place else { return }
        let known = gateways[place, default: 0]
        if known == 0 { newGateways.append(place) }
        gateways[place] = known + 1
    }

    private mutating func release(_ hop: RouteReport.Hop) {
        let left = uses[hop.link, default: 1] - 1
        uses[hop.link] = left == 0 ? nil : left
        guard let place = hop.place else { return }
        let known = gateways[place, default: 1] - 1
        gateways[place] = known == 0 ? nil : known
    }
}

extension RouteReport.Hop {
    fileprivate var place: NeighbourReport.Place? {
        gateway.map { NeighbourReport.Place(link: link, address: $0) }
    }
}

extension RouteReport.Path {
    fileprivate func uses(_ link: Int) -> Bool { hops.contains { $0.link == link } }

    fileprivate func isPart(of other: RouteReport.Path) -> Bool {
        type == other.type && hops.allSatisfy { other.hops.contains($0) }
    }
}
