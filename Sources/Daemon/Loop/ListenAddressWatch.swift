// Which listen addresses the machine has. They may come after the start, by DHCP, and go again.

import DNSWire
import LinuxIO

struct ListenAddressWatch {
    private let addresses: [SocketAddress]
    private var missing: [SocketAddress] = []
    /// `NetworkMonitor.routeChanges` when the addresses were last read; nil: never.
    private var routeChanges: Int?

    init(_ addresses: [SocketAddress]) {
        self.addresses = addresses
    }

    /// Returns what has changed since the last call.
    ///
    /// - Parameter routeChanges: `NetworkMonitor.routeChanges`; the addresses are read only if it has changed.
    mutating func news(routeChanges: Int) -> [LogEvent] {
        guard routeChanges != self.routeChanges else { return [] }
        self.routeChanges = routeChanges
        let before = missing
        missing = Interfaces.missing(of: addresses)
        return missing.filter { !before.contains($0) }.map { .listenAddress($0, isPresent: false) }
            + before.filter { !missing.contains($0) }.map { .listenAddress($0, isPresent: true) }
    }
}
