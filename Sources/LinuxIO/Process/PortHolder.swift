// Names the process that holds a port. A hint for the operator only, because the holder may change meanwhile.

package import DNSWire
import Glibc

package enum PortHolder {
    package enum Transport: String, Sendable {
        case udp, tcp
    }

    /// Returns the holder of a port as `unbound (pid 123)`; nil if no visible process holds it (only root sees all).
    package static func describe(_ address: SocketAddress, _ transport: Transport) -> String? {
        let inodes = conflictingInodes(address, transport)
        guard !inodes.isEmpty else { return nil }
        for process in Directory.names(in: "/proc") where process.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) {
            guard holds(process, anyOf: inodes) else { continue }
            return "\(name(of: process)) (pid \(process))"
        }
        return nil
    }

    /// Returns whether a socket prevents a bind: the same port, with the same address or a wildcard on either side. An
    /// IPv6 wildcard conflicts with IPv4 too, because it may serve both.
    static func conflicts(_ entry: SocketTable.Entry, with requested: SocketAddress, _ transport: Transport) -> Bool {
        guard entry.address.port == requested.port, transport == .udp || entry.state == SocketTable.listening else {
            return false
        }
        if entry.address.isIPv6 == requested.isIPv6 {
            return entry.address.address == requested.address || entry.address.isWildcard || requested.isWildcard
        }
        return entry.address.isIPv6 && entry.address.isWildcard
    }

    private static func conflictingInodes(_ address: SocketAddress, _ transport: Transport) -> Set<String> {
        var links: Set<String> = []
        for table in ["/proc/net/\(transport)", "/proc/net/\(transport)6"] {
            guard let bytes = try? TextFile.read(table, maxBytes: SocketTable.maxBytes) else { continue }
            for entry in SocketTable.parse(String(decoding: bytes, as: UTF8.self))
            where conflicts(entry, with: address, transport) {
                links.insert("socket:[\(entry.inode)]")
            }
        }
        return links
    }

    private static func holds(_ process: String, anyOf links: Set<String>) -> Bool {
        let directory = "/proc/\(process)/fd"
        return Directory.names(in: directory).contains { name in
            SymbolicLinks.target(ofLinkAt: "\(directory)/\(name)").map(links.contains) ?? false
        }
    }

    private static func name(of process: String) -> String {
        let comm = (try? TextFile.read("/proc/\(process)/comm", maxBytes: 64)) ?? []
        return comm.isEmpty ? "?" : String(decoding: comm.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }
}
