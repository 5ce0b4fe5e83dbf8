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

    /// Starts a fetch, unless another member of the fleet may have the answer.
    ///
    /// - Parameters:
    ///   - perSecond: queries for the question on this machine; nil: not known.
    ///   - life: lifetime of the cached answer that a refresh replaces; nil: there is none.
    /// - Returns: whether the fetch waits for the fleet.
    package func start(
        _ id: FetchID, _ question: Question, _ upstream: Upstream, _ purpose: FetchPurpose,
        perSecond: @autoclosure () -> Double?, replacing life: @autoclosure () -> Duration?, now: Instant
    ) -> Bool {
        switch upstream {
        case .system: system.start(id, question, now: now)
        case .nameserver(let nameserver): nameservers.start(id, question, nameserver, now: now)
        case .provider(let provider):
            if fleet.isOn, let asked = providers.provider(provider) {
                let request = FleetRequest(id: id, question: question, provider: provider, purpose: purpose)
                let (life, perSecond) = (life(), perSecond())
                if fleet.begin(request, at: asked, replacing: life, perSecond: perSecond, now: now) { return true }
            }
            providers.start(id, question, provider, for: purpose.holder, purpose.cause, now: now)
        }
        return false
    }

    /// Asks the provider of a fetch that the fleet has left to this member.
    package func ask(_ request: FleetRequest, now: Instant) {
        guard fleet.isOpen(request.id) else { return }
        let purpose = request.purpose
        providers.start(
            request.id, request.question, request.provider, for: purpose.holder, purpose.cause, now: now)
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

    /// Takes an event of the outbox that the resolver gets.
    package func heard(_ event: Event) { fleet.heard(event) }

    /// Sends the requests of this turn; several share one write. Before, shares with the fleet what providers have
    /// answered.
    ///
    /// - Parameter shareable: returns the answer as other members may have it; nil: each member asks the provider.
    package func send(now: Instant, shareable: (Question, Answer, ProviderID) -> Answer?) {
        fleet.share(now: now, by: providers, shareable)
        providers.flush(now: now)
    }

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
