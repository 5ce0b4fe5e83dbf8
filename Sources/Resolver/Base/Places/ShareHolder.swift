// The client and the name that a place counts for, with the name's domain and parent.

package import DNSWire
import PublicSuffix
import Synchronization

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

/// A class, so that all requests for a question share it.
package final class ShareHolder: Sendable {
    /// A step of the path from all holders to one holder.
    enum Part: Hashable, Sendable {
        case root
        case network(UInt64)
        case client(ClientID?)
        case name(Name)
    }

    package let name: Name
    /// The client; nil for the daemon's own requests.
    package let client: ClientID?
    /// The name was answered lately, so it does not hang.
    package let isKnown: Bool
    /// Derived when it is needed first: only holders that compete are compared by it.
    private let place = AtomicLazyReference<PlaceOfName>()

    package init(_ name: Name, _ client: ClientID?, isKnown: Bool = false) {
        (self.name, self.client, self.isKnown) = (name, client, isKnown)
    }

    /// The registrable domain of the name.
    package var domain: Name { placeOfName.domain }

    /// The name without its first label, or the domain itself: names with one parent mostly have the same nameservers.
    package var parent: Name { placeOfName.parent }

    private var placeOfName: PlaceOfName { place.load() ?? place.storeIfNil(PlaceOfName(name)) }

    private final class PlaceOfName: Sendable {
        let domain: Name
        let parent: Name

        init(_ name: Name) {
            domain = name.registrableDomain
            parent = ShareHolder.parent(of: name, in: domain)
        }
    }

    static func parent(of name: Name, in domain: Name) -> Name {
        let isChild = name.wire.count <= 1 + Int(name.wire[0]) + domain.wire.count
        return isChild ? domain : name.parent ?? domain
    }
}

extension ShareHolder: Equatable {
    package static func == (left: ShareHolder, right: ShareHolder) -> Bool {
        left === right || left.name == right.name && left.client == right.client && left.isKnown == right.isKnown
    }
}
