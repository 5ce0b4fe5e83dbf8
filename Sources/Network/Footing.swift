// What connections stand on: the network, and the address of ours that they come from. A value; compares two looks at
// the tables so that what has only been forgotten meanwhile is not taken for a change.

import DNSWire

struct Footing: Equatable {
    let identity: NetworkIdentity
    /// Of IPv4; addresses of IPv6 come and go by design (RFC 8981), and old ones stay good for a while.
    let source: Address?

    static let isolated = Footing(identity: .isolated, source: nil)

    private init(identity: NetworkIdentity, source: Address?) {
        self.identity = identity
        self.source = source
    }

    /// Nil when nothing leads out.
    ///
    /// - Parameters:
    ///   - before: of the last look, if there was a way out then.
    ///   - lastSource: is kept as long as the interface has it, whatever else it gets.
    init?(_ routed: RoutedLinks, searchDomains: [String], before: Footing?, lastSource: Address?) {
        guard let wayOut = routed.wayOut else { return nil }
        let seen = NetworkIdentity(routed, wayOut, searchDomains: searchDomains)
        // The kernel forgets who does not talk: that makes him nobody else.
        let isForgotten = seen.gatewayHardware == nil && before?.identity.hasSameWayOut(as: seen) ?? false
        identity = isForgotten ? seen.with(gatewayHardware: before?.identity.gatewayHardware) : seen

        let addresses = wayOut.addresses.map(\.address).filter { $0.recordType == .a }
        source = addresses.first { $0 == (before?.source ?? lastSource) } ?? addresses.first
    }

    func isCompleted(by other: Footing) -> Bool {
        source == other.source && identity.isCompleted(by: other.identity)
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
