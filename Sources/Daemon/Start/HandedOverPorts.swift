// Uses sockets from the service manager in place of the settings' addresses. All threads read the one UDP socket of
// each address, because sockets with SO_REUSEPORT must all belong to the same user (socket(7)).

import DNSWire
import LinuxIO
import Serving

extension PortBinding {
    /// - Throws: `StartFailure` with a line for each unusable socket and for each address with only one transport.
    init(_ inherited: InheritedSockets, threads: Int) throws(StartFailure) {
        let complaints =
            inherited.unusable.map { "the service manager passed an unusable socket: \($0)" }
            + PortBinding.halves(
                datagrams: inherited.datagrams.map(\.address), listeners: inherited.listeners.map(\.address))
        guard complaints.isEmpty else { throw StartFailure(lines: complaints) }
        addresses = inherited.listeners.map(\.address)
        datagrams = [[DatagramSocket]](repeating: inherited.datagrams.map(\.socket), count: threads)
        listeners = inherited.listeners.map { StreamListener($0.listener) }
        leftOut = []
        areHandedOver = true
        areReused = false
    }

    /// Lists addresses with only one transport. Both are required, as clients retry truncated UDP answers over TCP.
    static func halves(datagrams: [SocketAddress], listeners: [SocketAddress]) -> [String] {
        let lacksTCP = datagrams.filter { !listeners.contains($0) }
        let lacksUDP = listeners.filter { !datagrams.contains($0) }
        return lacksTCP.map { half($0, has: "UDP", missing: "ListenStream") }
            + lacksUDP.map { half($0, has: "TCP", missing: "ListenDatagram") }
    }

    private static func half(_ address: SocketAddress, has: String, missing: String) -> String {
        "the service manager passed \(address) for \(has) only; add \(missing)=\(address) to the .socket unit"
    }
}
