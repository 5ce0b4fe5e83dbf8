// Ports that the service manager has bound for us, in the place of the settings' addresses: one UDP socket for each
// address, which all threads read, since more than one would have to be of the same user.

import LinuxIO

extension PortBinding {
    /// - Throws: `StartFailure` with a line for each socket of no use, and for each address with one transport only.
    init(_ inherited: InheritedSockets, threads: Int) throws(StartFailure) {
        let complaints =
            inherited.unusable.map { "the service manager hands over a socket of no use: \($0)" }
            + PortBinding.halves(
                datagrams: inherited.datagrams.map(\.address), listeners: inherited.listeners.map(\.address))
        guard complaints.isEmpty else { throw StartFailure(lines: complaints) }
        addresses = inherited.listeners.map(\.address)
        datagrams = [[DatagramSocket]](repeating: inherited.datagrams.map(\.socket), count: threads)
        listeners = inherited.listeners.map(\.listener)
        leftOut = []
        areHandedOver = true
    }

    /// Who asks over UDP and gets a cut answer asks again over TCP, so that neither is of use alone.
    static func halves(datagrams: [SocketAddress], listeners: [SocketAddress]) -> [String] {
        let lacksTCP = datagrams.filter { !listeners.contains($0) }
        let lacksUDP = listeners.filter { !datagrams.contains($0) }
        return lacksTCP.map { half($0, has: "UDP", missing: "ListenStream") }
            + lacksUDP.map { half($0, has: "TCP", missing: "ListenDatagram") }
    }

    private static func half(_ address: SocketAddress, has: String, missing: String) -> String {
        "the service manager hands over \(address) for \(has) only; add \(missing)=\(address) to the .socket unit"
    }
}
