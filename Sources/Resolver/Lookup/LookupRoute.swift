// Parts of a lookup: the upstreams that it may ask and their order, the system resolver's delays, its requests.

import DNSWire

extension Lookup {
    struct Route {
        /// Providers in the order in which they are asked.
        let providers: [RankedID]
        /// Providers whose trial another lookup runs. They are asked after the trial, or if the system resolver fails
        /// too.
        let trialPending: [RankedID]
        /// Longest wait for the other lookup's trial: the usual answer time.
        let trialPatience: Duration
        /// Providers that filter nothing, beside some that do: asked only if none that filters can be reached.
        /// At most `Bounds.maxStandIns`.
        let standIns: [RankedID]
        /// Throttled and over-budget providers: asked only if no other provider has an answer.
        let throttled: [RankedID]
        /// Providers that reject the account: asked only if a client would get a failure.
        let blocked: [RankedID]
        /// Providers whose quota is used up, or whose budget is used up while the system resolver may answer: not
        /// asked.
        let usedUp: [RankedID]
        /// The upstreams allowed when the lookup began.
        let upstreams: NameUpstreams
        let hasSystem: Bool
        /// Time for which only the system resolver is asked (order `systemFirst`); nil: the providers go first.
        private(set) var systemLead: Duration?
        /// The provider that is asked after `systemLead`, because the system resolver is late. Nil: no provider may
        /// hedge, or the system resolver is known to be silent.
        private(set) var hedge: RankedID?
        /// No provider can be reached.
        let inTrouble: Bool
        /// Some provider may be reached, but none replies to names of this parent.
        let isSilent: Bool
        /// The only provider works, but replies to no name of this domain, or of this parent.
        let isUnresponsive: Bool
        /// Usual answer time of the slowest working provider that will be asked; nil if one is unmeasured.
        let slowestAnswerTime: Duration?

        var isSystemFirst: Bool { systemLead != nil }

        /// Makes the request after `systemLead` a hedge. If no provider may hedge, the system resolver has its whole
        /// patience.
        mutating func hedgeSystem(patience: Duration, _ ranking: UpstreamRanking) {
            guard let lead = systemLead else { return }
            hedge = providers.prefix(Bounds.maxProviderAttempts).first { ranking[$0]?.traits.mayHedge == true }
            if hedge == nil { systemLead = max(lead, patience) }
        }

        /// No provider of the route is in trouble.
        func isHealthy(_ ranking: UpstreamRanking, _ now: Instant) -> Bool {
            trialPending.isEmpty && throttled.isEmpty && blocked.isEmpty
                && !providers.contains { ranking.isInTrouble($0, now) }
        }

        var isEmpty: Bool {
            providers.isEmpty && trialPending.isEmpty && standIns.isEmpty && throttled.isEmpty && blocked.isEmpty
                && !hasSystem
        }

        /// Returns the route without one source.
        func without(_ source: Source) -> Route {
            let isOther = { (provider: RankedID) in source.ranked != provider }
            return Route(
                providers: providers.filter(isOther), trialPending: trialPending.filter(isOther),
                trialPatience: trialPatience, standIns: standIns.filter(isOther), throttled: throttled.filter(isOther),
                blocked: blocked.filter(isOther), usedUp: usedUp.filter(isOther), upstreams: upstreams,
                hasSystem: hasSystem && source != .system,
                systemLead: source == .system ? nil : systemLead,
                hedge: source == .system ? nil : hedge.flatMap { isOther($0) ? $0 : nil },
                inTrouble: inTrouble, isSilent: isSilent, isUnresponsive: isUnresponsive,
                slowestAnswerTime: slowestAnswerTime)
        }

        func includes(_ source: Source) -> Bool {
            switch source {
            case .provider, .nameserver:
                (providers + trialPending + standIns + throttled + blocked).contains { $0 == source.ranked }
            case .system: hasSystem
            case .local, .fallback: false
            }
        }

        /// Delay until the system resolver is asked as well.
        var systemHedge: Duration {
            guard !inTrouble, !isSilent else { return Bounds.systemHedgeInTrouble }
            guard let slowestAnswerTime else { return Bounds.systemHedge }
            return min(max(slowestAnswerTime * Bounds.systemHedgeFactor, Bounds.systemHedgeFloor), Bounds.systemHedge)
        }

        /// Returns how long the system resolver's answer waits for a provider's.
        ///
        /// - Parameters:
        ///   - setting: the time for late providers.
        ///   - isMistrusted: the system resolver has lost its credibility, so its answer waits until the providers have
        ///     timed out.
        func systemPatience(_ setting: Duration, isMistrusted: Bool) -> Duration {
            guard !inTrouble else { return min(setting, Bounds.systemPatienceInTrouble) }
            guard !isMistrusted else { return max(setting, Bounds.systemPatienceMistrusted) }
            // Names of one parent show little, so the provider has its usual time.
            if isSilent { return min(setting, max(Bounds.systemPatienceInTrouble, slowestAnswerTime ?? .zero)) }
            return isUnresponsive ? min(setting, Bounds.systemPatienceUnresponsive) : setting
        }

        /// Only throttled providers are left. They are not asked without a waiting client.
        var hasOnlyThrottled: Bool {
            providers.isEmpty && trialPending.isEmpty && !isSystemFirst && !throttled.isEmpty
        }
    }

    /// Delay until the system resolver is asked as well, and time for which its answer waits for a provider's. Both
    /// count from the start of the lookup.
    struct SystemTerms {
        let hedge: Duration
        let patience: Duration

        /// No provider can be reached.
        static let inTrouble = SystemTerms(
            hedge: Bounds.systemHedgeInTrouble, patience: Bounds.systemPatienceInTrouble)
        /// The providers are silent to names of this parent.
        static let inSilence = SystemTerms(hedge: Bounds.systemHedgeInTrouble, patience: Bounds.silentFloor)
        /// The terms just after a change to a new network.
        static let atFirst = SystemTerms(hedge: .zero, patience: Bounds.systemPatienceAtFirst)
        static let mistrustedAtFirst = SystemTerms(hedge: .zero, patience: Bounds.systemPatienceMistrusted)
    }

    struct Attempt {
        let id: FetchID
        let upstream: Upstream
        var startedAt: Instant
        var until: Instant
        /// Time after the start of the request from which a provider without any reply counts as silent.
        var silentAfter = Bounds.silentFloor
        /// False while the request waits for a fleet or for its turn: its time says nothing about the upstream.
        var isSent = true
        /// The request was sent later than it began, or is not sent yet.
        var hasWaited = false
        /// The time of the request's turn in the provider's budget, while it waits for it; nil: it does not wait.
        var turnAt: Instant?
        /// The request waits for a place at the provider.
        var awaitsPlace = false
        /// When the request is repeated, as the provider was silent when it was sent, and has replied to others since;
        /// nil: it is not.
        var repeatAt: Instant?

        var source: Source { Source(upstream) }

        /// When the lookup acts on the request if no reply arrives before.
        var nextDeadline: Instant { turnAt ?? repeatAt ?? until }

        /// The provider or nameserver that is asked; nil for the system resolver.
        var provider: RankedID? { upstream.ranked }
    }
}
