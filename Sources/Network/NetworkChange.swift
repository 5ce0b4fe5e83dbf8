// A completed network change: the network now in use, the cause, and since when it was usable.

package struct NetworkChange: Equatable, Sendable {
    /// May equal the previous identity, after a sleep or a gap.
    package let identity: NetworkIdentity
    package let cause: NetworkCause
    /// When the first route out of this change appeared: from here on clients wait.
    package let usableSince: Instant

    package init(identity: NetworkIdentity, cause: NetworkCause, usableSince: Instant) {
        self.identity = identity
        self.cause = cause
        self.usableSince = usableSince
    }
}

/// Cause, for statistics. If several apply, the first of wake, restored, route, vpn, domain counts.
package enum NetworkCause: String, CaseIterable, Sendable {
    /// Another interface, gateway, prefix or local address.
    case route
    /// The same route out, and another VPN or none.
    case vpn
    /// The route out was missing for longer than a moment.
    case restored
    case wake
    /// Only the search domains differ.
    case domain
}
