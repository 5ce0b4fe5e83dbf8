// Copy of the kernel's tables, updated by its netlink messages: bytes in, tables out. Sends no request itself; it
// reports what should be requested.
//
// Invariants: a neighbour is in `neighbours` only while it is the gateway of a route; `uncheckedLinks` are in `links`.

import CLinux
package import DNSWire
import Glibc
import LinuxIO

package struct KernelMirror {
    private var links: [Int: Link] = [:]
    private var addresses: Set<NetworkTables.InterfaceAddress> = []
    private var routes = RouteMirror()
    private var neighbours: [NeighbourReport.Place: [UInt8]] = [:]
    package private(set) var nat64Prefixes: [AdvertisedPrefix] = []
    /// Links that may be wireless and are not checked yet.
    private var uncheckedLinks: Set<Int> = []
    private var isChanged = false
    /// Number of reports of links, addresses and routes that were dropped for lack of room.
    private var leftOut = 0

    private struct Link: Equatable {
        var report: LinkReport
        var isWireless: Bool

        var shown: NetworkTables.Link {
            NetworkTables.Link(
                index: report.index, name: report.name, hardwareType: report.hardwareType, kind: report.kind,
                isWireless: isWireless, isUp: report.isUp)
        }
    }

    /// Maximum number of links. Container hosts have some hundreds. Uplinks are created at boot, so they come first.
    static let maxLinks = 4096
    static let maxAddresses = 4096
    /// Maximum number of prefixes. Routers announce one, and a second one while renumbering.
    static let maxNAT64Prefixes = 16

    package init() {}

    /// Applies all messages of a datagram. Unknown messages are ignored.
    package mutating func take(_ bytes: Span<UInt8>, now: Instant) {
        var messages = NetlinkMessages()
        while let message = messages.next(in: bytes) { take(message, bytes, now: now) }
    }

    private mutating func take(_ message: NetlinkMessage, _ bytes: Span<UInt8>, now: Instant) {
        let payload = message.payload
        switch message.type {
        case RTM_NEWLINK: if let report = LinkReport(bytes, in: payload) { linkReported(report) }
        case RTM_DELLINK: if let report = LinkReport(bytes, in: payload) { linkWent(report.index) }
        case RTM_NEWADDR: if let report = AddressReport(bytes, in: payload) { addressReported(report) }
        case RTM_DELADDR: if let report = AddressReport(bytes, in: payload) { addressWent(report.place) }
        case RTM_NEWROUTE: if let report = RouteReport(bytes, in: payload) { routeReported(report, message.flags) }
        case RTM_DELROUTE: if let report = RouteReport(bytes, in: payload) { routeWent(report) }
        case RTM_NEWNEIGH: if let report = NeighbourReport(bytes, in: payload) { neighbourReported(report, bytes) }
        case RTM_DELNEIGH: if let report = NeighbourReport(bytes, in: payload) { neighbourWent(report.place) }
        case RTM_NEWNDUSEROPT:
            if let report = NAT64PrefixReport(bytes, in: payload) { nat64PrefixReported(report, now: now) }
        default: return
        }
    }
}

// The current state.
extension KernelMirror {
    package var tables: NetworkTables {
        NetworkTables(
            links: links.values.map(\.shown).sorted { $0.index < $1.index },
            addresses: addresses.sorted { $0.precedes($1) },
            routes: routes.list { links[$0]?.report.isUp ?? true },
            neighbours: neighbours.map {
                NetworkTables.Neighbour(link: $0.key.link, address: $0.key.address, hardwareAddress: $0.value)
            }.sorted { $0.precedes($1) })
    }

    /// Returns whether the state has changed since the last call.
    mutating func takeChange() -> Bool { exchange(&isChanged, with: false) }

    /// Returns new gateways. Earlier neighbour reports about them were ignored, because they were not gateways yet.
    mutating func takeNewGateways() -> [NeighbourReport.Place] { routes.takeNewGateways() }

    /// Returns the new links with their names.
    mutating func takeNewcomers() -> [(index: Int, name: String)] {
        defer { uncheckedLinks = [] }
        return uncheckedLinks.sorted().compactMap { index in links[index].map { (index, $0.report.name) } }
    }

    mutating func linkIsWireless(_ index: Int) {
        guard links[index]?.isWireless == false else { return }
        links[index]?.isWireless = true
        isChanged = true
    }

    /// Whether there is room again for dropped reports, so that all tables should be read anew.
    var wantsReading: Bool {
        let isRoomy = links.count < KernelMirror.maxLinks / 2 && addresses.count < KernelMirror.maxAddresses / 2
        return routes.wantsReading || (leftOut > 0 && isRoomy)
    }

