// The client, the domain and the parent name that a place counts for.

package import DNSWire
import PublicSuffix

/// A client for the purpose of sharing: its address, as for `client-rate`.
package struct ClientID: Hashable, Sendable {
    private let high: UInt64
    private let low: UInt64
    private let isIPv6: Bool

    package init(_ address: Address) {
        switch address.mapped ?? address {
        case .v4(let value): (high, low, isIPv6) = (0, UInt64(value), false)
        case .v6(let high, let low): (self.high, self.low, isIPv6) = (high, low, true)
        }
    }

    /// The IPv6 /64, in which one host may use any address: its clients count together before each counts alone. Nil
    /// for IPv4 and loopback.
    var network: UInt64? { isIPv6 && (high, low) != (0, 1) ? high : nil }
}

package struct ShareHolder: Hashable, Sendable {
    /// A step of the path from all holders to one holder.
    enum Part: Hashable, Sendable {
        case root
        case network(UInt64)
        case client(ClientID?)
        case name(Name)
    }

    /// The registrable domain of the name.
    package let domain: Name
    /// The name without its first label, or the domain itself: names with one parent mostly have the same nameservers.
    package let parent: Name
    /// The client; nil for the daemon's own requests.
    package let client: ClientID?
    /// The name was answered lately, so it does not hang.
    package let isKnown: Bool

    package init(_ name: Name, _ client: ClientID?, isKnown: Bool = false) {
        self.init(name, in: name.registrableDomain, client, isKnown: isKnown)
    }

    /// - Parameter domain: the registrable domain of the name.
    init(_ name: Name, in domain: Name, _ client: ClientID?, isKnown: Bool) {
        self.domain = domain
        parent = ShareHolder.parent(of: name, in: domain)
        self.client = client
        self.isKnown = isKnown
    }

    static func parent(of name: Name, in domain: Name) -> Name {
        let isChild = name.wire.count <= 1 + Int(name.wire[0]) + domain.wire.count
        return isChild ? domain : name.parent ?? domain
    }
}
