// The upstreams that can be asked, and the sources of answers.

import DNSWire

package enum Upstream: Hashable, Sendable {
    case provider(ProviderID)
    /// One of the operator's nameservers, or those of a link.
    case nameserver(NameserverID)
    case system

    package init(_ ranked: RankedID) {
        switch ranked {
        case .provider(let id): self = .provider(id)
        case .nameserver(let id): self = .nameserver(id)
        }
    }

    /// The upstream's key in the ranking; nil for the system resolver.
    var ranked: RankedID? {
        switch self {
        case .provider(let id): .provider(id)
        case .nameserver(let id): .nameserver(id)
        case .system: nil
        }
    }
}

/// The source of an answer.
package enum Source: Hashable, Sendable {
    case provider(ProviderID)
    case nameserver(NameserverID)
    case system
    /// The daemon's own knowledge: special names, /etc/hosts.
    case local
    /// A rule's fallback addresses, used if everything else has failed.
    case fallback

    package init(_ upstream: Upstream) {
        switch upstream {
        case .provider(let id): self = .provider(id)
        case .nameserver(let id): self = .nameserver(id)
        case .system: self = .system
        }
    }

    /// The key of a source in the ranking; nil for sources that it does not rank.
    var ranked: RankedID? {
        switch self {
        case .provider(let id): .provider(id)
        case .nameserver(let id): .nameserver(id)
        case .system, .local, .fallback: nil
        }
    }

    /// Few sources have the number of another one.
    package func _rawHashValue(seed: Int) -> Int {
        switch self {
        case .provider(let id): QuickHash.value(of: UInt64(id.number), seed: seed)
        case .nameserver(let id): QuickHash.value(of: UInt64(id.number), seed: ~seed)
        case .system, .local, .fallback: ~seed
        }
    }

    /// A nameserver's answers have the rank of a provider's.
    var isProvider: Bool { ranked != nil }
}
