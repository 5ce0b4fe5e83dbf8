// The kernel's routes, kept up to date by its messages.
//
// It does not report all that it does: IPv4 routes go without a word when their link is switched off, when the last
// address of their link goes, and (before Linux 6.8) when the address goes that they name as source. So that is
// followed here. Of IPv6 it says so, unless it was told not to (skip_notify_on_dev_down).
//
// Invariants: no list in `paths` is empty, and each is in the kernel's order, with what leads nowhere, because a
// replacement takes the place of the first; `gateways` and `uses` count the hops of all paths, `count` the paths.

struct RouteMirror {
    private var paths: [RouteReport.Key: [RouteReport.Path]] = [:]
    private(set) var gateways: [NeighbourReport.Place: Int] = [:]
    private var uses: [Int32: Int] = [:]
    private var count = 0
    /// Routes that found no room since everything was read.
    private(set) var leftOut = 0
    /// Gateways that have become such since they were asked for.
    private(set) var newGateways: [NeighbourReport.Place] = []

    /// A machine that takes part in routing between networks has a million, none of which says more about where it is
    /// than the first thousands; at some 300 bytes each this is 2.5 MiB.
    static let maxRoutes = 8192
    /// Default routes, and the halves of one by which VPNs take over, say where we are: they have room of their own.
    private static let maxRoutesWithDefaults = 2 * maxRoutes
    private static let longestDefault = 1

    /// - Parameter replaces: NLM_F_REPLACE; `appends`: NLM_F_APPEND.
    /// - Returns: whether anything is not what it was.
    mutating func add(_ report: RouteReport, replaces: Bool, appends: Bool) -> Bool {
        let before = paths[report.key] ?? []
        var after = before
        if replaces, !after.isEmpty { after.removeFirst() }
        // An IPv6 route that got another hop is reported with all of them.
        after.removeAll { $0 == report.path || (report.key.destination.isIPv6 && $0.isPart(of: report.path)) }
        let isDefault = report.key.prefixLength <= RouteMirror.longestDefault
        let limit = isDefault ? RouteMirror.maxRoutesWithDefaults : RouteMirror.maxRoutes
        if count - before.count + after.count < limit {
            after.insert(report.path, at: appends ? after.count : 0)
        } else {
            leftOut += 1
        }
        return put(after, for: report.key, before: before)
    }

    /// - Returns: whether anything is not what it was.
    mutating func remove(_ report: RouteReport) -> Bool {
        guard let before = paths[report.key] else { return false }
        var after = before
        if report.key.destination.isIPv6 {
            for index in after.indices where after[index].type == report.path.type {
                after[index].hops.removeAll { report.path.hops.contains($0) }
            }
            after.removeAll { $0.type == report.path.type && $0.hops.isEmpty }
        } else if let index = after.firstIndex(of: report.path) {
            // None: it was known to be gone.
            after.remove(at: index)
        }
        return put(after, for: report.key, before: before)
    }

    /// The link is gone or switched off, and with it what led over it alone.
    ///
    /// - Parameter isOff: whether that can be said of a link.
    mutating func linkWentOff(_ link: Int32, isOff: (Int32) -> Bool) -> Bool {
        guard uses[link] != nil else { return false }
        return drop { _, path in path.uses(link) && path.hops.allSatisfy { isOff($0.link) } }
    }

    /// The last IPv4 address.
    mutating func lastAddressWent(from link: Int32, isOff: (Int32) -> Bool) -> Bool {
        guard uses[link] != nil else { return false }
        return drop { key, path in
            !key.destination.isIPv6 && path.uses(link) && path.hops.allSatisfy { $0.link == link || isOff($0.link) }
        }
    }

    /// - Parameter table: the only one in which the kernel looks for routes that name the address.
    mutating func sourceWent(_ address: SocketAddress, table: UInt32) -> Bool {
        guard !address.isIPv6 else { return false }
        return drop { key, path in key.table == table && path.preferredSource == address }
    }

    mutating func takeNewGateways() -> [NeighbourReport.Place] {
        defer { newGateways = [] }
        return newGateways.filter { gateways[$0] != nil }
    }

    /// Half of what was left out, or more, may find room now.
    var wantsReading: Bool { leftOut > 0 && count < RouteMirror.maxRoutes / 2 }

    func list(isUp: (Int32) -> Bool) -> [KernelTables.Route] {
        var routes: [KernelTables.Route] = []
        routes.reserveCapacity(count)
        for (key, list) in paths {
            for path in list where path.isUnicast {
                guard let hop = path.hops.first(where: { isUp($0.link) }) ?? path.hops.first else { continue }
                routes.append(
                    KernelTables.Route(
                        destination: key.destination, prefixLength: key.prefixLength, gateway: hop.gateway,
                        link: hop.link, metric: key.metric, table: key.table))
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

    /// - Returns: whether that shows.
    private mutating func put(_ after: [RouteReport.Path], for key: RouteReport.Key, before: [RouteReport.Path]) -> Bool
    {
        guard after != before else { return false }
        // First what comes: a gateway that stays is then no new one.
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
    fileprivate func uses(_ link: Int32) -> Bool { hops.contains { $0.link == link } }

    fileprivate func isPart(of other: RouteReport.Path) -> Bool {
        type == other.type && hops.allSatisfy { other.hops.contains($0) }
    }
}
