// A completed network change: the new network, the cause, and since when it has been usable.

package import DNSWire

package struct NetworkChange: Equatable, Sendable {
    /// May equal the previous identity, after a sleep or an interruption.
    package let identity: NetworkIdentity
    package let cause: NetworkCause
    /// When the first default route of this change appeared. Clients wait from here on.
    package let usableSince: Instant
    /// Nil unless the carrier is the cause.
    package let carrier: OtherCarrier?

    package init(identity: NetworkIdentity, cause: NetworkCause, usableSince: Instant, carrier: OtherCarrier? = nil) {
        self.identity = identity
        self.cause = cause
        self.usableSince = usableSince
        self.carrier = carrier
    }
}

/// Cause of a change, for statistics. If several apply, the first of wake, restored, route, vpn, domain counts.
package enum NetworkCause: String, CaseIterable, Sendable {
    /// Another interface, gateway, prefix or local address.
    case route
    /// The same default route, and another VPN or none.
    case vpn
    /// The default route was missing at the start, or for longer than `NetworkBounds.gap`.
    case restored
    case wake
    /// Only the search domains differ.
    case domain
    /// The same route, behind which another carrier was found (`ExitReports`).
    case carrier
}
