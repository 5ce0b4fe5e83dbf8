// Who can be asked, and where an answer comes from.

package enum Upstream: Hashable, Sendable {
    case provider(ProviderID)
    case system
}

/// Where an answer comes from.
package enum Source: Hashable, Sendable {
    case provider(ProviderID)
    case system
    /// The daemon's own knowledge: special names, /etc/hosts.
    case local
    /// A rule's fallback addresses, used if everything else has failed.
    case fallback

    var isProvider: Bool {
        switch self {
        case .provider: true
        case .system, .local, .fallback: false
        }
    }
}
