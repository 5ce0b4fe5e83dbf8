// How many datagrams found no room: the kernel counts them for each socket.

package enum DatagramLoss {
    /// Of the sockets that are bound to these places now, since they were opened; 0 where the kernel does not say.
    package static func count(at places: [SocketAddress]) -> UInt64 {
        let entries = ["/proc/net/udp", "/proc/net/udp6"].flatMap { table in
            let bytes = (try? TextFile.read(table, maxBytes: SocketTable.maxBytes)) ?? []
            return SocketTable.parse(String(decoding: bytes, as: UTF8.self))
        }
        return entries.filter { places.contains($0.address) }.reduce(0) { $0 &+ $1.lost }
    }
}
