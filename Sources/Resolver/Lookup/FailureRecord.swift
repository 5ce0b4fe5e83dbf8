// The failures of one lookup: what its upstreams could not do, and the reason that its clients get.

import DNSWire

struct FailureRecord {
    /// An upstream failed or did not reply, so it may have a better answer.
    private(set) var hasSilentUpstream = false
    /// An upstream failed other than by a timeout.
    private var hasFailedUpstream = false
    /// A request got no slot within the daemon's limits, which is no reason to ask the system resolver.
    private(set) var lacksRoom = false
    /// Error replies about the name.
    private var verdict: NameFailure?
    /// A provider sent one of them.
    private(set) var hasProvidersVerdict = false
    /// Providers that timed out on a working connection.
    private(set) var timedOut: [ProviderID] = []
    /// Providers whose error reply gave no reason.
    private(set) var refusedBy: [ProviderID] = []
    /// A provider was not reached, cannot serve any name, or gave a forged answer.
    private(set) var hasUnreached = false
    /// The first answer that contradicts the rule for the name.
    private var contradiction: Contradiction?

    mutating func nameFailed(_ failure: NameFailure, at upstream: Upstream) {
        hasSilentUpstream = true
        verdict = failure.combined(with: verdict)
        guard case .provider(let provider) = upstream else { return }
        hasProvidersVerdict = true
        if failure.extendedError == nil { refusedBy.append(provider) }
    }

    mutating func failed(_ failure: FetchFailure, at upstream: Upstream) {
        hasSilentUpstream = true
        if failure != .timeout, failure != .overload { hasFailedUpstream = true }
        guard case .provider(let provider) = upstream else { return }
        switch failure {
        case .timeout: timedOut.append(provider)
        case .overload: break
        default: hasUnreached = true
        }
    }

    mutating func contradicted(_ contradiction: Contradiction) {
        hasSilentUpstream = true
        hasUnreached = true
        self.contradiction = self.contradiction ?? contradiction
    }

    /// A request waited for a slot while its provider replied to nothing.
    mutating func waitedInVain(for provider: ProviderID) { timedOut.append(provider) }

    mutating func foundNoSlot() { lacksRoom = true }
    mutating func leftUnreached() { hasUnreached = true }
    mutating func lostRoute() { hasSilentUpstream = true }
    mutating func failedForIPv4() { hasFailedUpstream = true }

    /// - Parameters:
    ///   - hasNoRoute: the machine has no route to any provider.
    ///   - isUnserved: every provider that may be asked has replied that it does not serve the name.
    func reason(isPortalSuspected: Bool, hasNoRoute: Bool, isUnserved: Bool) -> LookupFailure {
        if isPortalSuspected { return LookupFailure(.portalSuspected) }
        if lacksRoom { return LookupFailure(.notReady) }
        if let contradiction { return LookupFailure(contradiction) }
        if let verdict { return LookupFailure(verdict) }
        if hasNoRoute { return LookupFailure(.noRoute) }
        if isUnserved { return LookupFailure(.notServed) }
        return LookupFailure(hasFailedUpstream ? .networkError : .noReachableAuthority)
    }
}
