// Follows the kernel's tables of links, addresses, routes and neighbours (rtnetlink(7)). Never changes them.

import CLinux
import DNSWire
import Glibc
package import LinuxIO

package final class RouteWatch {
    private let news: NetlinkSocket
    /// The socket for requests, separate from the notifications: an answer is complete at once and older than any
    /// notification read after it.
    private let questions: NetlinkSocket
    private var sequence: UInt32 = 0
    private var mirror = KernelMirror()
    private var known = NetworkTables()
    private var isKnownOld = true
    private var mustReadAnew = true

    /// Size of the receive buffer. A burst of a thousand interfaces takes about 2 MiB of kernel memory. After an
    /// overflow, everything is read again.
    private static let receiveBufferBytes: Int32 = 1 << 20
    /// Maximum number of datagrams read in one turn. The rest keeps the descriptor readable, so that other descriptors
    /// have their turn.
    private static let maxDatagramsPerTurn = 1024
    /// Maximum number of full reads in a row. Tables that change faster are followed by notifications alone.
    private static let maxReadings = 3
    /// Maximum number of gateways requested one by one. If there are more, all neighbours are read.
    private static let maxGatewaysAsked = 16

    /// Subscribes first and then reads everything, so that no change is missed.
    ///
    /// - Throws: EMFILE, ENFILE, ENOBUFS; EAFNOSUPPORT if netlink is not allowed.
    package convenience init() throws(SystemError) {
        try self.init(receiveBufferBytes: RouteWatch.receiveBufferBytes)
    }

    init(receiveBufferBytes: Int32) throws(SystemError) {
        let groups = [
            RTNLGRP_LINK, RTNLGRP_NEIGH, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE,
            RTNLGRP_IPV6_ROUTE, RTNLGRP_ND_USEROPT,
        ]
        news = try NetlinkSocket(
            subsystem: NETLINK_ROUTE, groups: groups.map(\.rawValue), receiveBufferBytes: receiveBufferBytes)
        questions = try NetlinkSocket(
            subsystem: NETLINK_ROUTE, groups: [], receiveBufferBytes: RouteWatch.receiveBufferBytes)
        _ = try takeChanges()
    }

    /// The descriptor is readable when the tables may have changed.
    package var descriptor: Int32 { news.descriptor }

    /// The tables at the last `takeChanges`, with at most 4096 links and addresses and 8192 routes; default routes have
    /// separate room.
    package var tables: NetworkTables {
        if isKnownOld {
            known = mirror.tables
            isKnownOld = false
        }
        return known
    }

    /// The prefixes at the last `takeChanges`; some may have expired. A repeated announcement extends the lifetime and
    /// is not reported as a change.
    package var nat64Prefixes: [AdvertisedPrefix] { mirror.nat64Prefixes }

    /// Reads the pending messages. After an overflow everything is read again.
    ///
    /// - Returns: whether `tables` or `nat64Prefixes` may have changed. Also true for a change that was undone in
    ///   the same turn.
    /// - Throws: errors such as ENOBUFS and ENOMEM. No change is lost: the next call continues.
    package func takeChanges() throws(SystemError) -> Bool {
        let now = Clock.now()
        let isDrained = try takeNews(now)
        // Messages from before an overflow are older than the next full read and must not follow it.
        if mustReadAnew, !isDrained { return false }
        if mustReadAnew || mirror.wantsReading { return try readAnew(now) }
        try askForGateways(now)
        return endTurn()
    }

    /// - Returns: false if messages may be left.
    private func takeNews(_ now: Instant) throws(SystemError) -> Bool {
        for _ in 0..<RouteWatch.maxDatagramsPerTurn {
            let outcome = try news.receive { bytes in
                if !mustReadAnew { mirror.take(bytes, now: now) }
            }
            switch outcome {
            case .received: continue
            case .lost: mustReadAnew = true
            case .nothing: return true
            }
        }
        return false
    }

    private func readAnew(_ now: Instant) throws(SystemError) -> Bool {
        // Messages may have been processed before the loss.
        let hadNews = mirror.takeChange()
        let before = tables
        let prefixesBefore = mirror.nat64Prefixes
        mustReadAnew = true
        var fresh = KernelMirror()
        try read(RTM_GETLINK, headerBytes: MemoryLayout<ifinfomsg>.size, family: AF_UNSPEC, into: &fresh, now)
        for family in [AF_INET, AF_INET6] {
            try read(RTM_GETADDR, headerBytes: MemoryLayout<ifaddrmsg>.size, family: family, into: &fresh, now)
            try read(RTM_GETROUTE, headerBytes: MemoryLayout<rtmsg>.size, family: family, into: &fresh, now)
            try read(RTM_GETNEIGH, headerBytes: MemoryLayout<ndmsg>.size, family: family, into: &fresh, now)
        }
        _ = fresh.takeNewGateways()
        fresh.inherit(from: mirror)
        mirror = fresh
        mustReadAnew = false
        _ = endTurn()
        return hadNews || tables != before || mirror.nat64Prefixes != prefixesBefore
    }

    private func askForGateways(_ now: Instant) throws(SystemError) {
        let places = mirror.takeNewGateways()
        guard places.count <= RouteWatch.maxGatewaysAsked else {
            for family in [AF_INET, AF_INET6] {
                try read(RTM_GETNEIGH, headerBytes: MemoryLayout<ndmsg>.size, family: family, into: &mirror, now)
            }
            return
        }
        for place in places {
            sequence &+= 1
            // The entry is missing, or the kernel cannot be asked for a single one (before Linux 5.0). A notification
            // will follow.
            _ = try ask(NetlinkRequest.neighbour(place, sequence: sequence), &mirror, now)
        }
    }

    private func endTurn() -> Bool {
        for newcomer in mirror.takeNewcomers() where RouteWatch.isWireless(newcomer.name) {
            mirror.linkIsWireless(newcomer.index)
        }
        let isChanged = mirror.takeChange()
        if isChanged { isKnownOld = true }
        return isChanged
    }

    /// Whether the interface is wireless: cfg80211 links each of its interfaces to a radio in sysfs; netlink's link
    /// messages do not say it.
    private static func isWireless(_ name: String) -> Bool {
        unsafe access("/sys/class/net/\(name)/phy80211", F_OK) == 0
    }
}

// Requests and answers.
extension RouteWatch {
    private func read(
        _ type: Int, headerBytes: Int, family: Int32, into mirror: inout KernelMirror, _ now: Instant
    ) throws(SystemError) {
        for _ in 0..<RouteWatch.maxReadings {
            sequence &+= 1
            let request = NetlinkRequest.everything(
                type, headerBytes: headerBytes, family: family, sequence: sequence)
            let answer = try ask(request, &mirror, now)
            // A kernel without IPv6 rejects the family.
            guard [0, EOPNOTSUPP, EAFNOSUPPORT].contains(answer.code) else {
                throw SystemError(call: "recvfrom", code: answer.code)
            }
            if !answer.wasInterrupted { return }
        }
    }

    /// Sends a request and reads its answer. The kernel has the next part ready before each call returns.
    private func ask(
        _ request: [UInt8], _ mirror: inout KernelMirror, _ now: Instant
    ) throws(SystemError) -> NetlinkAnswer {
        try questions.send(request)
        var answer = NetlinkAnswer()
        while !answer.isComplete {
            let outcome = try questions.receive { bytes in
                answer.take(bytes, sequence: sequence)
                mirror.take(bytes, now: now)
            }
            switch outcome {
            case .received: continue
            case .lost: throw SystemError(call: "recvfrom", code: ENOBUFS)
            case .nothing: return answer
            }
        }
        return answer
    }
}
