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

    /// What stands on the former network goes before the resolver asks anew: connections lead nowhere, and what probes
    /// find would be about the former one.
    func networkChanged(to network: NetworkKey, now: Instant) {
        probes.abandonAll()
        providers.renewConnections(now: now)
        handle(.network(.changed(network)), now: now)
    }

    /// The way out is changing or gone: what is asked from now on takes new connections.
    func networkUnsettled(now: Instant) {
        providers.renewConnections(now: now)
        handle(.network(.unsettled), now: now)
    }
}
