// What connections stand on: the network, and the address of ours that they come from. A value; compares two looks at
// the tables so that what has only been forgotten meanwhile is not taken for a change.

import DNSWire

struct Footing: Equatable {
    let identity: NetworkIdentity
    /// The interface that leads out.
    private let link: Int?
    /// Of IPv4; addresses of IPv6 come and go by design (RFC 8981), and old ones stay good for a while.
    let source: Address?

    static let isolated = Footing()

    private init() {
        identity = .isolated
        link = nil
        source = nil
    }

    /// Nil when nothing leads out.
    ///
    /// - Parameters:
    ///   - before: of the last look, if there was a way out then.
    ///   - inForce: of the epoch.
    init?(_ routed: RoutedLinks, searchDomains: [String], before: Footing?, inForce: Footing) {
        guard let wayOut = routed.wayOut else { return nil }
        let seen = NetworkIdentity(routed, wayOut, searchDomains: searchDomains)
        link = wayOut.link.index
        // The kernel forgets who does not talk: that makes him nobody else.
        let isForgotten =
            seen.gatewayHardware == nil && before?.link == link && before?.identity.hasSameWayOut(as: seen) ?? false
        identity = isForgotten ? seen.with(gatewayHardware: before?.identity.gatewayHardware) : seen

        // An address is kept as long as the interface has it, whatever else the interface gets.
        let addresses = wayOut.addresses.map(\.address).filter { $0.recordType == .a }
        let last = [before ?? inForce, inForce].first { $0.identity.hasSameWayOut(as: seen) }?.source
        source = addresses.first { $0 == last } ?? addresses.first
    }

    func isCompleted(by other: Footing) -> Bool {
        link == other.link && source == other.source && identity.isCompleted(by: other.identity)
    }

    func cause(after before: Footing) -> NetworkCause {
        let (old, new) = (before.identity, identity)
        guard old.hasSameWayOut(as: new), old.gatewayHardware == new.gatewayHardware else { return .route }
        if old.tunnels != new.tunnels || old.exits != new.exits { return .vpn }
        return old.searchDomains == new.searchDomains ? .route : .domain
    }
}

extension NetworkIdentity {
    /// As far as routes and addresses tell.
    fileprivate func hasSameWayOut(as other: NetworkIdentity) -> Bool {
        kind == other.kind && gateway == other.gateway && prefix == other.prefix
    }
}
