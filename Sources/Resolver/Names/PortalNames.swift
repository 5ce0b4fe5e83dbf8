// Names that reveal a captive portal: the check names of operating systems and browsers, and the hosts that the portal
// redirects to. Everyday names are excluded, even if a system uses one as check name. A network that imitates a portal
// must not observe or forge more than these.

package import DNSWire
import PublicSuffix

package struct PortalNames: Equatable, Sendable {
    /// The hosts that the portal has redirected to, the earliest first.
    package private(set) var hosts: [Name] = []
    /// Hosts below a registrable domain: their subdomains belong to the same host. A registrable domain itself covers
    /// no subdomains, or a redirect to it would give the portal a whole site.
    private var trees: [Name] = []

    package init() {}

    /// Maximum number of hosts: a portal has a login page, and perhaps one before and one after it.
    static let maxHosts = 4

    package func cover(_ name: Name) -> Bool {
        PortalNames.checks.contains(name) || hosts.contains(name) || trees.contains { name.isWithin($0) }
    }

    /// Returns whether the name may have private addresses. The portal and the check names resolve to local addresses.
    /// Names below a portal's host keep the private address filter, because the portal chooses them.
    func mayBePrivate(_ name: Name) -> Bool { PortalNames.checks.contains(name) || hosts.contains(name) }

    /// Adds a redirect target. The portal chooses it, so public suffixes, single labels (local network) and domains of
    /// check names, which belong to owners that run no portals, are rejected.
    ///
    /// - Returns: false if the host is already covered, cannot be a portal's, or there is no room.
    mutating func add(_ host: Name) -> Bool {
        guard hosts.count < PortalNames.maxHosts, host.labels.count > 1, !cover(host), !host.isPublicSuffix,
            !PortalNames.checks.contains(where: { $0.isWithin(host) })
        else { return false }
        hosts.append(host)
        if host.registrableDomain != host { trees.append(host) }
        return true
    }

    /// The check name that every portal knows.
    package static let probed = name("connectivitycheck.gstatic.com")

    /// The check names of Android and ChromeOS (AOSP's NetworkStack, `captive_portal_http_url`; shill's portal
    /// detector), of Huawei and Xiaomi; Apple (support article 102554); Windows ("NCSI overview" of its documentation);
    /// Firefox (`captivedetect.canonicalURL`); NetworkManager's `connectivity.uri` as GNOME, Debian, Ubuntu, Arch and
    /// openSUSE set it; KDE (plasma-nm).
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
