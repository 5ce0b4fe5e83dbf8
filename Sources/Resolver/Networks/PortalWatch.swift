// Detects a captive portal: all providers fail their TLS check or are redirected while the system resolver answers.
// Schedules the trial requests that detect its end.

package import DNSWire

/// States of the suspicion:
///
///     clear ── every provider failed as above, the system resolver answers ──> suspected
///       ▲                                                                    │      │
///       ├── a provider has answered, or the network has changed ─────────────┘      │ 10 min
///       └── 10 min ── resting <─────────────────────────────────────────────────────┘
///
/// Only portal names (check names and redirect hosts) go to the system resolver. Otherwise an attacker who imitates a
/// portal could forge answers for every name.
struct PortalWatch {
    private struct Watched {
        let id: ProviderID
        let verifies: Bool
        let hasOwnNames: Bool
        /// When the provider last failed in a way that suggests a portal; nil after its next answer.
        var hinderedAt: Instant?
        /// When the provider last answered on this network.
        var answeredAt: Instant?
        /// Registrable domains whose questions were redirected since that answer, at most two.
        var redirected: Set<Name> = []

        func isSame(as other: Watched) -> Bool {
            id == other.id && verifies == other.verifies && hasOwnNames == other.hasOwnNames
        }
    }

    private struct Suspicion {
        let since: Instant
        let until: Instant
        var tryAt: Instant
        /// The trial request in flight.
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
    /// Providers without a route. Their missing replies say nothing about a portal.
    private var unreachable: Set<RankedID> = []
    private var systemAnsweredAt: Instant?
    /// The host of the last redirect before a suspicion; it may be the portal's.
    private var redirect: (host: Name, at: Instant)?
    private(set) var names = PortalNames()
    /// The latest of the clients' questions that all providers without names of their own may get: trials ask no
    /// invented names.
    private var question: Question?
    /// The latest question for a name that belongs to this provider.
    private var questionOfOwner: [ProviderID: Question] = [:]
    /// Counts trials, to rotate through the providers.
    private var turn = 0
    private var news: [PortalEvent] = []

    // MARK: state

    var isSuspected: Bool { suspicion != nil }

    var state: PortalState? { suspicion.map { PortalState(since: $0.since, until: $0.until, hosts: names.hosts) } }

    /// Whether the last result of every provider with a route suggests a portal. There may be one although none is
    /// suspected: after the time limit of a suspicion.
    var hindersAll: Bool {
        watched.contains { $0.hinderedAt != nil }
            && watched.allSatisfy { $0.hinderedAt != nil || unreachable.contains(.provider($0.id)) }
    }

    /// Whether the answers of the network's resolvers may be a portal's.
    var mayAnswer: Bool { isSuspected || hindersAll }

    /// Whether a portal is suspected, so that only the system resolver resolves this name.
    func covers(_ name: Name) -> Bool { isSuspected && names.cover(name) }

    /// When `timePassed` or `takeTrial` is due.
    var nextDeadline: Instant? {
        guard let suspicion else { return nil }
        return mayTry(suspicion) ? min(suspicion.until, suspicion.tryAt) : suspicion.until
    }

    private var suspicion: Suspicion? {
        guard case .suspected(let suspicion) = phase else { return nil }
        return suspicion
    }

    /// Whether a redirect or garbage may be a portal's in place of the provider's reply: nothing proves who replied,
    /// and the provider has not answered lately on this network or has redirected questions of two domains since.
    func mayReply(for upstream: Upstream, now: Instant) -> Bool {
        guard case .provider(let id) = upstream, let provider = watched.first(where: { $0.id == id }) else {
            return false
        }
        return !provider.verifies && (!hasAnsweredLately(provider, now: now) || provider.redirected.count > 1)
    }

    private func hasAnsweredLately(_ provider: Watched, now: Instant) -> Bool {
        provider.answeredAt.map { now - $0 < Bounds.portalSignLife } ?? false
    }

    // MARK: events

    mutating func keep(_ providers: [ProviderTraits], hasSystem: Bool, now: Instant) {
        let old = watched
        watched = providers.compactMap { traits in
            guard traits.shadowShare == nil, let id = traits.id.provider else { return nil }
            let new = Watched(id: id, verifies: traits.verifies, hasOwnNames: traits.hasOwnNames)
            return old.first { $0.isSame(as: new) } ?? new
        }
        questionOfOwner = questionOfOwner.filter { known in watched.contains { $0.hasOwnNames && $0.id == known.key } }
        self.hasSystem = hasSystem
        if watched.isEmpty || !hasSystem { end(.upstreamsChanged, now: now) }
    }

    /// Discards the observations of the former network.
    private mutating func networkChanged(now: Instant) {
        end(.networkChanged, now: now)
        phase = .clear
        clear()
    }

    mutating func heard(_ news: NetworkEvent, now: Instant) {
        switch news {
        case .changed: networkChanged(now: now)
        case .unreachable(let providers): unreachable = providers
        case .changing, .unchanged, .forgotten: break
        }
    }

    /// - Parameter upstreams: the providers that may be asked.
    mutating func asked(_ question: Question, among upstreams: NameUpstreams = .providers) {
        guard question.type.isAddress else { return }
        if case .owners(let owners, _) = upstreams { for owner in owners { questionOfOwner[owner] = question } }
        if upstreams.allowsComparison { self.question = question }
    }

    /// Forgets the questions: their names may belong to other accounts now.
    mutating func forgetQuestions() { (question, questionOfOwner) = (nil, [:]) }

