// Network identity and the local address that connections use. A value. Facts that the kernel has merely dropped since
// the last read of the tables still count.

import DNSWire

struct NetworkAttachment: Equatable {
    let identity: NetworkIdentity
    /// The interface with the default route.
    private let link: Int?
    /// The local address, IPv4 only: IPv6 addresses change by design (RFC 8981), and old ones stay valid for a while.
    let source: Address?

    static let isolated = NetworkAttachment()

    private init() {
        identity = .isolated
        link = nil
        source = nil
    }

    /// Creates the attachment; nil without a default route.
    ///
    /// - Parameters:
    ///   - before: the attachment at the last read, if there was a default route then.
    ///   - inForce: the attachment of the network in force.
    init?(_ routed: RoutedLinks, searchDomains: [String], before: NetworkAttachment?, inForce: NetworkAttachment) {
        guard let wayOut = routed.wayOut else { return nil }
        let seen = NetworkIdentity(routed, wayOut, searchDomains: searchDomains)
        link = wayOut.link.index
        // The kernel drops idle neighbour entries. A missing neighbour entry does not mean a different gateway.
        let isForgotten =
            seen.gatewayHardware == nil && before?.link == link && before?.identity.hasSameWayOut(as: seen) ?? false
        identity = isForgotten ? seen.with(gatewayHardware: before?.identity.gatewayHardware) : seen

        // The previous address is kept as long as the interface has it, even if the interface gets others.
        let addresses = wayOut.addresses.map(\.address).filter { $0.recordType == .a }
        let last = [before ?? inForce, inForce].first { $0.identity.hasSameWayOut(as: seen) }?.source
        source = addresses.first { $0 == last } ?? addresses.first
    }

    func isCompleted(by other: NetworkAttachment) -> Bool {
        link == other.link && source == other.source && identity.isCompleted(by: other.identity)
    }

    func cause(after before: NetworkAttachment) -> NetworkCause {
        let (old, new) = (before.identity, identity)
        // Only the first network in force may have no route.
        guard old.kind != .none else { return .restored }
        guard old.hasSameWayOut(as: new), old.gatewayHardware == new.gatewayHardware else { return .route }
        if old.tunnels != new.tunnels || old.exits != new.exits { return .vpn }
        return old.searchDomains == new.searchDomains ? .route : .domain
    }
}

extension NetworkIdentity {
    /// Compares routes and addresses only.
    fileprivate func hasSameWayOut(as other: NetworkIdentity) -> Bool {
        kind == other.kind && gateway == other.gateway && prefix == other.prefix
    }
}
