// Which file names the real nameservers of the system. Once resolv.conf names us, whoever learns the nameservers from
// the network keeps them in a file of its own; the first such file that names somebody else is taken. It reads no file;
// what it is given is text and addresses.

package import DNSWire

package struct NameserverSources: Equatable, Sendable {
    /// Those of the file, without ourselves.
    package let list: NameserverList
    /// The file that they come from, or a directory of files; nil: the settings name them.
    package let path: String?
    /// Lower case; of the same file, or of resolv.conf where that has none.
    package let searchDomains: [Name]

    /// In this order, behind resolv.conf. One that ends with "/" is a directory: all files in it count as one.
    ///
    /// - systemd-resolved.service(8): always kept up to date, with all servers known to it.
    /// - NetworkManager, with a local cache in between (`dns=dnsmasq` or `systemd-resolved`), and without
    ///   (NetworkManager.conf(5), rc-manager).
    /// - dhcpcd 9 without resolvconf(8) (hooks/20-resolv.conf): one file for each interface and protocol.
    /// - resolvconf(8) of Debian, and openresolv's: what each interface's tool has handed in.
    /// - `httpdnsctl system use`: what stood in resolv.conf before it named us. Last, as nobody keeps it up to date.
    package static let paths = [
        "/run/systemd/resolve/resolv.conf", "/run/NetworkManager/no-stub-resolv.conf",
        "/run/NetworkManager/resolv.conf", "/run/dhcpcd/hook-state/resolv.conf/", "/run/resolvconf/interface/",
        "/run/resolvconf/interfaces/", "/var/lib/httpdnsd-system/resolv.conf",
    ]

    /// Before anything is read.
    package static let none = NameserverSources(
        list: NameserverList([], without: ListenAddresses([])), path: nil, searchDomains: [])

    private init(list: NameserverList, path: String?, searchDomains: [Name]) {
        self.list = list
        self.path = path
        self.searchDomains = searchDomains
    }

    /// - Parameters:
    ///   - configured: servers that the settings name; empty: the files do.
    ///   - resolvConf: the path that the settings name.
    ///   - contents: what stands in the files, by path; what is missing there is an empty file.
    ///   - ourselves: the addresses that the daemon listens on.
    package init(
        configured: [Nameserver], resolvConf: String, contents: [String: [UInt8]], without ourselves: ListenAddresses
    ) {
        let paths = [resolvConf] + NameserverSources.paths.filter { $0 != resolvConf }
        let files = paths.map { path in
            let text = ResolvConf(contents[path] ?? [])
            return (path: path, text: text, list: NameserverList(text, without: ourselves))
        }
        // systemd-resolved's stub asks those who stand in its own file: directly is shorter, and cannot come back.
        let real = files.first { $0.list.servers.contains { !$0.isResolvedStub } }
        let used = real ?? files.first { !$0.list.servers.isEmpty } ?? files[0]
        let isCopy = real != nil && used.path != resolvConf
        let found = isCopy ? NameserverList(used.text, without: ourselves, orResolvedStub: true) : used.list
        list = configured.isEmpty ? found : NameserverList(configured, without: ourselves)
        path = configured.isEmpty ? used.path : nil
        searchDomains = used.text.searchDomains.isEmpty ? files[0].text.searchDomains : used.text.searchDomains
    }
}
