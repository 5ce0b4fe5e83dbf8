// Asks upstreams: the one door for the resolver's fetches. A fetch is started once, ends once, and may be abandoned in
// between.

import DNSWire
import LinuxIO
import Resolver

final class Upstreams {
    let providers: ProviderFetches
    let system: SystemFetches
    let nameservers: NamedServers
    let fleet: FleetLink

    init(loop: EventLoop, outbox: Outbox, seed: UInt64) {
        providers = ProviderFetches(loop: loop, outbox: outbox)
        system = SystemFetches(loop: loop, outbox: outbox)
        nameservers = NamedServers(asking: system, outbox: outbox)
        fleet = FleetLink(loop: loop, outbox: outbox, seed: seed)
    }

    var timedParts: [any TimedPart] { [providers, system, nameservers, fleet] }

    /// Returns the name of an upstream; nil if it was removed.
    func name(of id: ProviderID) -> String? { providers.name(of: id) ?? nameservers[id]?.name }

    /// Upstreams that no route leads to.
    var unreachable: Set<ProviderID> { providers.unreachable.union(nameservers.unreachable) }

    // MARK: fetches

    func start(_ id: FetchID, _ question: Question, _ upstream: Upstream, _ purpose: FetchPurpose, now: Instant) {
        switch upstream {
        case .system: system.start(id, question, now: now)
        case .provider(let provider):
            if let server = nameservers[provider] { return nameservers.start(id, question, server, now: now) }
            providers.start(id, question, provider, for: purpose.holder, purpose.cause, now: now)
        }
    }

    /// Starts a fetch that only measures the provider.
    func measure(_ id: FetchID, _ question: Question, _ provider: ProviderID, now: Instant) {
        providers.start(id, question, provider, now: now)
    }

    func abandon(_ id: FetchID, now: Instant) {
        providers.abandon(id, now: now)
        system.abandon(id)
        nameservers.abandon(id, now: now)
        fleet.abandon(id)
    }

    /// Whether `reportResults` has something to report.
    var hasResults: Bool {
        providers.hasFinished || system.hasFinished || nameservers.hasFinished || fleet.hasOutcomes
    }

    /// Reports the results of fetches. In this order, a provider's answer precedes a nameserver's of the same turn.
    func reportResults() {
        fleet.reportOutcomes()
        providers.reportResults()
        system.reportResults()
        nameservers.reportResults()
        providers.reportExits()
    }

    /// Sends the requests of this turn; several share one write.
    func flush(now: Instant) { providers.flush(now: now) }

    // MARK: changes

    /// - Parameter provider: nil for all.
    func reset(_ provider: ProviderID?) {
        providers.reset(provider)
        nameservers.reset(provider)
    }

    /// Drops connections of the former network, even those that may still work: finding out costs a timeout, a new
    /// handshake some milliseconds.
    func renewConnections(now: Instant) {
        providers.renewConnections(now: now)
        system.renew()
    }
}
