// The names that a captive portal is to be found by: those that operating systems and browsers ask for to learn whether
// they are behind one, and the hosts that it sends them to. Names of everyday use are not among them, even where a
// system checks with them, too: a network that only plays a portal must not learn, nor forge, more than these.

package import DNSWire
import PublicSuffix

package struct PortalNames: Equatable, Sendable {
    /// The hosts that the portal has redirected to, the earliest first.
    package private(set) var hosts: [Name] = []
    /// Those of them that have a registrable domain above them: what is under them belongs to the same host. A
    /// registrable domain stands for itself alone, or a redirect to it would give the portal a whole site.
    private var trees: [Name] = []

    package init() {}

    /// A portal has a page to log in, and perhaps one before and behind it.
    static let maxHosts = 4

    package func cover(_ name: Name) -> Bool {
        PortalNames.checks.contains(name) || hosts.contains(name) || trees.contains { name.isWithin($0) }
    }

    /// The portal itself is in the local network, and so is what a check name leads to. A name under a host of the
    /// portal keeps the filter of private addresses: the portal chooses it.
    func mayBePrivate(_ name: Name) -> Bool { PortalNames.checks.contains(name) || hosts.contains(name) }

    /// The portal chooses the host: a public suffix is a whole part of the Internet, one label is of the local network,
    /// and what check names lie under belongs to an owner that runs no portals.
    ///
    /// - Returns: false when it is covered already, when it can't be a portal's, and when there is no room.
    mutating func add(_ host: Name) -> Bool {
        guard hosts.count < PortalNames.maxHosts, host.labels.count > 1, !cover(host), !host.isPublicSuffix,
            !PortalNames.checks.contains(where: { $0.isWithin(host) })
        else { return false }
        hosts.append(host)
        if host.registrableDomain != host { trees.append(host) }
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
