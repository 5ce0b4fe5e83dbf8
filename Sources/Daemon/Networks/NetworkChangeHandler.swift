// Carries out a network change: serves another partition of the cache, renews connections and servers, then informs
// the resolver, in this order. `NetworkChanges` has decided that the network has changed.

import DNSWire
import LinuxIO
import Network
import Resolver
import Serving
import Settings
import Upstreams

final class NetworkChangeHandler: TimedPart {
    let network: NetworkMonitor

    private let cache: AnswerCache
    private let resolving: ResolvingLoop
    private let outbox: Outbox
    private let upstreamsInForce: UpstreamsInForce
    private var settings: Settings
    /// The route out is changing or gone: entries of the network in force are not served.
    private var isInTransit = false
    /// The network whose partition is served in transit; nil: none.
    private var candidate: NetworkID?
    private var served: Partition?
    /// `NetworkMonitor.routeChanges` at the last renewal of connections.
    private var renewedFor = 0
    /// The stored notes have been delivered; an earlier note would overwrite them.
    private var knowsPast = false

    init(
        _ network: NetworkMonitor, _ cache: AnswerCache, _ resolving: ResolvingLoop,
        _ upstreamsInForce: UpstreamsInForce, _ settings: Settings
    ) {
        self.network = network
        self.cache = cache
        (self.resolving, outbox) = (resolving, resolving.outbox)
        self.upstreamsInForce = upstreamsInForce
        self.settings = settings
        outbox.put(.event(.network(.changed(network.id))))
    }

    func configure(_ settings: Settings, now: Instant) {
        self.settings = settings
        setPartition(now: now)
    }

    var timer: PartTimer { network.timer }
    var nextDeadline: Instant? { network.nextDeadline }

    /// `follow` does what is due, before all timers.
    func timePassed(now: Instant) {}

    /// Follows the network; call it in every turn of the loop.
    ///
    /// - Parameter lateBy: delay of the turn after its deadline; zero if there was no deadline.
    func follow(lateBy: Duration, now: Instant) {
        let hadWayOut = network.hasWayOut
        network.timePassed(lateBy: lateBy, now: now)
        guard network.hasNews else { return }
        if hadWayOut, !network.hasWayOut { outbox.log(.networkLost) }
        let enteredAt = network.enteredAt
        takeActions(now: now)
        // Answers that arrive without a route out belong to another network: a nameserver on the link may still
        // answer.
        if hadWayOut, !network.hasWayOut { changing(now: now) }
        if !hadWayOut, network.enteredAt == enteredAt, !network.isChanging { stable(now: now) }
        // A connection may use a route that has changed since. Without a route out, these changes may be the start of
        // the next network change.
        if isInTransit, network.routeChanges != renewedFor { changing(now: now) }
        if isInTransit, network.candidate != candidate { setPartition(now: now) }
        if network.takeReachNews(now: now) { followRoutes(now: now) }
    }

    /// Takes the addresses that providers reported for this machine.
    func take(_ exits: [ReportedExit], now: Instant) {
        var isNews = false
        for report in exits {
            isNews = network.reported(report.address, by: report.provider, askedAt: report.askedAt, now: now) || isNews
        }
        if isNews { keepHistory(now: now) }
    }

    private func takeActions(now: Instant) {
        for action in network.takeActions() {
            switch action {
            case .changing: changing(now: now)
            case .unchanged: stable(now: now)
            case .changed(let change): enter(change, now: now)
            case .reach, .solicit: break
            }
        }
    }

    /// Starts the transit to another network: what was learned so far no longer counts as fresh on any thread.
    private func changing(now: Instant) {
        isInTransit = true
        renewedFor = network.routeChanges
        setPartition(now: now)
        resolving.upstreams.renewConnections(now: now)
        outbox.put(.event(.network(.changing)))
    }

    /// Ends the transit: the network is the same as before.
    private func stable(now: Instant) {
        guard network.hasWayOut else { return }
        isInTransit = false
        setPartition(now: now)
        outbox.put(.event(.network(.unchanged)))
        followRoutes(now: now)
    }

