// Each provider's and nameserver's entry in the statistics: what it reports, and what the resolver knows of it.

import Control
import DNSWire
import LinuxIO
import Resolver
import Settings
import Upstreams

extension Statistics {
    var providers: [StatsReport.Provider] {
        let audited = audited(showsDomains: false)
        return resolving.upstreams.providers.providers.map { provider in
            var line = line(provider)
            line.audit = audited.first { $0.name == provider.name }
            return line
        }
    }

    private func line(_ provider: Provider) -> StatsReport.Provider {
        let state = resolving.state(of: provider, now: now)
        var line = resolving.upstreams.report(of: provider, state: state.rawValue)
        line.divergences = evidence.divergences(of: .provider(provider.id))
        line.contradictions = Int(resolving.resolver.contradictions(of: .provider(provider.id)))
        (line.filters, line.blocks) = (provider.settings.filters, Int(resolving.resolver.blocks(by: provider.id)))
        let estimate = resolving.resolver.estimate(of: .provider(provider.id), now: now)
        line.retrySeconds = estimate?.retryAt.map { max(0, Int(now.duration(to: $0).wholeSeconds)) }
        if let estimate { line.trust = estimate.credibility }
        if let estimate, line.requests > 0, !provider.isShadow { line.share = estimate.firstShare }
        if provider.isShadow { line.shadow = .init(resolving.resolver.shadowCounts(of: provider.id)) }
        return line
    }

    var nameservers: [StatsReport.Provider] { resolving.upstreams.nameservers.all.map(line) }

    private func line(_ server: NamedServer) -> StatsReport.Provider {
        let state = resolving.state(of: server, now: now)
        var line = resolving.upstreams.report(of: server, state: state.rawValue)
        line.contradictions = Int(resolving.resolver.contradictions(of: .nameserver(server.id)))
        let estimate = resolving.resolver.estimate(of: .nameserver(server.id), now: now)
        line.retrySeconds = estimate?.retryAt.map { max(0, Int(now.duration(to: $0).wholeSeconds)) }
        return line
    }

    /// The operator's switches, and other reasons for not asking providers.
    var switches: [SwitchReport] {
        guard let variable = avoidingFor else { return operatorSwitches }
        return operatorSwitches + [SwitchReport(scope: ".", reason: "\(variable) is set and direct-only is true")]
    }
}

extension StatsReport.Provider.Shadow {
    fileprivate init(_ counts: ShadowCounts) {
        self.init()
        asked = Int(counts.asked)
        same = Int(counts.same)
        overlapping = Int(counts.overlapping)
        different = Int(counts.different)
        failed = Int(counts.failed)
    }
}
