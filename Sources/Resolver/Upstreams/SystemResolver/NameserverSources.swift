// Selects the file with the system's real nameservers. Once resolv.conf names this daemon, the network software keeps
// the learned nameservers in a file of its own. The first such file with another server is used. Reads no file; its
// inputs are text and addresses.

package import DNSWire

package struct NameserverSources: Equatable, Sendable {
    /// The nameservers of the file, without this daemon.
    package let list: NameserverList
    /// The file or directory of files that the nameservers come from; nil: the settings name them.
    package let path: String?
    /// Search domains in lower case, from the same file, or from resolv.conf if that file has none.
    package let searchDomains: [Name]

    /// Files to try in this order, after resolv.conf. A path that ends with "/" is a directory: all files in it count
    /// as one.
    ///
    /// - systemd-resolved.service(8): always kept up to date, with all servers known to it.
    /// - NetworkManager, with a local cache in between (`dns=dnsmasq` or `systemd-resolved`), and without
    ///   (NetworkManager.conf(5), rc-manager).
    /// - dhcpcd 9 without resolvconf(8) (hooks/20-resolv.conf): one file for each interface and protocol.
    /// - resolvconf(8) of Debian, and openresolv's: the entries that each interface's tool has handed in.
    /// - `httpdnsctl system use`: the content of resolv.conf before it named this daemon. Last, because no program
    ///   updates it.
    package static let paths = [
        "/run/systemd/resolve/resolv.conf", "/run/NetworkManager/no-stub-resolv.conf",
        "/run/NetworkManager/resolv.conf", "/run/dhcpcd/hook-state/resolv.conf/", "/run/resolvconf/interface/",
        "/run/resolvconf/interfaces/", "/var/lib/httpdnsd-system/resolv.conf",
    ]

    /// The value before any file is read.
    package static let none = NameserverSources(
        list: NameserverList([], without: ListenAddresses([])), path: nil, searchDomains: [])

    private init(list: NameserverList, path: String?, searchDomains: [Name]) {
        self.list = list
        self.path = path
        self.searchDomains = searchDomains
    }

    /// - Parameters:
    ///   - configured: servers named by the settings; empty: the files are used.
    ///   - resolvConf: the path named by the settings.
    ///   - contents: the files' contents by path. A missing path counts as an empty file.
    ///   - ourselves: the addresses that the daemon listens on.
    package init(
        configured: [Nameserver], resolvConf: String, contents: [String: [UInt8]], without ourselves: ListenAddresses
    ) {
        let paths = [resolvConf] + NameserverSources.paths.filter { $0 != resolvConf }
        let files = paths.map { path in
            let text = ResolvConf(contents[path] ?? [])
            return (path: path, text: text, list: NameserverList(text, without: ourselves))
        }
        // The stub of systemd-resolved asks the servers of its own file. Asking them directly is shorter and cannot
        // loop.
        let real = files.first { $0.list.servers.contains { !$0.isResolvedStub } }
        let used = real ?? files.first { !$0.list.servers.isEmpty } ?? files[0]
        let isCopy = real != nil && used.path != resolvConf
        let found = isCopy ? NameserverList(used.text, without: ourselves, orResolvedStub: true) : used.list
        list = configured.isEmpty ? found : NameserverList(configured, without: ourselves)
        path = configured.isEmpty ? used.path : nil
        searchDomains = used.text.searchDomains.isEmpty ? files[0].text.searchDomains : used.text.searchDomains
    }
}
