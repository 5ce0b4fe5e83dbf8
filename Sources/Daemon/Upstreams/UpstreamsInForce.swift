// Usable upstreams according to the settings, the system's files and the routes. Informs the resolver and the fetches
// of each change.

import DNSWire
import LinuxIO
import Resolver
import Serving
import Settings

final class UpstreamsInForce {
    /// The system's nameservers, and the file that names them.
    private(set) var nameservers = NameserverSources.none

    let files: LocalFiles
    let nat64: NAT64
    let addressLists: AddressLists
    let billing: Billing
    private let ports: PortBinding
    private let resolving: ResolvingLoop
    private var accounts: [ProviderAccount] = []
    private var named = NameserverSetup.none
    /// Links whose servers rules may ask.
    private var links = LinkDomains()

    init(_ resolving: ResolvingLoop, _ cache: AnswerCache, _ files: LocalFiles, _ ports: PortBinding) {
        (self.resolving, self.files, self.ports) = (resolving, files, ports)
        nat64 = NAT64(resolving, cache, resolving.answers.serving)
        (addressLists, billing) = (AddressLists(resolving), Billing(resolving))
    }

    var timedParts: [any TimedPart] { [addressLists, billing, nat64] }

    /// Takes effect at the next announcement.
    func setAccounts(_ accounts: [ProviderAccount], _ named: NameserverSetup) {
        (self.accounts, self.named) = (accounts, named)
    }

    /// Takes effect at the next announcement.
    func setLinks(_ links: LinkDomains, now: Instant) {
        let former = askable
        self.links = links
        if askable != former { resolving.setNameservers(askable, nameservers.list.options, now: now) }
    }

    /// The system's nameservers without those of a link, which are in the same file; all if there are no others.
    private var askable: [Nameserver] {
        let aside = links.serversAside
        let others = nameservers.list.servers.filter { !aside.contains($0.address) }
        return others.isEmpty || nameservers.path == nil ? nameservers.list.servers : others
    }

    /// Announces the providers; some of them may be unreachable.
    func announce(now: Instant) {
        let traits =
            resolving.upstreams.providers.setProviders(accounts)
            + resolving.upstreams.nameservers.setServers(named, links.links)
        resolving.handle(
            .upstreamsChanged(providers: traits, hasSystem: resolving.upstreams.system.hasReachableServer), now: now)
        nat64.providersChanged(now: now)
        addressLists.begin(now: now)
    }

    /// Notes another network.
    func networkChanged(now: Instant) { addressLists.networkChanged(now: now) }

    /// Takes effect at the next announcement, too.
    ///
    /// - Parameter areOthers: servers with unchanged addresses are different servers, or are reached differently.
    func readNameservers(_ settings: Settings.SystemResolver, areOthers: Bool, now: Instant) {
        let new = UpstreamsInForce.nameservers(settings, files, ports.addresses) { [resolving] path, error in
            resolving.outbox.log(.fileUnreadable(path: path, reason: error.description))
        }
        let isOther = new.list != nameservers.list || new.path != nameservers.path
        let former = nameservers
        nameservers = new
        if areOthers || new.list.servers != former.list.servers || new.list.options != former.list.options {
            resolving.setNameservers(askable, new.list.options, now: now)
        }
        guard isOther || areOthers else { return }
        addressLists.nameserversChanged(now: now)
        guard isOther else { return }
        resolving.outbox.log(
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
