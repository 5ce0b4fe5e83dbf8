// Usable upstreams according to the settings, the system's files and the routes. Informs the resolver and the fetches
// of each change.

import DNSWire
import LinuxIO
import Resolver
import Serving
import Settings
import Upstreams

final class UpstreamsInForce {
    /// The system's nameservers, and the file that names them.
    private(set) var nameservers = NameserverSources.none

    let files: LocalFiles
    let nat64: NAT64
    private let ports: PortBinding
    private let upstreams: Upstreams
    private let probes: Probes
    private let outbox: Outbox
    private var accounts: [ProviderAccount] = []
    private var named = NameserverSetup.none
    /// Links whose servers rules may ask.
    private var links = LinkDomains()

    init(
        _ upstreams: Upstreams, _ probes: Probes, _ outbox: Outbox, _ serving: ServingState, _ files: LocalFiles,
        _ ports: PortBinding
    ) {
        (self.upstreams, self.probes, self.outbox) = (upstreams, probes, outbox)
        (self.files, self.ports) = (files, ports)
        nat64 = NAT64(upstreams, outbox, serving)
    }

    /// Takes effect at the next announcement.
    func setAccounts(_ accounts: [ProviderAccount], _ named: NameserverSetup) {
        (self.accounts, self.named) = (accounts, named)
    }

    /// Takes effect at the next announcement.
    func setLinks(_ links: LinkDomains, now: Instant) {
        let former = askable
        self.links = links
        if askable != former { setServers(nameservers.list.options, now: now) }
    }

    /// The system's nameservers without those of a link, which are in the same file; all if there are no others.
    private var askable: [Nameserver] {
        let aside = links.serversAside
        let others = nameservers.list.servers.filter { !aside.contains($0.address) }
        return others.isEmpty || nameservers.path == nil ? nameservers.list.servers : others
    }

    /// Another server indicates another network: results of running probes would concern the former one.
    private func setServers(_ options: NameserverOptions, now: Instant) {
        probes.abandonAll()
        upstreams.system.setServers(askable, options, now: now)
    }

    /// Announces the providers; some of them may be unreachable.
    func announce(now: Instant) {
        let traits =
            upstreams.providers.setProviders(accounts)
            + upstreams.nameservers.setServers(named, links.links)
        outbox.put(
            .event(.upstreamsChanged(providers: traits, hasSystem: upstreams.system.hasReachableServer)))
        nat64.providersChanged()
        upstreams.lists.begin(now: now)
    }

    /// Notes another network.
    func networkChanged(now: Instant) { upstreams.lists.networkChanged(now: now) }

    /// Takes effect at the next announcement, too.
    ///
    /// - Parameter areOthers: servers with unchanged addresses are different servers, or are reached differently.
    func readNameservers(_ settings: Settings.SystemResolver, areOthers: Bool, now: Instant) {
        let new = UpstreamsInForce.nameservers(settings, files, ports.addresses) { [outbox] path, error in
            outbox.log(.fileUnreadable(path: path, reason: error.description))
        }
        let isOther = new.list != nameservers.list || new.path != nameservers.path
        let former = nameservers
        nameservers = new
        if areOthers || new.list.servers != former.list.servers || new.list.options != former.list.options {
            setServers(new.list.options, now: now)
        }
        guard isOther || areOthers else { return }
        upstreams.lists.nameserversChanged(now: now)
        guard isOther else { return }
        outbox.log(
            .nameserversChanged(new.list, from: new.path == settings.resolvConf ? nil : new.path))
    }

    /// - Parameter listen: the daemon's own addresses, which are left out.
    static func nameservers(
        _ settings: Settings.SystemResolver, _ files: LocalFiles, _ listen: [SocketAddress],
        complain: ((_ path: String, SystemError) -> Void)? = nil
    ) -> NameserverSources {
        let ourselves = ListenAddresses(
            listen.map { ($0.address, $0.port) }, interfaces: Interfaces.addresses())
        return NameserverSources(
            configured: settings.servers.map(Nameserver.init), resolvConf: settings.resolvConf,
            contents: files.readNameserverFiles(complain: complain), without: ourselves)
    }
}
