// The failures of one lookup: what its upstreams could not do, and the reason that its clients get.

import DNSWire

struct FailureRecord {
    /// An upstream failed or did not reply, so it may have a better answer.
    private(set) var hasSilentUpstream = false
    /// An upstream failed other than by a timeout.
    private var hasFailedUpstream = false
    /// A request got no place within the daemon's limits, which is no reason to ask the system resolver.
    private(set) var lacksRoom = false
    /// A request got no place or had to give it up, which says nothing about the name.
    private(set) var wasUnplaced = false
    /// The error replies, combined.
    private var verdict: NameFailure?
    /// How each provider failed that was asked.
    enum Outcome: Equatable {
        /// The provider was not reached. A reply to another request since then disproves that.
        case noReply(since: Instant)
        /// An error reply that every name may get.
        case serviceFailed
        /// A reply about the name.
        case isAboutName
        /// A reply without an address to give.
        ///
        /// - Parameter mayBeUnregistered: the reply may mean that the name is not registered for the provider's
        ///   account: most vendors have no other reply for that.
        case isEmpty(mayBeUnregistered: Bool)
        /// The provider's answer was disproved: by a probe, or by the rule for the name.
        case disproved
        /// The provider's budget or quota is used up.
        case usedUp
    }

    private(set) var outcomes: [(provider: RankedID, outcome: Outcome)] = []
    /// Providers that timed out on a working connection.
    private(set) var timedOut: [RankedID] = []
    /// Providers whose error reply gave no reason.
    private(set) var refusedBy: [RankedID] = []
    /// Providers that sent an error reply, a reason included, or a reply to other questions alone.
    private var repliedBy: [RankedID] = []
    /// The first answer that contradicts the rule for the name.
    private var contradiction: Contradiction?

    mutating func nameFailed(_ failure: NameFailure, at upstream: Upstream) {
        hasSilentUpstream = true
        verdict = failure.combined(with: verdict)
        guard let provider = upstream.ranked else { return }
        repliedBy.append(provider)
        ended(provider, failure.isAboutName ? .isAboutName : .serviceFailed)
        if failure.extendedError == nil { refusedBy.append(provider) }
    }

    mutating func omitted(by provider: RankedID) {
        (hasSilentUpstream, hasFailedUpstream) = (true, true)
        repliedBy.append(provider)
        ended(provider, .serviceFailed)
    }

    /// - Parameter outcome: replaces an earlier outcome of the provider. The silence of a repeat replaces neither a
    ///   reply nor the first silence.
    mutating func ended(_ provider: RankedID, _ outcome: Outcome) {
        if case .noReply = outcome {
            switch self.outcome(of: provider) {
            case .isAboutName, .isEmpty, .serviceFailed, .noReply: return
            case .disproved, .usedUp, nil: break
            }
        }
        outcomes.removeAll { $0.provider == provider }
        outcomes.append((provider, outcome))
    }

    func outcome(of provider: RankedID) -> Outcome? { outcomes.first { $0.provider == provider }?.outcome }

    /// The provider sent an error reply for the name, in the protocol of DNS or its equivalent, or left the name out
    /// of a reply.
    func hasReplied(_ provider: RankedID) -> Bool { repliedBy.contains(provider) }

    /// Whether a provider besides these was asked and gave no answer: its reply is lost, or is an error.
    func hasUnheard(besides heard: [Source]) -> Bool {
        lacksRoom
            || outcomes.contains { provider, outcome in
                switch outcome {
                case .noReply, .serviceFailed, .isAboutName: !heard.contains { $0.ranked == provider }
                case .isEmpty, .disproved, .usedUp: false
                }
            }
    }

    /// A provider replied about the name.
    var isAboutName: Bool { outcomes.contains { $0.outcome == .isAboutName } }

    /// - Parameters:
    ///   - startedAt: start of the request.
    ///   - isOfService: a reply of the provider arrived that has no answer.
    mutating func failed(
        _ failure: FetchFailure, at upstream: Upstream, startedAt: Instant, isOfService: Bool, now: Instant
    ) {
        hasSilentUpstream = true
        if failure != .timeout, failure != .overload { hasFailedUpstream = true }
        guard let provider = upstream.ranked else { return }
        if failure == .timeout { timedOut.append(provider) }
        switch failure {
        case _ where isOfService: ended(provider, .serviceFailed)
        case .timeout, .reset: ended(provider, .noReply(since: startedAt))
        case .overload, .unsupported: break
        default: ended(provider, .noReply(since: now))
        }
    }

    mutating func contradicted(_ contradiction: Contradiction, at upstream: Upstream) {
        hasSilentUpstream = true
        if let provider = upstream.ranked { ended(provider, .disproved) }
        self.contradiction = self.contradiction ?? contradiction
    }

    /// A request waited for a place while its provider replied to nothing.
    mutating func waitedInVain(for provider: RankedID, since instant: Instant) {
        timedOut.append(provider)
        ended(provider, .noReply(since: instant))
        wasUnplaced = true
    }

    mutating func foundNoSlot() { (lacksRoom, wasUnplaced) = (true, true) }
    mutating func lostRoute() { hasSilentUpstream = true }
    mutating func failedForIPv4() { hasFailedUpstream = true }

    /// - Parameters:
    ///   - isKeptFromView: the name may go to no provider of the client's view.
    ///   - hasNoRoute: the machine has no route to any provider.
    ///   - isUnserved: every provider that may be asked has replied that it does not serve the name.
    func reason(isKeptFromView: Bool, isPortalSuspected: Bool, hasNoRoute: Bool, isUnserved: Bool) -> LookupFailure {
        if isKeptFromView { return LookupFailure(.keptFromView) }
        if isPortalSuspected { return LookupFailure(.portalSuspected) }
        if lacksRoom { return LookupFailure(.notReady) }
        if let contradiction { return LookupFailure(contradiction) }
        if let verdict { return LookupFailure(verdict) }
        if outcomes.contains(where: { $0.outcome == .usedUp }) { return LookupFailure(.usedUp) }
        if hasNoRoute { return LookupFailure(.noRoute) }
        if isUnserved { return LookupFailure(.notServed) }
        return LookupFailure(hasFailedUpstream ? .networkError : .noReachableAuthority)
    }
}
