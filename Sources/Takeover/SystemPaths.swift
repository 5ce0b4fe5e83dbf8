// The places that a takeover looks at and changes.

package enum SystemPaths {
    package static let resolvConf = "/etc/resolv.conf"

    /// Root's own: the daemon may write nothing here, as root believes what it reads in it.
    package static let kept = "/var/lib/httpdnsd-system"
    /// What was before, and what was done about it.
    package static let record = kept + "/record"
    /// The former nameservers: the daemon reads them as its system resolver (NameserverSources).
    package static let formerNameservers = kept + "/resolv.conf"
    /// What somebody changed while the daemon was used, and what could not be given back because of that.
    package static let changed = kept + "/changed-"
    package static let former = kept + "/former-"

    static let resolvedFolder = "/etc/systemd/resolved.conf.d"
    static let resolvedSettings = resolvedFolder + "/httpdnsd.conf"
    static let resolvedStub = "/run/systemd/resolve/stub-resolv.conf"
    package static let resolvedUplinks = "/run/systemd/resolve/resolv.conf"
    static let networkManagerFolder = "/etc/NetworkManager/conf.d"
    /// The last one that sets a key is believed.
    static let networkManagerSettings = networkManagerFolder + "/zz-httpdnsd.conf"
    static let openresolvSettings = "/etc/resolvconf.conf"

    static let ofResolved = [
        resolvedStub, resolvedUplinks, "/usr/lib/systemd/resolv.conf", "/lib/systemd/resolv.conf",
    ]
    static let ofDebianResolvconf = ["/run/resolvconf/resolv.conf", "/etc/resolvconf/run/resolv.conf"]

    /// What a survey looks at.
    package static let looked = [
        resolvConf, formerNameservers, resolvedFolder, resolvedSettings, networkManagerFolder, networkManagerSettings,
        openresolvSettings, "/lib/resolvconf/libc", "/.dockerenv",
    ]

    /// Beside a path: what is to take its place, until it does. It is there only while that is done, or when we were
    /// killed meanwhile.
    package static func unfinished(_ path: String) -> String {
        let slash = path.lastIndex(of: "/") ?? path.startIndex
        return "\(path[..<slash])/.\(path[slash...].dropFirst()).httpdnsd-new"
    }

    static func name(of path: String) -> Substring {
        path.lastIndex(of: "/").map { path[$0...].dropFirst() } ?? path[...]
    }
}
