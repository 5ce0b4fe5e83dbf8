// Adjusts answers and upstreams when a captive portal is suspected, and when the suspicion ends.

import DNSWire

extension Resolver {
    /// Applies the portal state; called after every event.
    mutating func followPortal(now: Instant) {
        state.tryBehindPortal(now: now)
        for news in state.portal.takeNews() {
            state.actions.append(.portal(news))
            switch news {
            case .suspected:
                routePortalNames(now: now)
                for (question, source) in state.verification.takeForged(now: now) {
                    state.withdraw(question, from: source)
                }
            case .redirects: routePortalNames(now: now)
            case .ended: portalEnded(now: now)
            }
        }
        state.verification.isGuarded = state.portal.isSuspected
    }

    private mutating func routePortalNames(now: Instant) {
        let names = state.portal.isSuspected ? state.portal.names : nil
        redirect(now: now) { $0.policy.changeAll { $0.exceptions = names } }
    }

    /// Withdraws the substitutes for providers' answers, since they may lead to the portal, and forgets the refusals
    /// that it may have forged. Mismatched verdicts stay.
    private mutating func portalEnded(now: Instant) {
        routePortalNames(now: now)
        state.ranking.forgiveFailures()
        state.ranking.forgetUnverifiedRefusals()
        retry(failures.removeAll() + withdrawSubstitutes(now: now), now: now)
    }
}
