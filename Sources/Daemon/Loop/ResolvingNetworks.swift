// How the resolving loop follows a network change: it ends work on the former network before the resolver asks again.

import LinuxIO
import Resolver

extension ResolvingLoop {
    /// Replaces the nameservers. A change indicates another network, so results of running probes would concern the
    /// former one.
    func setNameservers(_ servers: [Nameserver], now: Instant) {
        probes.abandonAll()
        system.setServers(servers, now: now)
    }

    /// Moves to another network; results of running probes would concern the former one.
    func networkChanged(to network: NetworkKey, now: Instant) {
        probes.abandonAll()
        // Failures while the routes were changing say nothing about this network.
        providers.resetAddresses(of: nil)
        handle(.network(.changed(network)), now: now)
    }

    /// Handles an intermediate step of a change: new requests use new connections.
    func networkUnsettled(now: Instant) {
        renewConnections(now: now)
        handle(.network(.unsettled), now: now)
    }

    /// Drops connections of the former network, even those that may still work: finding out costs a timeout, a new
    /// handshake some milliseconds.
    func renewConnections(now: Instant) { providers.renewConnections(now: now) }
}
