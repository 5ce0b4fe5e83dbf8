// What a change of the network means for the resolving loop: what stands on the former network goes before the resolver
// asks anew.

import LinuxIO
import Resolver

extension ResolvingLoop {
    /// Others are the sign of another network that there is: what probes under way find would be about the former one.
    func setNameservers(_ servers: [Nameserver], now: Instant) {
        probes.abandonAll()
        system.setServers(servers, now: now)
    }

    /// What probes find would be about the former network.
    func networkChanged(to network: NetworkKey, now: Instant) {
        probes.abandonAll()
        // What failed while the routes were on their way says nothing of this network.
        providers.resetAddresses(of: nil)
        handle(.network(.changed(network)), now: now)
    }

    /// A step of a change: what is asked from now on takes new connections.
    func networkUnsettled(now: Instant) {
        renewConnections(now: now)
        handle(.network(.unsettled), now: now)
    }

    /// Those of the former network lead nowhere.
    func renewConnections(now: Instant) { providers.renewConnections(now: now) }
}
