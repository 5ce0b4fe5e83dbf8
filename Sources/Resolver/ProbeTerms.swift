// What may be probed for a name, as far as the operator says.

import DNSWire

/// The settings, for all names.
package struct ProbePolicy: Equatable, Sendable {
    package var isEnabled = false
    /// One or more.
    package var ports: [UInt16] = [443]

    package init() {}
}

/// The same for one name, its rule counted in.
struct ProbeTerms: Equatable {
    enum Scope {
        case nothing
        /// Addresses of the public Internet only: a name must not make us knock at doors of the local network.
        case publicAddresses
        /// A rule says so.
        case allAddresses
    }

    let scope: Scope
    let ports: [UInt16]
    /// NAT64 prefixes of the network in use: what they translate to a private IPv4 address is private.
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
