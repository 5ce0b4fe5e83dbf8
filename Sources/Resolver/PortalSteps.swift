// What follows for answers and upstreams when a captive portal is suspected, and when it is over.

import DNSWire

extension Resolver {
    /// After every event.
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

    /// What was condemned meanwhile stays condemned, and what stood in for providers goes: it may lead to the portal.
    private mutating func portalEnded(now: Instant) {
        routePortalNames(now: now)
        around.ranking.forgiveFailures()
        retry(failures.removeAll() + withdrawSubstitutes(now: now), now: now)
    }
}
