// Each provider's and nameserver's entry in the statistics: what its requests have brought.

package import Control
import DNSWire
import HTTPClient
import HTTPDNS
import LinuxIO
import Resolver
import Settings
import Telemetry

extension Upstreams {
    /// - Parameter state: the state that the resolver gives the provider.
    package func report(of provider: Provider, state: String) -> StatsReport.Provider {
        var line = StatsReport.Provider(name: provider.name, dialect: provider.dialectName, state: state)
        line.requests = Int(provider.counts.requests)
        line.names = Int(provider.counts.names)
        for (failure, count) in provider.counts.failures { line.failures[failure.rawValue] = Int(count) }
        line.results["success"] = Int(provider.counts.answeredRequests)
        for (failure, count) in provider.counts.failedRequests { line.results[failure.rawValue] = Int(count) }
        line.set(provider.counts.latency, providers.connections(of: provider), success: provider.counts.latest.share)
        line.addresses = provider.addressStates.map { address in
            StatsReport.Provider.Address(address.endpoint.address, state: address.isWorking ? "up" : "down")
        }
        line.clockOffsetMilliseconds = Int(provider.clock.offsetMilliseconds)
        line.keyExchange = provider.keyExchange
        line.usesProxy = provider.settings.proxy != nil
        line.billed = billing.questions(of: provider).map {
            StatsReport.Provider.Billed(
                $0, quota: provider.settings.quota?.description, share: billing.quotaShare(of: provider),
                fleet: billing.fleetTotal(of: provider))
        }
        return line
    }

    /// - Parameter state: the state that the resolver gives the nameserver.
    package func report(of server: NamedServer, state: String) -> StatsReport.Provider {
        var line = StatsReport.Provider(name: server.name, dialect: "dns", state: state)
        line.requests = Int(server.requests)
        line.names = Int(server.requests)
        line.results["success"] = Int(server.answered)
        for (failure, count) in server.failures {
            line.results[failure.rawValue] = Int(count)
            line.failures[failure.rawValue] = Int(count)
        }
        line.set(server.latency, nameservers.connections(of: server), success: server.latest.share)
        line.addresses = server.settings.servers.map { StatsReport.Provider.Address("\($0)", state: "asked") }
        return line
    }
}

extension StatsReport.Provider {
    fileprivate mutating func set(_ latency: LatencyHistogram, _ connections: ConnectionCounts, success: Double?) {
        durations = StatsReport.Histogram(latency)
        latencyMilliseconds.p50 = (latency.percentile(50) ?? 0) / 1000
        latencyMilliseconds.p95 = (latency.percentile(95) ?? 0) / 1000
        self.connections = Connections(connections)
        self.success = success
    }
}

extension StatsReport.Provider.Connections {
    fileprivate init(_ counts: ConnectionCounts) {
        self.init()
        (open, opened, reused, retried) = (counts.open, counts.opened, counts.reused, counts.retried)
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
