// Each provider's entry in the statistics: counters, measurements and state.

import Control
import DNSWire
import HTTPClient
import HTTPDNS
import LinuxIO
import Resolver
import Settings
import Telemetry

extension Statistics {
    var providers: [StatsReport.Provider] { resolving.upstreams.providers.providers.map(line) }

    private func line(_ provider: Provider) -> StatsReport.Provider {
        var line = StatsReport.Provider(
            name: provider.name, dialect: provider.dialectName, state: resolving.state(of: provider, now: now).rawValue)
        line.requests = Int(provider.requests)
        line.names = Int(provider.names)
        for (failure, count) in provider.failures { line.failures[failure.rawValue] = Int(count) }
        line.divergences = evidence.divergences(of: .provider(provider.id))
        line.contradictions = Int(resolving.contradictions(of: .provider(provider.id)))
        let privateAnswers = resolving.privateAnswers(from: provider.id)
        if privateAnswers > 0 { line.failures["private"] = Int(privateAnswers) }
        line.results["success"] = Int(provider.answeredRequests)
        for (failure, count) in provider.failedRequests { line.results[failure.rawValue] = Int(count) }
        line.durations = StatsReport.Histogram(provider.latency)
        line.latencyMilliseconds.p50 = (provider.latency.percentile(50) ?? 0) / 1000
        line.latencyMilliseconds.p95 = (provider.latency.percentile(95) ?? 0) / 1000
        line.connections = StatsReport.Provider.Connections(resolving.upstreams.providers.connections(of: provider))
        line.addresses = provider.addressStates.map { address in
            StatsReport.Provider.Address(address.endpoint.address, state: address.isWorking ? "up" : "down")
        }
        line.clockOffsetMilliseconds = Int(provider.clock.offsetMilliseconds)
        line.usesProxy = provider.settings.proxy != nil
        let estimate = resolving.estimate(of: provider.id, now: now)
        line.retrySeconds = estimate?.retryAt.map { max(0, Int(now.duration(to: $0).wholeSeconds)) }
        if let estimate { line.trust = estimate.trust }
        line.success = provider.latest.share
        if let estimate, provider.requests > 0, !provider.isShadow { line.share = estimate.firstShare }
        line.billed = billing.questions(of: provider).map {
            StatsReport.Provider.Billed(
                $0, quota: provider.settings.quota?.description, share: billing.quotaShare(of: provider),
                fleet: billing.fleetTotal(of: provider))
        }
        if provider.isShadow { line.shadow = .init(resolving.shadowCounts(of: provider.id)) }
        return line
    }
}

extension Statistics {
    var nameservers: [StatsReport.Provider] { resolving.upstreams.nameservers.all.map(line) }

    private func line(_ server: NamedServer) -> StatsReport.Provider {
        var line = StatsReport.Provider(
            name: server.name, dialect: "dns", state: resolving.state(of: server, now: now).rawValue)
        line.requests = Int(server.requests)
        line.names = Int(server.requests)
        line.results["success"] = Int(server.answered)
        for (failure, count) in server.failures {
            line.results[failure.rawValue] = Int(count)
            line.failures[failure.rawValue] = Int(count)
        }
        line.contradictions = Int(resolving.contradictions(of: .provider(server.id)))
        line.durations = StatsReport.Histogram(server.latency)
        line.latencyMilliseconds.p50 = (server.latency.percentile(50) ?? 0) / 1000
        line.latencyMilliseconds.p95 = (server.latency.percentile(95) ?? 0) / 1000
        line.connections = StatsReport.Provider.Connections(resolving.upstreams.nameservers.connections(of: server))
        line.addresses = server.settings.servers.map { StatsReport.Provider.Address("\($0)", state: "asked") }
        let estimate = resolving.estimate(of: server.id, now: now)
        line.retrySeconds = estimate?.retryAt.map { max(0, Int(now.duration(to: $0).wholeSeconds)) }
        line.success = server.latest.share
        return line
    }
}

extension StatsReport.Provider.Connections {
    init(_ counts: ConnectionCounts) {
        self.init()
        (open, opened, reused, retried) = (counts.open, counts.opened, counts.reused, counts.retried)
    }
}

extension Statistics {
    /// The operator's switches, and other reasons for not asking providers.
    var switches: [SwitchReport] {
        guard let variable = avoidingFor else { return operatorSwitches }
        return operatorSwitches + [SwitchReport(scope: ".", reason: "\(variable) is set and direct-only is true")]
    }
}

extension StatsReport.Provider.Billed {
    fileprivate init(_ questions: BilledQuestions, quota: String?, share: Double?, fleet: Int?) {
        self.init()
        for cause in RequestCause.allCases {
            day[cause.rawValue] = questions.count(.day, cause)
            month[cause.rawValue] = questions.count(.month, cause)
        }
        (self.quota, self.fleet, quotaShare) = (quota, fleet, share)
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
