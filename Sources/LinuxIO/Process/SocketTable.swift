// Parses the kernel's lists of sockets (/proc/net/udp and similar; proc_net_tcp in the kernel's documentation).

import DNSWire

enum SocketTable {
    struct Entry: Equatable {
        let address: SocketAddress
        /// The state of the socket: TCP_LISTEN is 0x0A; UDP sockets have 7.
        let state: UInt8
        let inode: UInt64
        /// Datagrams dropped because the buffer was full; 0 for streams.
        var lost: UInt64 = 0
    }

    /// Bound on a list. A busy server has about 100,000 connections of 150 bytes a line.
    static let maxBytes = 16 << 20
    private static let unconnected: UInt8 = 7

    static let listening: UInt8 = 0x0A

    /// Returns the sockets of a list. Ignores lines that it cannot parse, such as the heading.
    static func parse(_ text: String) -> [Entry] {
        text.split(separator: "\n").compactMap(entry)
    }

    /// Parses a line: `sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode`, and for datagrams
    /// also `ref pointer drops`.
    private static func entry(_ line: Substring) -> Entry? {
        let fields = line.split(separator: " ")
        guard fields.count >= 10, let address = address(fields[1]), let state = UInt8(fields[3], radix: 16),
            let inode = UInt64(fields[9])
        else { return nil }
        let lost = state == unconnected && fields.count >= 13 ? UInt64(fields[12]) ?? 0 : 0
        return Entry(address: address, state: state, inode: inode, lost: lost)
    }

    /// Parses `0100007F:0035`: 32-bit words in memory order, printed as native numbers; then the port.
    private static func address(_ text: Substring) -> SocketAddress? {
        let parts = text.split(separator: ":")
        guard parts.count == 2, parts[1].utf8.count == 4, let port = UInt16(parts[1], radix: 16) else { return nil }
        guard [8, 32].contains(parts[0].utf8.count) else { return nil }
        var bytes: [UInt8] = []
        var digits = parts[0]
        while !digits.isEmpty {
            guard let word = UInt32(digits.prefix(8), radix: 16) else { return nil }
            let value = UInt32(bigEndian: word)
            bytes += stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: value >> UInt32($0)) }
            digits = digits.dropFirst(8)
        }
        return Address(bytes: bytes).map { SocketAddress($0, port: port) }
    }
}
