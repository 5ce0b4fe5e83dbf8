// Whom a lookup may ask, and in which order: decided once, when it begins.

extension Lookup {
    /// Whom a question may be put to.
    struct Route {
        /// In the order to ask them.
        let providers: [ProviderID]
        /// Another lookup's request tells whether they are back; asked then, or when the system resolver fails too.
        let trialPending: [ProviderID]
        /// So long this lookup waits for that request: what it usually takes.
        let trialPatience: Duration
        /// Asked when nobody else has anything to say.
        let withheld: [ProviderID]
        /// As the name was to be asked when it began.
        let upstreams: NameUpstreams
        let hasSystem: Bool
        /// All providers are down, or are not to be asked.
        let inTrouble: Bool
        /// The only provider works, but replies to no name of this domain.
        let isUnresponsive: Bool
        /// What the slowest of those that will be asked, and work, usually takes; nil while one was not measured.
        let patience: Duration?

        var isEmpty: Bool { providers.isEmpty && trialPending.isEmpty && withheld.isEmpty && !hasSystem }

        /// Everybody else.
        func without(_ source: Source) -> Route {
            let isOther = { (provider: ProviderID) in source != .provider(provider) }
            return Route(
                providers: providers.filter(isOther), trialPending: trialPending.filter(isOther),
                trialPatience: trialPatience, withheld: withheld.filter(isOther), upstreams: upstreams,
                hasSystem: hasSystem && source != .system,
                inTrouble: inTrouble, isUnresponsive: isUnresponsive, patience: patience)
        }

        func includes(_ source: Source) -> Bool {
            switch source {
            case .provider(let provider): (providers + trialPending + withheld).contains(provider)
            case .system: hasSystem
            case .local, .fallback: false
            }
        }

        /// So long the providers are asked alone.
        var systemHedge: Duration {
            guard !inTrouble else { return Bounds.systemHedgeInTrouble }
            guard let patience else { return Bounds.systemHedge }
            return min(max(patience * Bounds.systemHedgeFactor, Bounds.systemHedgeFloor), Bounds.systemHedge)
        }

        /// So long the system resolver's answer waits for theirs.
        ///
        /// - Parameters:
        ///   - setting: while the providers are merely late.
        ///   - isMistrusted: what it says is for when the providers say nothing.
        func systemPatience(_ setting: Duration, isMistrusted: Bool) -> Duration {
            guard !inTrouble else { return min(setting, Bounds.systemPatienceInTrouble) }
            guard !isMistrusted else { return max(setting, Bounds.systemPatienceMistrusted) }
            return isUnresponsive ? min(setting, Bounds.systemPatienceUnresponsive) : setting
        }

        /// Nobody is to be asked as long as nobody waits.
        var hasOnlyWithheld: Bool { providers.isEmpty && trialPending.isEmpty && !hasSystem && !withheld.isEmpty }
    }
}
