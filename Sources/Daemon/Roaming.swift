// Carries out what follows when the machine is on another network: another part of the cache is served, connections and
// servers are renewed, and the resolver is told, in this order. Decides nothing; says for the log what has happened.

import AnswerCache
import DNSWire
import LinuxIO
import Network
import Resolver
import Settings

final class Roaming {
    let network: NetworkFollower

    private let cache: AnswerCache
    private let view: ServingView
    private let resolving: ResolvingLoop
    private let translation: Translation
    private let upstreams: Upstreams
    /// The way out is changing or gone: the part of the cache of the network in force is not served.
    private var isInTransit = false
    /// The network whose part is served in transit; nil: none is.
    private var candidate: NetworkID?
    private var served: Partition?
    /// `NetworkFollower.routeChanges` when connections were renewed last.
    private var renewedFor = 0
    /// What the store has kept was told: a note before that would take its place.
    private var knowsPast = false

    init(
        _ network: NetworkFollower, _ cache: AnswerCache, _ view: ServingView, _ resolving: ResolvingLoop,
        _ translation: Translation, _ upstreams: Upstreams
    ) {
        self.network = network
        self.cache = cache
        self.view = view
        self.resolving = resolving
        self.translation = translation
        self.upstreams = upstreams
        resolving.handle(.network(.changed(NetworkKey(network.id.rawValue))), now: Clock.now())
    }

    var nextDeadline: Instant? { network.nextDeadline }

    /// In every turn of the loop.
    ///
    /// - Parameter lateBy: how much later than its deadline the turn has come; zero where it had none.
    func follow(_ settings: Settings, lateBy: Duration, now: Instant) -> [LogEvent] {
        let hadWayOut = network.hasWayOut
        network.timePassed(lateBy: lateBy, now: now)
        var news: [LogEvent] = hadWayOut && !network.hasWayOut ? [.networkLost] : []
        let enteredAt = network.enteredAt
        for action in network.takeActions() {
            switch action {
            case .unsettled: unsettled(settings, now: now)
            case .unchanged: settled(settings, now: now)
            case .changed(let change): news += enter(change, settings, now: now)
            case .reach, .solicit: break
            }
        }
        // What comes while nothing leads out is of some other network: a nameserver on the link may still answer.
        if hadWayOut, !network.hasWayOut { unsettled(settings, now: now) }
        if !hadWayOut, network.enteredAt == enteredAt, !network.isUnsettled { settled(settings, now: now) }
        // A connection may have been made over a route that is another one now. Without a way out, these changes may be
        // the beginning of the next one.
        if isInTransit, network.routeChanges != renewedFor { unsettled(settings, now: now) }
        if isInTransit, network.candidate != candidate { setView(settings, now: now) }
        if network.takeReachNews(now: now) { followRoutes(now: now) }
        return news
    }

    /// What was learned so far is another network's from now on: no entry is given as fresh, by no thread.
    private func unsettled(_ settings: Settings, now: Instant) {
        isInTransit = true
        renewedFor = network.routeChanges
        setView(settings, now: now)
        resolving.networkUnsettled(now: now)
    }

    /// It is the network that it was.
    private func settled(_ settings: Settings, now: Instant) {
        guard network.hasWayOut else { return }
        isInTransit = false
        setView(settings, now: now)
        resolving.handle(.network(.unchanged), now: now)
        followRoutes(now: now)
    }

    /// Of resolv.conf.
    func found(searchDomains: [Name], now: Instant) { network.found(searchDomains: searchDomains, now: now) }

    /// The first answer of an upstream since the network has changed, once.
    func noteRecovery() -> LogEvent? {
        network.noteAnswers(askedAt: resolving.askedAt, learnedAt: resolving.learnedAt).map {
            .networkRecovered(after: $0)
        }
    }

    /// What the store has kept.
    func restore(_ notes: [String: String], _ settings: Settings, now: Instant) {
        knowsPast = true
        forget(network.restore(notes), settings, now: now)
        keepHistory(now: now)
        setView(settings, now: now)
    }

    private func keepHistory(now: Instant) {
        if knowsPast { resolving.store?.note(NetworkFollower.note, network.history.encoded, now: now) }
    }

    /// Which part of the cache is served, and in which others something is looked for when there is nothing else.
    func setView(_ settings: Settings, now: Instant) {
        candidate = network.candidate
        let inUse = isInTransit ? candidate : network.id
        let partition = inUse.map { Partition($0, settings.providers) } ?? .inTransit
        view.set(partition, settings.providers)
        // The latest first.
        let known = [network.id] + network.history.known.map(\.id).filter { $0 != network.id }
        resolving.setOtherNetworks(known.filter { $0 != inUse }.map { Partition($0, settings.providers) })
        if served != partition { resolving.answerFromCache(now: now) }
        served = partition
    }

    private func enter(_ change: NetworkChange, _ settings: Settings, now: Instant) -> [LogEvent] {
        let forgotten = network.entered(change, now: now)
        // In transit they were renewed at the last change of routes: the present ones lead over the new network.
        if !isInTransit { resolving.renewConnections(now: now) }
        isInTransit = false
        setView(settings, now: now)
        let news = upstreams.readNameservers(settings.systemResolver, areOthers: true, now: now)
        followRoutes(now: now)
        resolving.networkChanged(to: NetworkKey(network.id.rawValue), now: now)
        forget(forgotten, settings, now: now)
        keepHistory(now: now)
        let words = change.identity.words
        return [.networkChanged(id: network.id.description, words: words, cause: change.cause)] + news
    }

    private func followRoutes(now: Instant) {
        // Told here, whatever was the reason to look.
        _ = network.takeReachNews(now: now)
        // Routes change before it is known which network they are of.
        translation.networkChanged(
            to: network.isUnsettled ? nil : network.id, reach: network.reach,
            advertised: network.advertisedPrefixes(now: now), now: now)
        upstreams.announce(now: now)
    }

    private func forget(_ networks: [NetworkID], _ settings: Settings, now: Instant) {
        for network in networks {
            let partition = Partition(network, settings.providers)
            _ = cache.remove(partition)
            resolving.store?.forget(partition.rawValue, now: now)
            resolving.handle(.network(.forgotten(NetworkKey(network.rawValue))), now: now)
        }
    }
}
