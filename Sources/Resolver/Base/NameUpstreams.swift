// Which upstreams a name may be asked at.

/// The upstreams that may be asked for a name.
package enum NameUpstreams: Hashable, Sendable {
    /// The providers without names of their own, and the system resolver if they fail.
    case providers
    /// The accounts that the name belongs to; then, unless exclusive, the other providers; the system resolver if they
    /// fail.
    case owners([ProviderID], isExclusive: Bool)
    /// One provider, and the system resolver if it fails.
    case provider(ProviderID)
    /// One of the operator's nameservers, and nothing else.
    case nameserver(ProviderID)
    case system

    /// Whether lookups of the name may ask the provider.
    func include(_ provider: ProviderTraits) -> Bool {
        switch self {
        case .providers: !provider.hasOwnNames
        case .owners(let owners, let isExclusive):
            owners.contains(provider.id) || !isExclusive && !provider.hasOwnNames
        case .provider(let only), .nameserver(let only): provider.id == only
        case .system: false
        }
    }

    /// Whether shadow providers may be asked for the name.
    var allowsComparison: Bool {
        switch self {
        case .providers: true
        case .owners(_, let isExclusive): !isExclusive
        case .provider, .nameserver, .system: false
        }
    }

    /// Whether lookups of the name measure the providers that they may ask.
    var allowsMeasurement: Bool {
        switch self {
        case .providers, .owners: true
        case .provider, .nameserver, .system: false
        }
    }

    /// The name goes to the operator's nameserver, also if it is a special name or providers are switched off.
    package var isNameserver: Bool { if case .nameserver = self { true } else { false } }

    func isOwner(_ provider: ProviderID) -> Bool {
        if case .owners(let owners, _) = self { owners.contains(provider) } else { false }
    }
}
