// Counts of the daemon's own checks of nameservers that came back to it. Serving threads have counted them as queries
// of clients.

struct ReturnedChecks {
    private(set) var udp: UInt64 = 0
    private(set) var tcp: UInt64 = 0

    var total: UInt64 { udp + tcp }

    mutating func add(_ path: Client.Path) {
        switch path {
        case .datagram: udp += 1
        case .stream: tcp += 1
        }
    }
}
