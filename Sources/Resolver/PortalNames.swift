// The names that a captive portal is to be found by: those that operating systems and browsers ask for to learn whether
// they are behind one, and the hosts that it sends them to. Names of everyday use are not among them, even where a
// system checks with them, too: a network that only plays a portal must not learn, nor forge, more than these.

package import DNSWire

package struct PortalNames: Equatable, Sendable {
    /// Where the portal has sent somebody, the earliest first: these and everything under them.
    package private(set) var hosts: [Name] = []

    package init() {}

    /// A portal has a page to log in, and perhaps one before and behind it.
    static let maxHosts = 4

    package func cover(_ name: Name) -> Bool {
        PortalNames.checks.contains(name) || hosts.contains { name.isWithin($0) }
    }

    /// Whoever redirects chooses the host: one label is a whole top-level domain or of the local network anyway, and
    /// what check names lie under is somebody's who runs no portals.
    ///
    /// - Returns: false when it is covered already, when it can't be a portal's, and when there is no room.
    mutating func add(_ host: Name) -> Bool {
        guard hosts.count < PortalNames.maxHosts, host.labels.count > 1, !cover(host),
            !PortalNames.checks.contains(where: { $0.isWithin(host) })
        else { return false }
        hosts.append(host)
        return true
    }

    /// Of all systems' names the one that any portal knows.
    package static let probed = name("connectivitycheck.gstatic.com")

    /// Android and ChromeOS (AOSP's NetworkStack, `captive_portal_http_url`; shill's portal detector), Huawei's and
    /// Xiaomi's; Apple (support article 102554); Windows ("NCSI overview" of its documentation); Firefox
    /// (`captivedetect.canonicalURL`); NetworkManager's `connectivity.uri` as GNOME, Debian, Ubuntu, Arch and openSUSE
    /// set it; KDE (plasma-nm).
    private static let checks = Set(
        """
        connectivitycheck.gstatic.com connectivitycheck.android.com clients3.google.com
        connectivitycheck.platform.hicloud.com connect.rom.miui.com
        captive.apple.com
        www.msftconnecttest.com ipv6.msftconnecttest.com www.msftncsi.com ipv6.msftncsi.com dns.msftncsi.com
        detectportal.firefox.com
        nmcheck.gnome.org network-test.debian.org connectivity-check.ubuntu.com ping.archlinux.org
        conncheck.opensuse.org
        networkcheck.kde.org
        """.split { $0 == " " || $0 == "\n" }.map { name(String($0)) })

    private static func name(_ text: String) -> Name {
        guard let name = Name(text) else { preconditionFailure("\(text) is not a name") }
        return name
    }
}
