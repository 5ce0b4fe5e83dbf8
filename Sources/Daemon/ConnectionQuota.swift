// Shares of the TCP connections: one client's, one network's, and those of this machine and of all others. Counts, and
// knows no sockets. If a share is full, the server closes one of its connections and so makes room for the new one.

import DNSWire

/// Invariant: each count is that of the connections that were admitted and not released; none is kept at 0.
struct ConnectionQuota {
    /// Connections in all; one costs a descriptor and some kilobytes.
    static let maxConnections = 512
    /// From one address elsewhere, so that one client can't take them all. Programs of this machine share its
    /// addresses, so those have no such limit.
    static let maxPerClient = 128
    /// From one /24 (IPv4) or /56 (IPv6) elsewhere: a client with many addresses can't take all either.
    static let maxPerPrefix = 256

    /// Connections that are counted together.
    enum Share: Equatable {
        case client(Address)
        case prefix(Neighbourhood)
        case thisMachine
        case elsewhere

        func contains(_ client: Address) -> Bool {
            switch self {
            case .client(let address): client == address
            case .prefix(let prefix): ConnectionQuota.prefix(of: client) == prefix
            case .thisMachine: client.isLoopback
            case .elsewhere: !client.isLoopback
            }
        }
    }

    /// Of all connections; lower where the process may have few descriptors.
    private let limit: Int
    private(set) var count = 0
    private var fromElsewhere = 0
    private var ofClient: [Address: Int] = [:]
    private var ofPrefix: [Neighbourhood: Int] = [:]

    init(limit: Int = maxConnections) {
        self.limit = limit
    }

    /// Returns the share that has no room for one more connection of this client, the smallest first; nil: there is
    /// room. If all places are taken, the larger one of this machine's share and of that of all others has to give
    /// one: each side is sure of a half, and may have all that the other leaves.
    func fullShare(for client: Address) -> Share? {
        if let prefix = ConnectionQuota.prefix(of: client) {
            if ofClient[client, default: 0] >= min(ConnectionQuota.maxPerClient, limit / 4) { return .client(client) }
            if ofPrefix[prefix, default: 0] >= min(ConnectionQuota.maxPerPrefix, limit / 2) { return .prefix(prefix) }
        }
        guard count >= limit else { return nil }
        let newFromElsewhere = fromElsewhere + (client.isLoopback ? 0 : 1)
        return newFromElsewhere > count / 2 ? .elsewhere : .thisMachine
    }

    /// One more connection of a client for which no share is full.
    mutating func admit(_ client: Address) {
        count += 1
        guard let prefix = ConnectionQuota.prefix(of: client) else { return }
        ofClient[client, default: 0] += 1
        ofPrefix[prefix, default: 0] += 1
        fromElsewhere += 1
    }

    /// The end of one that was admitted.
    mutating func release(_ client: Address) {
        count -= 1
        guard let prefix = ConnectionQuota.prefix(of: client) else { return }
        ConnectionQuota.decrease(&ofClient, client)
        ConnectionQuota.decrease(&ofPrefix, prefix)
        fromElsewhere -= 1
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
