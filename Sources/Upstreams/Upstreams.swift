// Asks upstreams: the one door for the resolver's fetches. A fetch is started once, ends once, and may be abandoned in
// between.

package import DNSWire
package import LinuxIO
package import Resolver

package final class Upstreams {
    package let providers: ProviderFetches
    package let system: SystemFetches
    package let nameservers: NamedServers
    package let fleet: FleetLink
    package let lists: AddressLists
    package let billing: Billing

    /// - Parameters:
    ///   - maxExchanges: limit of open sockets to nameservers.
    ///   - hasStore: the store may have notes of a former process, and is read later.
    package init(loop: EventLoop, outbox: any UpstreamOutbox, seed: UInt64, maxExchanges: Int, hasStore: Bool) {
        providers = ProviderFetches(loop: loop, outbox: outbox)
        system = SystemFetches(loop: loop, outbox: outbox, maxExchanges: maxExchanges)
        nameservers = NamedServers(asking: system, outbox: outbox)
        fleet = FleetLink(loop: loop, outbox: outbox, seed: seed)
        lists = AddressLists(providers, system, nameservers, outbox, hasStore: hasStore)
        billing = Billing(providers, fleet, outbox, hasStore: hasStore)
    }

    package var timedParts: [any TimedPart] { [providers, system, nameservers, fleet, lists, billing] }

    /// Upstreams that no route leads to.
    package var unreachable: Set<RankedID> { providers.unreachable.union(nameservers.unreachable) }

    // MARK: fetches

    package func start(_ id: FetchID, _ question: Question, _ upstream: Upstream, _ purpose: FetchPurpose, now: Instant)
    {
        switch upstream {
        case .system: system.start(id, question, now: now)
        case .nameserver(let nameserver): nameservers.start(id, question, nameserver, now: now)
        case .provider(let provider):
            providers.start(id, question, provider, for: purpose.holder, purpose.cause, now: now)
        }
    }

    /// Starts a fetch that only measures the provider.
    package func measure(_ id: FetchID, _ question: Question, _ provider: ProviderID, now: Instant) {
        providers.start(id, question, provider, now: now)
    }

    package func abandon(_ id: FetchID, now: Instant) {
        providers.abandon(id, now: now)
        system.abandon(id)
        nameservers.abandon(id, now: now)
        fleet.abandon(id)
    }

    /// Whether `reportResults` has something to report.
    package var hasResults: Bool {
        providers.hasFinished || system.hasFinished || nameservers.hasFinished || fleet.hasOutcomes
    }

    /// Reports the results of fetches. In this order, a provider's answer precedes a nameserver's of the same turn.
    package func reportResults() {
        fleet.reportOutcomes()
        providers.reportResults()
        system.reportResults()
        nameservers.reportResults()
        providers.reportExits()
    }

    /// Sends the requests of this turn; several share one write.
    package func flush(now: Instant) { providers.flush(now: now) }

    /// Takes what providers' replies have shown.
    package func take(_ news: ProviderNews, now: Instant) {
        switch news {
        case .billed(let provider, let causes): billing.billed(provider, causes, now: now)
        case .nodes(let provider, let reply): lists.cameWithAnswer(reply, of: provider, now: now)
        case .addressFailed(let provider, let isWrongNode):
            lists.addressFailed(provider, isWrongNode: isWrongNode, now: now)
        }
    }

    // MARK: changes

    /// - Parameter provider: nil for all.
    package func reset(_ provider: ProviderID?) {
        providers.reset(provider)
        if provider == nil { nameservers.reset() }
    }

    /// Drops connections of the former network, even those that may still work: finding out costs a timeout, a new
    /// handshake some milliseconds.
    package func renewConnections(now: Instant) {
        providers.renewConnections(now: now)
        system.renew()
    }
}
