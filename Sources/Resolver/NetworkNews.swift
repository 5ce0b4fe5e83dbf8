// What the resolver is told about networks. Which one is in use is concluded elsewhere.

/// Tells one network from another.
package struct NetworkKey: Hashable, Sendable {
    package let number: UInt32

    package init(_ number: UInt32) {
        self.number = number
    }
}

package enum NetworkNews: Equatable, Sendable {
    /// What routes traffic out is changing: what comes now may be of one network or of the other. `unchanged` or
    /// `changed` follows within a second.
    case unsettled
    /// It was nothing after all.
    case unchanged
    /// Another network is in use, or the same one after a sleep or a gap. Every request on its way is lost; sockets
    /// and connections are gone already.
    case changed(NetworkKey)
    /// One too many is known: nothing of it is needed any more.
    case forgotten(NetworkKey)
    /// The providers to none of whose addresses a route leads.
    case unreachable(Set<ProviderID>)
}
