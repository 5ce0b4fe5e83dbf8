// The operator's settings for probes, in general and per name.

package import DNSWire

/// Probe settings for all names.
package struct ProbePolicy: Equatable, Sendable {
    package var isEnabled = false
    /// The ports to probe, at least one.
    package var ports: [UInt16] = [443]

    package init() {}
}

/// Probe settings for one name, its rule included.
package struct ProbeTerms: Equatable, Sendable {
    package enum Scope: Sendable {
        case nothing
        /// Public addresses only: a name must not cause probes of the local network.
        case publicAddresses
        /// All addresses, because a rule says so.
        case allAddresses
    }

    package let scope: Scope
    package let ports: [UInt16]
    package let method: ProbeMethod
    /// With `systemFirst`, verdicts decide whether the system resolver's answer is accepted.
    let order: UpstreamOrder
    /// NAT64 prefixes of the current network. An address that embeds a private IPv4 address is private.
    let nat64Prefixes: [NAT64Prefix]
    /// Ranges of addresses to prefer; none if nothing is verified.
    let preferred: [Prefix]

    init(
        _ policy: ProbePolicy, _ rule: RuleTerms, order: UpstreamOrder = .providersFirst,
        nat64Prefixes: [NAT64Prefix] = []
    ) {
        self.order = order
        self.nat64Prefixes = nat64Prefixes
        switch rule.probe {
        case nil: scope = policy.isEnabled ? .publicAddresses : .nothing
        case true?: scope = policy.isEnabled ? .allAddresses : .nothing
        case false?: scope = .nothing
        }
        preferred = scope == .nothing || rule.connect != nil ? [] : rule.preferAddresses ?? []
        method = rule.connect == nil ? .handshake : .connection
        ports = rule.connect.map { [$0] } ?? rule.probePorts ?? policy.ports
    }
}

extension ProbeTerms {
    /// The terms of a name without an answer.
    static let none = ProbeTerms(ProbePolicy(), RuleTerms())

    /// The probes of an address, one for each port.
    func targets(_ name: Name, _ address: Address) -> [ProbeTarget] {
        ports.map { ProbeTarget(name, address, port: $0, by: method) }
    }
}

package enum ProbeMethod: Hashable, Sendable {
    /// A TLS handshake, which verifies the server.
    case handshake
    /// A TCP connection only, which measures the time to the server.
    case connection
}

package struct ProbeTarget: Hashable, Sendable {
    package let name: Name
    package let address: Address
    package let port: UInt16
    package let method: ProbeMethod

    package init(_ name: Name, _ address: Address, port: UInt16, by method: ProbeMethod = .handshake) {
        self.name = name
        self.address = address
        self.port = port
        self.method = method
    }
}
