// Parts of a lookup: its requests and its use of the system resolver.

import DNSWire

extension Lookup {
    struct Attempt {
        let id: FetchID
        let upstream: Upstream
        /// The registrable domain of the question's name.
        let domain: Name
        let startedAt: Instant
        let until: Instant

        var source: Source {
            switch upstream {
            case .provider(let provider): .provider(provider)
            case .system: .system
            }
        }
    }

    /// Delay until the system resolver is asked as well, and time for which its answer waits for a provider's. Both
    /// count from the start of the lookup.
    struct SystemTerms {
        let hedge: Duration
        let patience: Duration

        /// All providers are in trouble.
        static let inTrouble = SystemTerms(
            hedge: Bounds.systemHedgeInTrouble, patience: Bounds.systemPatienceInTrouble)
        /// Just after a change to a new network.
        static let atFirst = SystemTerms(hedge: .zero, patience: Bounds.systemPatienceAtFirst)
        static let mistrustedAtFirst = SystemTerms(hedge: .zero, patience: Bounds.systemPatienceMistrusted)
    }

    enum SystemStep {
        case absent
        case waiting(until: Instant)
        case running
        case answered(Answer, at: Instant)
        case settled(Answer, at: Instant)
        case failed
    }
}
