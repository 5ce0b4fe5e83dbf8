// A completed network change: the new network, the cause, and since when it has been usable.

package import DNSWire

package struct NetworkChange: Equatable, Sendable {
    /// The new identity, which may equal the previous one after a sleep or an interruption.
    package let identity: NetworkIdentity
    package let cause: NetworkCause
    /// When the first default route of this change appeared. Clients wait from here on.
    package let usableSince: Instant
    /// The other carrier; nil unless it is the cause.
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
    /// Another interface, gateway, prefix or local address is in use.
    case route
    /// The default route is the same, with another VPN or none.
    case vpn
    /// The default route was missing at the start, or for longer than `NetworkBounds.gap`.
    case restored
    case wake
    /// Only the search domains differ.
    case domain
    /// The route is the same, and leads to another carrier (`ExitReports`).
    case carrier
}