    /// Copies the state that cannot be requested from the kernel, when all tables are read anew.
    mutating func inherit(from former: KernelMirror) {
        nat64Prefixes = former.nat64Prefixes.filter { links[$0.link] != nil }
    }
}

// Processing of reports.
extension KernelMirror {
    private mutating func note(_ change: Bool) {
        if change { isChanged = true }
    }

    private mutating func linkReported(_ report: LinkReport) {
        guard let known = links[report.index] else {
            guard links.count < KernelMirror.maxLinks else { return leftOut += 1 }
            links[report.index] = Link(report: report, isWireless: false)
            if report.kind.isEmpty { uncheckedLinks.insert(report.index) }
            return isChanged = true
        }
        guard known.report != report else { return }
        links[report.index]?.report = report
        isChanged = true
        if !report.isSwitchedOn { linkWentOff(report.index) }
    }

    private mutating func linkWent(_ index: Int) {
        uncheckedLinks.remove(index)
        guard links.removeValue(forKey: index) != nil else { return }
        isChanged = true
        linkWentOff(index)
        addresses = addresses.filter { $0.link != index }
    }

    private mutating func linkWentOff(_ index: Int) {
        let links = links
        note(routes.linkWentOff(index) { $0 == index || links[$0]?.report.isSwitchedOn == false })
        forgetFormerGateways()
        let stay = nat64Prefixes.filter { $0.link != index }
        note(stay.count < nat64Prefixes.count)
        nat64Prefixes = stay
    }

    private mutating func addressReported(_ report: AddressReport) {
        guard report.isUsable else { return addressWent(report.place) }
        guard !addresses.contains(report.place) else { return }
        guard addresses.count < KernelMirror.maxAddresses else { return leftOut += 1 }
        addresses.insert(report.place)
        isChanged = true
    }

    private mutating func addressWent(_ place: NetworkTables.InterfaceAddress) {
        guard addresses.remove(place) != nil else { return }
        isChanged = true
        guard !place.address.isIPv6, leftOut == 0 else { return }
        let links = links
        let isElsewhere = addresses.contains {
            $0.address == place.address && links[$0.link]?.report.isSwitchedOn != false
        }
        if !isElsewhere { note(routes.sourceWent(place.address, table: RT_TABLE_MAIN.rawValue)) }
        if !addresses.contains(where: { $0.link == place.link && !$0.address.isIPv6 }) {
            note(routes.lastAddressWent(from: place.link) { links[$0]?.report.isSwitchedOn == false })
        }
        forgetFormerGateways()
    }

    private mutating func routeReported(_ report: RouteReport, _ flags: Int32) {
        // Answers to requests (NLM_F_MULTI) come in the kernel's order.
        let isAtTheEnd = flags & (NLM_F_APPEND | NLM_F_MULTI) != 0
        note(routes.add(report, replaces: flags & NLM_F_REPLACE != 0, appends: isAtTheEnd))
        forgetFormerGateways()
    }

    private mutating func routeWent(_ report: RouteReport) {
        note(routes.remove(report))
        forgetFormerGateways()
    }

    private mutating func neighbourReported(_ report: NeighbourReport, _ bytes: Span<UInt8>) {
        guard routes.gateways[report.place] != nil else { return }
        guard !report.hardwareAddress.isEmpty else { return neighbourWent(report.place) }
        let hardwareAddress = report.hardwareAddress.map { bytes[$0] }
        note(neighbours.updateValue(hardwareAddress, forKey: report.place) != hardwareAddress)
    }

    private mutating func neighbourWent(_ place: NeighbourReport.Place) {
        note(neighbours.removeValue(forKey: place) != nil)
    }

    private mutating func forgetFormerGateways() {
        for place in neighbours.keys where routes.gateways[place] == nil { neighbourWent(place) }
    }

    private mutating func nat64PrefixReported(_ report: NAT64PrefixReport, now: Instant) {
        let index = nat64Prefixes.firstIndex {
            $0.link == report.link && $0.prefix == report.prefix
        }
        if let index { nat64Prefixes.remove(at: index) }
        let isAnnounced = report.lifetimeSeconds > 0
        note(isAnnounced != (index != nil))
        guard isAnnounced else { return }
        if nat64Prefixes.count == KernelMirror.maxNAT64Prefixes { nat64Prefixes.removeFirst() }
        nat64Prefixes.append(
            AdvertisedPrefix(
                link: report.link, prefix: report.prefix, end: now + .seconds(report.lifetimeSeconds)))
    }
}
