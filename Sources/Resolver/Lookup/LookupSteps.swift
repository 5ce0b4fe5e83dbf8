// What a lookup has under way.

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

    /// When the system resolver is asked as well, and how long its answer waits for a provider's: both from the
    /// beginning.
    struct SystemTerms {
        let hedge: Duration
        let patience: Duration

        /// All providers are in trouble.
        static let inTrouble = SystemTerms(
            hedge: Bounds.systemHedgeInTrouble, patience: Bounds.systemPatienceInTrouble)
        /// The network is a new one.
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
