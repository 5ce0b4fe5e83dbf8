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
    case nameserver(NameserverID)
    /// No upstream.
    case nothing(NoUpstream)
    case system

    /// The upstreams of a rule for links.
    package static let link = NameUpstreams.nothing(.noLink)

    /// Whether lookups of the name may ask the provider.
    func include(_ provider: ProviderTraits) -> Bool {
        switch self {
        case .providers: !provider.hasOwnNames
        case .owners(_, let isExclusive): isOwner(provider.id) || !isExclusive && !provider.hasOwnNames
        case .provider(let only): provider.id == .provider(only)
        case .nameserver(let only): provider.id == .nameserver(only)
        case .nothing, .system: false
        }
    }

    /// Whether shadow providers may be asked for the name.
    var allowsComparison: Bool {
        switch self {
        case .providers: true
        case .owners(_, let isExclusive): !isExclusive
        case .provider, .nameserver, .nothing, .system: false
        }
    }

    /// Whether lookups of the name measure the providers that they may ask.
    var allowsMeasurement: Bool {
        switch self {
        case .providers, .owners: true
        case .provider, .nameserver, .nothing, .system: false
        }
    }

    /// The name goes to the operator's nameserver or to no upstream, also if it is a special name or providers are
    /// switched off.
    package var areFinal: Bool {
        switch self {
        case .nameserver, .nothing: true
        case .providers, .owners, .provider, .system: false
        }
    }

    /// Lookups of the name ask no provider.
    var haveNoProvider: Bool { self == .system || areFinal }

    func isOwner(_ provider: RankedID) -> Bool {
        if case .owners(let owners, _) = self, case .provider(let id) = provider { owners.contains(id) } else { false }
    }

    /// Whether the settings name this one provider.
    func isOnly(_ provider: RankedID) -> Bool {
        if case .provider(let only) = self { provider == .provider(only) } else { false }
    }
}

/// The reason why a name has no upstream.
package enum NoUpstream: Hashable, Sendable {
    /// No link announces a domain of the name, or the link has ended.
    case noLink
    /// The settings or the operator keep the name from the providers of the client's view.
    case noneOfView
    /// The nameserver of the rule, or the view of the client, is not in the settings any more.
    case removed
}