    /// Evaluates the result of any fetch.
    ///
    /// - Parameter domain: the registrable domain of the fetch's question.
    mutating func heard(_ upstream: Upstream, _ result: FetchResult, of domain: @autoclosure () -> Name, now: Instant) {
        switch (upstream, result) {
        case (.system, .success): systemAnsweredAt = now
        case (.system, .failure): return
        case (.system, .nameFailed), (.system, .notServed), (.system, .omitted): return
        case (.nameserver, _): break
        case (.provider(let provider), .success): spoke(provider, isProven: true, now: now)
        case (.provider(let provider), .nameFailed), (.provider(let provider), .notServed),
            (.provider(let provider), .omitted):
            let isVerified = watched.contains { $0.id == provider && $0.verifies }
            spoke(provider, isProven: isVerified, now: now)
        case (.provider(let provider), .failure(let failure)): failed(provider, failure, of: domain(), now: now)
        }
        suspect(now: now)
    }

    private mutating func failed(
        _ provider: ProviderID, _ failure: FetchFailure, of domain: @autoclosure () -> Name, now: Instant
    ) {
        guard let index = watched.firstIndex(where: { $0.id == provider }) else { return }
        if failure == .redirected, watched[index].redirected.count < 2 { watched[index].redirected.insert(domain()) }
        switch failure {
        case .tls: watched[index].hinderedAt = now
        // Without TLS, a portal's page looks like this. Over TLS, a redirect proves that the provider is reached.
        case .garbage where hasAnsweredLately(watched[index], now: now):
            // A wrong body among well-formed ones concerns the name.
            break
        case .redirected, .garbage:
            if !watched[index].verifies {
                watched[index].hinderedAt = now
            } else if failure == .redirected {
                spoke(provider, isProven: true, now: now)
            }
        case .status, .throttled, .server: spoke(provider, isProven: watched[index].verifies, now: now)
        // Path failures and local failures are neutral.
        case .refused, .unreachable, .timeout, .unacknowledged, .reset, .overload, .account, .clock, .unsupported: break
        }
    }

    /// - Parameter isProven: the reply came from the provider, as far as its transport can prove that.
    private mutating func spoke(_ provider: ProviderID, isProven: Bool, now: Instant) {
        guard isProven, let index = watched.firstIndex(where: { $0.id == provider }) else { return }
        watched[index].hinderedAt = nil
        watched[index].answeredAt = now
        watched[index].redirected = []
        if canEnd(watched[index]) { end(.verified, now: now) }
    }

    /// Records the target host of an HTTP redirect that replaced a reply.
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

    // MARK: effects

    mutating func takeNews() -> [PortalEvent] { exchange(&news, with: []) }

    /// Returns the next trial request. One trial runs at a time, and the providers take turns. Its success shows that
    /// the portal lets traffic through.
    ///
    /// - Parameter mayAsk: whether the provider may be asked now.
    /// - Returns: the question and the provider to ask now.
    mutating func takeTrial(now: Instant, mayAsk: (ProviderID) -> Bool) -> (question: Question, provider: ProviderID)? {
        guard var suspicion, mayTry(suspicion), suspicion.tryAt <= now else { return nil }
        suspicion.tryAt = now + Bounds.portalTrialPause
        phase = .suspected(suspicion)
        let candidates = watched.compactMap { provider -> (question: Question, provider: ProviderID)? in
            guard !unreachable.contains(.provider(provider.id)), mayAsk(provider.id) else { return nil }
            return question(for: provider).map { ($0, provider.id) }
        }
        guard !candidates.isEmpty else { return nil }
        turn += 1
        return candidates[turn % candidates.count]
    }

    /// Returns nil for a provider whose reply would prove nothing, or that may not be asked any known question.
    private func question(for provider: Watched) -> Question? {
        guard canEnd(provider) else { return nil }
        return provider.hasOwnNames ? questionOfOwner[provider.id] : question
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

    private func mayTry(_ suspicion: Suspicion) -> Bool {
        suspicion.trial == nil && (question != nil || !questionOfOwner.isEmpty)
    }

    /// Whether the provider's answer ends the suspicion. Without TLS, any host can answer, so such a reply counts only
    /// if no provider uses TLS.
    private func canEnd(_ provider: Watched) -> Bool { provider.verifies || !watched.contains(where: \.verifies) }

    // MARK: helpers

    private mutating func suspect(now: Instant) {
        switch phase {
        case .suspected: return
        case .resting(let until) where now < until: return
        case .resting, .clear: break
        }
        guard hasSystem, watched.contains(where: { $0.hinderedAt != nil }) else { return }
        let reachable = watched.filter { !unreachable.contains(.provider($0.id)) }
        let hindered = reachable.compactMap(\.hinderedAt)
        guard let first = hindered.min(), hindered.count == reachable.count,
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
        for index in watched.indices {
            (watched[index].hinderedAt, watched[index].answeredAt, watched[index].redirected) = (nil, nil, [])
        }
        systemAnsweredAt = nil
        redirect = nil
    }
}

package enum PortalEvent: Equatable, Sendable {
    case suspected
    /// The portal redirects to this host. Reported once for each host.
    case redirects(Name)
    case ended(PortalEnd)
}

/// Reason for the end of a suspicion. The raw values appear in the log.
package enum PortalEnd: String, Sendable {
    case verified = "a provider answered"
    case networkChanged = "the network changed"
    case upstreamsChanged = "the upstream settings changed"
    /// The limit bounds the effect of an attacker that imitates a portal.
    case timeLimit = "the time limit has passed"
}

package struct PortalState: Equatable, Sendable {
    package let since: Instant
    /// End of the suspicion at the latest.
    package let until: Instant
    /// Hosts that the portal redirects to, the earliest first.
    package let hosts: [Name]
}
