// Network events for the resolver. The caller determines the current network.

package import DNSWire

package enum NetworkEvent: Equatable, Sendable {
    /// The routing is changing, and replies may belong to either network. `unchanged` or `changed` follows within a
    /// second.
    case changing
    /// The network did not change.
    case unchanged
    /// Another network is in use, or the same one after a sleep or a gap. All requests in flight are lost. Sockets and
    /// connections are already closed.
    case changed(NetworkID)
    /// The network was evicted, and its state is no longer needed.
    case forgotten(NetworkID)
    /// The providers without a route to any of their addresses.
    case unreachable(Set<RankedID>)
}
