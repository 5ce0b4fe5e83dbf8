// The links whose nameservers rules may ask: reads what `LinkMonitor` follows, and puts it in force. The tables of the
// kernel tell which links are tunnels, and which have ended.

import DNSWire
import LinuxIO
import Resolver
import Upstreams

final class LinksInForce {
    let monitor: LinkMonitor
    private let policy: PolicyInForce
    private let upstreams: UpstreamsInForce
    private let network: NetworkMonitor?
    private let ports: PortBinding
    private let outbox: Outbox
    /// `NetworkMonitor.routeChanges` when the links were last read.
    private var readFor: Int?

    /// - Parameter network: nil: the settings disable that it is followed.
    init(
        _ monitor: LinkMonitor, _ policy: PolicyInForce, _ upstreams: UpstreamsInForce, _ network: NetworkMonitor?,
        _ ports: PortBinding, _ outbox: Outbox
    ) {
        (self.monitor, self.policy, self.upstreams, self.network) = (monitor, policy, upstreams, network)
        (self.ports, self.outbox) = (ports, outbox)
    }

    /// To be called in each turn, after the routes were read.
    func followRoutes(now: Instant) {
        if monitor.isOn, network?.routeChanges != readFor { read(now: now) }
    }

    func read(now: Instant) {
        readFor = network?.routeChanges
        let former = policy.links
        policy.setLinks(monitor.links(without: ports.addresses, network))
        let links = policy.links
        guard links != former else { return }
        for link in former.links where !links.links.contains(where: { $0.name == link.name }) {
            outbox.log(.nameserver(.linkEnded(link.name)))
        }
        upstreams.setLinks(links, now: now)
        upstreams.announce(now: now)
        policy.renew(now: now)
        for link in links.links where !former.links.contains(where: { $0.isSame(as: link) }) {
            outbox.log(.nameserver(.announced(link, ignored: policy.ignoredDomains(of: link))))
        }
    }
}
