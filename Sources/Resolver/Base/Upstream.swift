// The upstreams that can be asked, and the sources of answers.

package enum Upstream: Hashable, Sendable {
    case provider(ProviderID)
    case system
}

/// The source of an answer.
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
