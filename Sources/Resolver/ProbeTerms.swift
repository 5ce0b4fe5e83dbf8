// The operator's settings for probes, in general and per name.

import DNSWire

/// Probe settings for all names.
package struct ProbePolicy: Equatable, Sendable {
    package var isEnabled = false
    /// At least one port.
    package var ports: [UInt16] = [443]

    package init() {}
}

/// Probe settings for one name, its rule included.
struct ProbeTerms: Equatable {
    enum Scope {
        case nothing
        /// Public addresses only: a name must not cause probes of the local network.
        case publicAddresses
        /// A rule says so.
        case allAddresses
    }

    let scope: Scope
    let ports: [UInt16]
    /// NAT64 prefixes of the current network. An address that embeds a private IPv4 address is private.
    let translationPrefixes: [TranslationPrefix]

    init(_ policy: ProbePolicy, _ rule: Rule, translationPrefixes: [TranslationPrefix] = []) {
        self.translationPrefixes = translationPrefixes
        switch rule.probe {
        case nil: scope = policy.isEnabled ? .publicAddresses : .nothing
        case true?: scope = policy.isEnabled ? .allAddresses : .nothing
        case false?: scope = .nothing
        }
        ports = rule.probePorts.isEmpty ? policy.ports : rule.probePorts
    }
}