    /// Reports the search domains of resolv.conf.
    func found(searchDomains: [Name], now: Instant) { network.found(searchDomains: searchDomains, now: now) }

    /// Carries out a change that replies have shown, and reports the first upstream answer after one.
    func followReplies(now: Instant) {
        if network.hasChange { takeActions(now: now) }
        guard network.isRecovering,
            let time = network.noteAnswers(askedAt: resolving.activity.askedAt, learnedAt: resolving.activity.learnedAt)
        else { return }
        outbox.log(.networkRecovered(after: time))
    }

    /// Restores the stored notes.
    func restore(_ notes: [String: String], now: Instant) {
        knowsPast = true
        forget(network.restore(notes, now: now), now: now)
        keepHistory(now: now)
        setPartition(now: now)
    }

    private func keepHistory(now: Instant) {
        if knowsPast { resolving.store?.note(NetworkMonitor.note, network.history.encoded, now: now) }
    }

    /// Selects the partition of the cache to serve, and the partitions for last-resort answers.
    private func setPartition(now: Instant) {
        candidate = network.candidate
        let inUse = isInTransit ? candidate : network.id
        let partition = inUse.map { Partition($0, settings.providers) } ?? .inTransit
        resolving.answers.serving.set(partition, settings)
        // The known networks, the latest first.
        let known = [network.id] + network.history.known.map(\.id).filter { $0 != network.id }
        resolving.setOtherNetworks(known.filter { $0 != inUse }.map { Partition($0, settings.providers) })
        if served != partition { resolving.answerFromCache(now: now) }
        served = partition
    }

    private func enter(_ change: NetworkChange, now: Instant) {
        let former = network.id
        let forgotten = network.entered(change, now: now)
        if let carrier = change.carrier {
            forget(Partition(former, settings.providers), since: carrier.since, now: now)
        }
        // In transit, connections were renewed at the last route change, so the present ones use the new network.
        if !isInTransit { resolving.upstreams.renewConnections(now: now) }
        isInTransit = false
        setPartition(now: now)
        outbox.log(
            .networkChanged(
                id: network.id.description, words: change.identity.words, cause: change.cause))
        upstreamsInForce.readNameservers(settings.systemResolver, areOthers: true, now: now)
        followRoutes(now: now)
        outbox.put(.networkChanged(network.id))
        upstreamsInForce.networkChanged(now: now)
        forget(forgotten, now: now)
        keepHistory(now: now)
    }

    private func followRoutes(now: Instant) {
        // Reachability is reported here, so its pending news is dropped.
        _ = network.takeReachNews(now: now)
        // Routes change before their network is known.
        upstreamsInForce.nat64.networkChanged(
            to: network.isChanging ? nil : network.id, reach: network.reach,
            advertised: network.advertisedPrefixes(now: now), now: now)
        upstreamsInForce.announce(now: now)
    }

    /// Forgets the answers of a network that were learned at `since` or later.
    private func forget(_ partition: Partition, since: Instant, now: Instant) {
        // The answers are removed from every partition: groups of clients have partitions of their own, and a network
        // that is not in use gets no entries.
        _ = cache.remove(storedSinceMilliseconds: Clock.millisecondsSinceBoot(since))
        resolving.store?.forget(
            partition.rawValue,
            storedSinceMilliseconds: Clock.wallMilliseconds() - Int64(since.duration(to: now).wholeMilliseconds),
            now: now)
    }

    private func forget(_ networks: [NetworkID], now: Instant) {
        guard !networks.isEmpty else { return }
        let others = Set(network.history.known.map(\.id) + [network.id]).subtracting(networks)
        _ = cache.keepOnly(Set(others.map { Partition($0, settings.providers) }))
        for network in networks {
            resolving.store?.forget(Partition(network, settings.providers).rawValue, now: now)
            outbox.put(.event(.network(.forgotten(network))))
        }
    }
}
