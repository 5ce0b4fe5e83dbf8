// Notices by the kernel's notifications (nfnetlink) that other programs made or deleted sets or removed elements.

import CLinux
import DNSWire
import Glibc
import LinuxIO

final class RulesetMonitor {
    private let socket: NetlinkSocket
    /// Size of the receive buffer. It holds the notifications of a request with the most elements, up to three for
    /// each. If some are lost, the daemon walks through its cache without need.
    private static let receiveBufferBytes: Int32 = 4 << 20
    /// Reads per wake-up; the rest comes with the next one.
    private static let readsAtOnce = 64

    init() throws(HelperFailure) {
        do throws(SystemError) {
            socket = try NetlinkSocket(
                subsystem: NETLINK_NETFILTER, groups: [NFNLGRP_NFTABLES.rawValue],
                receiveBufferBytes: RulesetMonitor.receiveBufferBytes)
        } catch {
            throw HelperFailure("changes of the ruleset can't be watched: \(error); it needs CAP_NET_ADMIN")
        }
    }

    var descriptor: Int32 { socket.descriptor }

    /// Reads the pending notifications.
    ///
    /// - Parameter port: the kernel marks changes of this process with it.
    /// - Returns: whether one of the sets was made or deleted, or lost an element otherwise than by its time-out.
    func takeChanges(of sets: Set<AddressSet>, without port: UInt32) -> Bool {
        var isChanged = false
        for _ in 0..<RulesetMonitor.readsAtOnce {
            let outcome = try? socket.receive { bytes in
                if SetReports.concern(sets, in: bytes, without: port) { isChanged = true }
            }
            switch outcome {
            case .received: continue
            case .nothing: return isChanged
            case .lost, nil: isChanged = true
            }
        }
        return isChanged
    }
}
