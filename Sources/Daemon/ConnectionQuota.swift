// Whose TCP connections are accepted while they are few: a share for each client, for each network of clients, and for
// this machine itself. Counts, and knows no sockets.

import DNSWire

/// Invariant: each count is that of the connections that were admitted and not released; none is kept at 0.
struct ConnectionQuota {
    /// In all; one costs a descriptor and some kilobytes.
    static let maxConnections = 512
    /// From one address, so that one client can't take them all.
    static let maxPerClient = 128
    /// From one /24 (IPv4) or /56 (IPv6) elsewhere: who has many addresses can't either.
    static let maxPerPrefix = 256
    /// From elsewhere together: this machine's own programs always find room.
    static let maxFromElsewhere = 448

    private(set) var count = 0
    private var fromElsewhere = 0
    private var ofClient: [Address: Int] = [:]
    private var ofPrefix: [Neighbourhood: Int] = [:]

    /// One more connection of this client, or false.
    mutating func admit(_ client: Address) -> Bool {
        guard count < ConnectionQuota.maxConnections, ofClient[client, default: 0] < ConnectionQuota.maxPerClient else {
            return false
        }
        if let prefix = ConnectionQuota.prefix(of: client) {
            guard fromElsewhere < ConnectionQuota.maxFromElsewhere,
                ofPrefix[prefix, default: 0] < ConnectionQuota.maxPerPrefix
            else { return false }
            ofPrefix[prefix, default: 0] += 1
            fromElsewhere += 1
        }
        ofClient[client, default: 0] += 1
        count += 1
        return true
    }

    /// The end of one that was admitted.
    mutating func release(_ client: Address) {
        count -= 1
        ConnectionQuota.decrease(&ofClient, client)
        guard let prefix = ConnectionQuota.prefix(of: client) else { return }
        fromElsewhere -= 1
        ConnectionQuota.decrease(&ofPrefix, prefix)
    }

    private static func decrease<Key>(_ counts: inout [Key: Int], _ key: Key) {
        let left = counts[key, default: 1] - 1
        counts[key] = left == 0 ? nil : left
    }

    /// Nil for this machine.
    private static func prefix(of client: Address) -> Neighbourhood? {
        guard !client.isLoopback else { return nil }
        return Neighbourhood(of: client)
    }
}
