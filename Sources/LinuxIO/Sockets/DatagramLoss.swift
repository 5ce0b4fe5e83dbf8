// Number of datagrams that the kernel dropped because a receive buffer was full.

package import DNSWire

package enum DatagramLoss {
    /// Returns the drops of the sockets bound to these addresses, since they were opened; 0 if the kernel does not
    /// report them.
    package static func count(at places: [SocketAddress]) -> UInt64 {
        let entries = ["/proc/net/udp", "/proc/net/udp6"].flatMap { table in
            let bytes = (try? TextFile.read(table, maxBytes: SocketTable.maxBytes)) ?? []
            return SocketTable.parse(String(decoding: bytes, as: UTF8.self))
        }
        return entries.filter { places.contains($0.address) }.reduce(0) { $0 &+ $1.lost }
    }
}
