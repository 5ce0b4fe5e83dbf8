// Whether a captive portal stands between us and the providers: all of them fail their TLS check or are redirected, and
// the system resolver answers all the same. Knows when to try one of them; what an answer is worth is not its business.
//
//     clear ── every provider has failed so, the system resolver answers ──> suspected
//       ▲                                                                    │      │
//       ├── a provider is verified, or the network is another one ───────────┘      │ 10 min
//       └── 10 min ── resting <─────────────────────────────────────────────────────┘

package import DNSWire

struct PortalWatch {
    private struct Watched {
        let id: ProviderID
        let verifies: Bool
        /// It failed as behind a portal; nil from its next answer on.
        var hinderedAt: Instant?
    }

    private struct Suspicion {
        let since: Instant
        let until: Instant
        var tryAt: Instant
        /// The trial that is on its way.
        var trial: FetchID?
    }

    private enum Phase {
        case clear
        case suspected(Suspicion)
        case resting(until: Instant)
    }

    private var phase = Phase.clear
    private var watched: [Watched] = []
    private var hasSystem = false
    /// To these no route leads: what does not come from them says nothing.
    private var unreachable: Set<ProviderID> = []
    private var systemAnsweredAt: Instant?
    /// The host of the last redirect, while nothing is suspected: it may be what the suspicion begins with.
    private var redirect: (host: Name, at: Instant)?
    private(set) var names = PortalNames()
    /// For trials: what a client asked, so that nothing is asked that nobody wants to know.
    private var question: Question?
    /// Whose turn it is.
    private var turn = 0
    private var news: [PortalNews] = []

    // MARK: what is known

    var isSuspected: Bool { suspicion != nil }

    var state: PortalState? { suspicion.map { PortalState(since: $0.since, until: $0.until, hosts: names.hosts) } }

    /// The system resolver is to say where these lead.
    func covers(_ name: Name) -> Bool { isSuspected && names.cover(name) }

    /// When `timePassed` or `takeTrial` has something.
    var nextDeadline: Instant? {
        guard let suspicion else { return nil }
        return mayTry(suspicion) ? min(suspicion.until, suspicion.tryAt) : suspicion.until
    }

    private var suspicion: Suspicion? {
        guard case .suspected(let suspicion) = phase else { return nil }
        return suspicion
    }

    // MARK: what happens

    mutating func keep(_ providers: [ProviderTraits], hasSystem: Bool, now: Instant) {
        let old = watched
        watched = providers.filter { $0.shadowShare == nil }.map { traits in
            let known = old.first { $0.id == traits.id && $0.verifies == traits.verifies }
            return known ?? Watched(id: traits.id, verifies: traits.verifies)
        }
        self.hasSystem = hasSystem
        if watched.isEmpty || !hasSystem { end(.upstreamsChanged, now: now) }
    }

    /// What was seen was of the former network.
    private mutating func networkChanged(now: Instant) {
        end(.networkChanged, now: now)
        phase = .clear
        clear()
    }

    mutating func heard(_ news: NetworkNews, now: Instant) {
        switch news {
        case .changed: networkChanged(now: now)
        case .unreachable(let providers): unreachable = providers
        case .unsettled, .unchanged, .forgotten: break
        }
    }

    /// - Parameter question: of those that providers in general may have.
    mutating func asked(_ question: Question) {
        if question.type.isAddress { self.question = question }
    }

    /// An upstream's word, whatever it was asked for.
    mutating func heard(_ upstream: Upstream, _ result: FetchResult, now: Instant) {
        switch (upstream, result) {
        case (.system, .success): systemAnsweredAt = now
        case (.system, .failure): return
        case (.system, .nameFailed): return
        case (.provider(let provider), .success): spoke(provider, isProven: true, now: now)
        case (.provider(let provider), .nameFailed):
            let isVerified = watched.contains { $0.id == provider && $0.verifies }
            spoke(provider, isProven: isVerified, now: now)
        case (.provider(let provider), .failure(let failure)): failed(provider, failure, now: now)
        }
        suspect(now: now)
    }

    private mutating func failed(_ provider: ProviderID, _ failure: FetchFailure, now: Instant) {
        guard let index = watched.firstIndex(where: { $0.id == provider }) else { return }
        switch failure {
        case .tls: watched[index].hinderedAt = now
        // Over TLS nobody but the provider can say either; without, it is what a portal's page looks like.
        case .redirected, .garbage:
            if !watched[index].verifies {
                watched[index].hinderedAt = now
            } else if failure == .redirected {
                spoke(provider, isProven: true, now: now)
            }
        case .status, .throttled, .server: spoke(provider, isProven: watched[index].verifies, now: now)
        // The way to it, or ourselves: neither for nor against.
        case .refused, .unreachable, .timeout, .unacknowledged, .reset, .overload, .account, .clock, .unsupported: break
        }
    }

