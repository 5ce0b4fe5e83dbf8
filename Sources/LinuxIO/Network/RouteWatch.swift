// Follows the kernel's tables of links, addresses, routes and neighbours (rtnetlink(7)). Reading only: nothing on the
// machine is ever changed through it.

import CLinux
import Glibc

package final class RouteWatch {
    private let news: NetlinkSocket
    /// Apart from the news: what was asked for is here at once, and is older than whatever news are read after it.
    private let questions: NetlinkSocket
    private var sequence: UInt32 = 0
    private var mirror = KernelMirror()
    private var known = KernelTables()
    private var isKnownOld = true
    private var mustReadAnew = true

    /// A thousand interfaces that come or go at once take about 2 MiB of the kernel's memory; what does not fit is
    /// noticed, and then everything is read anew.
    private static let receiveBufferBytes: Int32 = 1 << 20
    /// Read in one turn; the rest keeps the descriptor readable, and others have their turn.
    private static let maxDatagramsPerTurn = 1024
    /// Tables that change faster than they can be read are followed by the news alone.
    private static let maxReadings = 3
    /// Asked for one by one; of more of them all neighbours are read.
    private static let maxGatewaysAsked = 16

    /// Subscribes, then reads everything: nothing is missed in between.
    ///
    /// - Throws: EMFILE, ENFILE, ENOBUFS; EAFNOSUPPORT where netlink is not allowed.
    package convenience init() throws(SystemError) {
        try self.init(receiveBufferBytes: RouteWatch.receiveBufferBytes)
    }

    init(receiveBufferBytes: Int32) throws(SystemError) {
        news = try NetlinkSocket(
            groups: [
                RTNLGRP_LINK, RTNLGRP_NEIGH, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE,
                RTNLGRP_IPV6_ROUTE, RTNLGRP_ND_USEROPT,
            ], receiveBufferBytes: receiveBufferBytes)
        questions = try NetlinkSocket(groups: [], receiveBufferBytes: RouteWatch.receiveBufferBytes)
        _ = try takeChanges()
    }

    /// Readable when something changed, or may have.
    package var descriptor: Int32 { news.descriptor }

    /// As of the last `takeChanges`. At most 4096 links and addresses and 8192 routes; default routes are not left out
    /// for the others' sake.
    package var tables: KernelTables {
        if isKnownOld {
            known = mirror.tables
            isKnownOld = false
        }
        return known
    }

    /// As of the last `takeChanges`, some of them past their end perhaps. A router that repeats itself puts off the end
    /// without a change being reported.
    package var translationPrefixes: [AdvertisedPrefix] { mirror.translationPrefixes }

    /// Reads what came. After an overflow everything is read anew.
    ///
    /// - Returns: whether `tables` or `translationPrefixes` are not what they were. Also true for what came and went
    ///   in one turn.
    /// - Throws: ENOBUFS, ENOMEM and the like. Nothing is lost: the next call goes on.
    package func takeChanges() throws(SystemError) -> Bool {
        let now = Clock.now()
        let isDrained = try takeNews(now)
        // What waits from before an overflow is older than what is read now, and must not come after it.
        if mustReadAnew, !isDrained { return false }
        if mustReadAnew || mirror.wantsReading { return try readAnew(now) }
        try askForGateways(now)
        return endTurn()
    }

    /// - Returns: false if something may be left.
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
        // Some of the news may have been taken before one was lost.
        let hadNews = mirror.takeChange()
        let before = tables
        let prefixesBefore = mirror.translationPrefixes
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
        return hadNews || tables != before || mirror.translationPrefixes != prefixesBefore
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
            // Not there, or the kernel cannot be asked for one (before Linux 5.0): then news will tell of it.
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

    /// cfg80211 links each of its interfaces to a radio; netlink does not say it in the messages of links.
    private static func isWireless(_ name: String) -> Bool {
        unsafe access("/sys/class/net/\(name)/phy80211", F_OK) == 0
    }
}

// Questions and answers.
extension RouteWatch {
    private func read(
        _ type: Int, headerBytes: Int, family: Int32, into mirror: inout KernelMirror, _ now: Instant
    ) throws(SystemError) {
        for _ in 0..<RouteWatch.maxReadings {
            sequence &+= 1
            let request = NetlinkRequest.everything(
                type, headerBytes: headerBytes, family: family, sequence: sequence)
            let answer = try ask(request, &mirror, now)
            // A machine without IPv6 does not know what is meant.
            guard [0, EOPNOTSUPP, EAFNOSUPPORT].contains(answer.code) else {
                throw SystemError(call: "recvfrom", code: answer.code)
            }
            if !answer.wasInterrupted { return }
        }
    }

    /// The kernel has the answer, or its next part, ready before a call returns.
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
