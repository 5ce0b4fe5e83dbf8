// Notices by the kernel's notifications (nfnetlink) that other programs made or deleted sets or removed elements.

import CNftables
import DNSWire
import Glibc
import LinuxIO

final class RulesetMonitor {
    let descriptor: FileDescriptor
    private static let bufferBytes = 64 * 1024
    /// The rest comes with the next wake-up.
    private static let readsAtOnce = 64

    init() throws(HelperFailure) {
        let raw = cnftables_monitor()
        guard raw >= 0 else {
            let error = SystemError(call: "bind", code: -raw)
            throw HelperFailure("changes of the ruleset can't be watched: \(error); it needs CAP_NET_ADMIN")
        }
        descriptor = FileDescriptor(owning: raw)
    }

    /// Reads what has come.
    ///
    /// - Parameter port: the kernel marks changes of this process with it.
    /// - Returns: whether one of the sets was made or deleted, or lost an element otherwise than by its time-out.
    func takeChanges(of sets: Set<AddressSet>, without port: UInt32) -> Bool {
        var isChanged = false
        for _ in 0..<RulesetMonitor.readsAtOnce {
            do throws(SystemError) {
                let raw = descriptor.raw
                let bytes = try unsafe SystemCall.bytes("recv", maxBytes: RulesetMonitor.bufferBytes) {
                    unsafe recv(raw, $0, $1, 0)
                }
                guard let bytes, !bytes.isEmpty else { return isChanged }
                if RulesetChanges.concern(sets, in: bytes, without: port) { isChanged = true }
            } catch {
                // ENOBUFS: messages were lost.
                isChanged = true
            }
        }
        return isChanged
    }
}

/// Reads netlink messages about the ruleset (linux/netfilter/nf_tables.h).
enum RulesetChanges {
    private static let headerBytes = 16
    private static let nfnetlinkBytes = 4
    private static let subsystem: UInt16 = 10  // NFNL_SUBSYS_NFTABLES
    private static let newSet: UInt16 = 9
    private static let deletedSet: UInt16 = 11
    private static let deletedElements: UInt16 = 14
    private static let tableAttribute: UInt16 = 1
    private static let setAttribute: UInt16 = 2

    static func concern(_ sets: Set<AddressSet>, in bytes: [UInt8], without port: UInt32) -> Bool {
        var rest = bytes[...]
        while rest.count >= headerBytes {
            let length = Int(number(rest, at: 0, count: 4))
            guard length >= headerBytes, length <= rest.count else { return false }
            let message = rest.prefix(length)
            rest = rest.dropFirst((length + 3) / 4 * 4)
            let type = UInt16(truncatingIfNeeded: number(message, at: 4, count: 2))
            guard type >> 8 == subsystem, [newSet, deletedSet, deletedElements].contains(type & 0xFF) else { continue }
            // Without a port, all changes count.
            guard port == 0 || number(message, at: 12, count: 4) != port else { continue }
            if let set = set(of: message.dropFirst(headerBytes)), sets.contains(set) { return true }
        }
        return false
    }

    private static func set(of message: ArraySlice<UInt8>) -> AddressSet? {
        guard message.count >= nfnetlinkBytes, let family = family(message[message.startIndex]) else { return nil }
        var names: [UInt16: String] = [:]
        var rest = message.dropFirst(nfnetlinkBytes)
        while rest.count >= 4 {
            let length = Int(number(rest, at: 0, count: 2))
            guard length >= 4, length <= rest.count else { break }
            let type = UInt16(truncatingIfNeeded: number(rest, at: 2, count: 2)) & 0x3FFF
            if type == tableAttribute || type == setAttribute {
                names[type] = String(decoding: rest.prefix(length).dropFirst(4).prefix { $0 != 0 }, as: UTF8.self)
            }
            rest = rest.dropFirst((length + 3) / 4 * 4)
        }
        guard let table = names[tableAttribute], let set = names[setAttribute] else { return nil }
        return AddressSet("\(family.rawValue)#\(table)#\(set)")
    }

    /// NFPROTO_INET, NFPROTO_IPV4, NFPROTO_IPV6.
    private static func family(_ number: UInt8) -> AddressSet.Family? {
        switch number {
        case 1: .inet
        case 2: .ip
        case 10: .ip6
        default: nil
        }
    }

    /// Netlink has the byte order of the machine; all that Debian supports for Swift have the little end first.
    private static func number(_ bytes: ArraySlice<UInt8>, at offset: Int, count: Int) -> UInt32 {
        bytes.dropFirst(offset).prefix(count).reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }
}
