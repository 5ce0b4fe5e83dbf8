// A change of the network that is over: which one is in use now, why, and since when it could be used.

package struct NetworkChange: Equatable, Sendable {
    /// May be the same as before: after a sleep or a gap.
    package let identity: NetworkIdentity
    package let cause: NetworkCause
    /// When the first route out of this change was there: from here on a client waits.
    package let usableSince: Instant

    package init(identity: NetworkIdentity, cause: NetworkCause, usableSince: Instant) {
        self.identity = identity
        self.cause = cause
        self.usableSince = usableSince
    }
}

/// Words for statistics. Where several hold, the first of wake, restored, route, vpn, domain.
package enum NetworkCause: String, CaseIterable, Sendable {
    /// Another interface, gateway or prefix, or another address of our own.
    case route
    /// The same way out, and another VPN or none.
    case vpn
    /// There was no way out, for longer than a moment.
    case restored
    case wake
    /// Other search domains, and nothing else.
    case domain
}
