// The log lines about a change of an upstream's state.

import Resolver
import Upstreams

extension LogEvent {
    /// Returns nil for state changes that are not logged.
    init?(_ change: ProviderStateChange, of provider: Provider) {
        let name = provider.name
        switch (change.from, change.to) {
        case (_, .down): self = .providerDown(name: name, reason: provider.counts.lastReason)
        case (_, .blocked): self = .providerBlocked(name: name, reason: provider.counts.lastReason)
        case (_, .throttled): self = .providerThrottled(name: name)
        case (.down, _), (.blocked, _): self = .providerUp(name: name)
        case (.throttled, _): self = .providerAskedAgain(name: name)
        case (.up, _), (.overBudget, _), (.overQuota, _), (.unmeasured, _), (_, .unresolved), (.unresolved, _):
            return nil
        }
    }

    /// Returns nil for state changes that are not logged.
    init?(_ change: ProviderStateChange, of server: NamedServer) {
        if change.to == .down {
            self = .nameserver(.down(name: server.name, reason: server.lastReason))
        } else if change.from == .down {
            self = .nameserver(.up(name: server.name))
        } else {
            return nil
        }
    }
}