    /// - Parameter isProven: nobody but the provider can have said it, as far as anything of this one is proven.
    private mutating func spoke(_ provider: ProviderID, isProven: Bool, now: Instant) {
        guard isProven, let index = watched.firstIndex(where: { $0.id == provider }) else { return }
        watched[index].hinderedAt = nil
        if canEnd(watched[index]) { end(.verified, now: now) }
    }

    /// A host that somebody was sent to who asked for something else.
    mutating func redirected(to host: Name, now: Instant) {
        guard isSuspected else {
            redirect = (host, now)
            return
        }
        if names.add(host) { news.append(.redirects(host)) }
    }

    mutating func timePassed(now: Instant) {
        guard let suspicion, suspicion.until <= now else { return }
        end(.timeLimit, now: now)
        phase = .resting(until: now + Bounds.portalRest)
    }

    // MARK: what follows

    mutating func takeNews() -> [PortalNews] {
        defer { news = [] }
        return news
    }

    /// One provider after the other, one at a time: somebody has to find out that the portal lets us through.
    ///
    /// - Parameter mayAsk: whether there is sense in a trial just now.
    /// - Returns: whom to ask for what, now.
    mutating func takeTrial(now: Instant, mayAsk: (ProviderID) -> Bool) -> (question: Question, provider: ProviderID)? {
        guard var suspicion, let question, mayTry(suspicion), suspicion.tryAt <= now else { return nil }
        suspicion.tryAt = now + Bounds.portalTrialPause
        phase = .suspected(suspicion)
        let candidates = watched.filter { canEnd($0) && !unreachable.contains($0.id) && mayAsk($0.id) }
        guard !candidates.isEmpty else { return nil }
        turn += 1
        return (question, candidates[turn % candidates.count].id)
    }

    mutating func trialBegan(_ id: FetchID) {
        guard var suspicion else { return }
        suspicion.trial = id
        phase = .suspected(suspicion)
    }

    mutating func trialEnded(_ id: FetchID) {
        guard var suspicion, suspicion.trial == id else { return }
        suspicion.trial = nil
        phase = .suspected(suspicion)
    }

    private func mayTry(_ suspicion: Suspicion) -> Bool { suspicion.trial == nil && question != nil }

    /// Without TLS anybody can answer; that is worth something only where there is no other provider.
    private func canEnd(_ provider: Watched) -> Bool { provider.verifies || !watched.contains(where: \.verifies) }

    // MARK: parts

    private mutating func suspect(now: Instant) {
        switch phase {
        case .suspected: return
        case .resting(let until) where now < until: return
        case .resting, .clear: break
        }
        let reachable = watched.filter { !unreachable.contains($0.id) }
        let hindered = reachable.compactMap(\.hinderedAt)
        guard hasSystem, let first = hindered.min(), hindered.count == reachable.count,
            now - first <= Bounds.portalSignLife,
            let systemAnsweredAt, systemAnsweredAt >= first
        else { return }
        phase = .suspected(Suspicion(since: now, until: now + Bounds.portalLimit, tryAt: now + Bounds.portalTrialPause))
        names = PortalNames()
        news.append(.suspected)
        if let redirect, now - redirect.at <= Bounds.portalSignLife { redirected(to: redirect.host, now: now) }
    }

    private mutating func end(_ end: PortalEnd, now: Instant) {
        guard isSuspected else { return }
        phase = .clear
        clear()
        news.append(.ended(end))
    }

    private mutating func clear() {
        for index in watched.indices { watched[index].hinderedAt = nil }
        systemAnsweredAt = nil
        redirect = nil
    }
}

package enum PortalNews: Equatable, Sendable {
    case suspected
    /// It sends its users to this host: told once for each.
    case redirects(Name)
    case ended(PortalEnd)
}

/// Why nothing is suspected any more, in words for the log.
package enum PortalEnd: String, Sendable {
    case verified = "a provider is verified again"
    case networkChanged = "the network is another one"
    case upstreamsChanged = "the upstreams are others"
    /// Nobody can stand in the way for longer by playing a portal.
    case timeLimit = "it has lasted too long to be one"
}

package struct PortalState: Equatable, Sendable {
    package let since: Instant
    /// Then it is over in any case.
    package let until: Instant
    /// That it redirects to, the earliest first.
    package let hosts: [Name]
}
