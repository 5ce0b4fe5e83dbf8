// Bounds the TCP connections of a client, of a network, of this machine, and of all other machines. Only counts; if a
// share is full, the server closes one of its connections to admit the new one.

import DNSWire

/// Invariant: each count is the number of connections admitted and not released; keys with count 0 are removed.
package struct ConnectionQuota {
    /// Bound of all connections; each costs a descriptor and some kilobytes.
    package static let maxConnections = 512
    /// Bound per remote address, so that one client can't take all connections. Local programs share the machine's
    /// addresses and have no such bound.
    static let maxPerClient = 128
    /// Bound per remote /24 (IPv4) or /56 (IPv6), for clients with many addresses.
    static let maxPerPrefix = 256

    /// A group of connections with a common bound.
    enum Share: Equatable {
        case client(Address)
        case prefix(AggregatePrefix)
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

    /// Bound of all connections; below `maxConnections` if the process may open few descriptors.
    private let limit: Int
    private(set) var count = 0
    private var fromElsewhere = 0
    private var ofClient: [Address: Int] = [:]
    private var ofPrefix: [AggregatePrefix: Int] = [:]

    init(limit: Int = maxConnections) {
        self.limit = limit
    }

    /// Returns the smallest full share for a new connection of this client; nil if there is room. If all connections
    /// are in use, this is the larger of the shares of local and remote clients. Each side can always get half, and may
    /// use the connections that the other side does not use.
    func fullShare(for client: Address) -> Share? {
        if let prefix = ConnectionQuota.prefix(of: client) {
            if ofClient[client, default: 0] >= min(ConnectionQuota.maxPerClient, limit / 4) { return .client(client) }
            if ofPrefix[prefix, default: 0] >= min(ConnectionQuota.maxPerPrefix, limit / 2) { return .prefix(prefix) }
        }
        guard count >= limit else { return nil }
        let newFromElsewhere = fromElsewhere + (client.isLoopback ? 0 : 1)
        return newFromElsewhere > count / 2 ? .elsewhere : .thisMachine
    }

    /// Counts a new connection of a client without a full share.
    mutating func admit(_ client: Address) {
        count += 1
        guard let prefix = ConnectionQuota.prefix(of: client) else { return }
        ofClient[client, default: 0] += 1
        ofPrefix[prefix, default: 0] += 1
        fromElsewhere += 1
    }

    /// Counts the end of an admitted connection.
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

    /// The client's /24 or /56; nil for loopback.
    private static func prefix(of client: Address) -> AggregatePrefix? {
        guard !client.isLoopback else { return nil }
        return AggregatePrefix(of: client)
    }
}
