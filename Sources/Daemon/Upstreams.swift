// Who can be asked, as the settings, the files of the system and the routes have it: tells the resolver and those who
// carry requests whenever one of these has changed. Says for the log what the operator should know.

import DNSWire
import LinuxIO
import Resolver
import Settings

final class Upstreams {
    /// The nameservers of the system, and where they are named.
    private(set) var nameservers = NameserverSources.none

    private let files: LocalFiles
    private let ports: PortBinding
    private let resolving: ResolvingLoop
    private let translation: Translation
    private let nodeLists: NodeLists
    private var accounts: [ProviderAccount] = []

    init(
        files: LocalFiles, ports: PortBinding, resolving: ResolvingLoop, translation: Translation, nodeLists: NodeLists
    ) {
        self.files = files
        self.ports = ports
        self.resolving = resolving
        self.translation = translation
        self.nodeLists = nodeLists
    }

    /// In force with the next announcement.
    func setAccounts(_ accounts: [ProviderAccount]) { self.accounts = accounts }

    /// Perhaps not all of them can be reached any more.
    func announce(now: Instant) {
        let traits = resolving.providers.setProviders(accounts)
        resolving.handle(
            .upstreamsChanged(providers: traits, hasSystem: resolving.system.hasReachableServer), now: now)
        translation.providersChanged(now: now)
        nodeLists.begin(now: now)
    }

    /// In force with the next announcement, too.
    ///
    /// - Parameter areOthers: servers with the same addresses are others, or lead elsewhere.
    func readNameservers(_ settings: Settings.SystemResolver, areOthers: Bool, now: Instant) -> [LogEvent] {
        var news: [LogEvent] = []
        let new = Upstreams.nameservers(settings, files, ports) {
            news.append(.fileUnreadable(path: $0, reason: $1.description))
        }
        let isOther = new.list != nameservers.list || new.path != nameservers.path
        if areOthers || new.list.servers != nameservers.list.servers {
            resolving.setNameservers(new.list.servers, now: now)
        }
        nameservers = new
        guard isOther else { return news }
        return news + [.nameserversChanged(new.list, from: new.path == settings.resolvConf ? nil : new.path)]
    }

    static func nameservers(
        _ settings: Settings.SystemResolver, _ files: LocalFiles, _ ports: PortBinding,
        complain: ((_ path: String, SystemError) -> Void)? = nil
    ) -> NameserverSources {
        let ourselves = ListenAddresses(
            ports.addresses.map { (Address($0), $0.port) }, interfaces: Interfaces.addresses().map(Address.init))
        return NameserverSources(
            configured: settings.servers.map(Nameserver.init), resolvConf: settings.resolvConf,
            contents: files.readNameserverFiles(complain: complain), without: ourselves)
    }
}
