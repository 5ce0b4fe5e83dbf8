// Adjusts answers and upstreams when a captive portal is suspected, and when the suspicion ends.

import DNSWire

extension Resolver {
    /// Applies the portal state; called after every event.
    mutating func followPortal(now: Instant) {
        around.tryBehindPortal(now: now)
        for news in around.portal.takeNews() {
            around.actions.append(.portal(news))
            switch news {
            case .suspected:
                routePortalNames(now: now)
                for (question, source) in around.verification.takeForged(now: now) {
                    around.actions.append(.withdraw(question, source))
                }
            case .redirects: routePortalNames(now: now)
            case .ended: portalEnded(now: now)
            }
        }
        around.verification.isGuarded = around.portal.isSuspected
    }

    private mutating func routePortalNames(now: Instant) {
        let names = around.portal.isSuspected ? around.portal.names : nil
        redirect(now: now) { $0.policy.exceptions = names }
    }

    /// Withdraws the answers that stood in for providers, since they may lead to the portal. Mismatched verdicts stay.
    private mutating func portalEnded(now: Instant) {
        routePortalNames(now: now)
        around.ranking.forgiveFailures()
        retry(failures.removeAll() + withdrawSubstitutes(now: now), now: now)
    }
}
