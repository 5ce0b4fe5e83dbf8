// The paths that a takeover reads and changes.

enum SystemPaths {
    static let resolvConf = "/etc/resolv.conf"

    /// The directory of the takeover, owned by root and not writable by the daemon, since root trusts its content.
    static let kept = "/var/lib/httpdnsd-system"
    /// The former states and the steps taken.
    static let record = kept + "/record"
    /// The former nameservers: the daemon reads them as its system resolver (NameserverSources).
    static let formerNameservers = kept + "/resolv.conf"
    /// Prefixes for copies: content that another program changed meanwhile, and former content that could not be
    /// restored for that reason.
    static let changed = kept + "/changed-"
    static let former = kept + "/former-"

    static let resolvedFolder = "/etc/systemd/resolved.conf.d"
    static let resolvedSettings = resolvedFolder + "/httpdnsd.conf"
    static let resolvedStub = "/run/systemd/resolve/stub-resolv.conf"
    static let resolvedUplinks = "/run/systemd/resolve/resolv.conf"
    static let networkManagerFolder = "/etc/NetworkManager/conf.d"
    /// The settings for NetworkManager. The last file that sets a key wins.
    static let networkManagerSettings = networkManagerFolder + "/zz-httpdnsd.conf"
    static let openresolvSettings = "/etc/resolvconf.conf"

    static let ofResolved = [
        resolvedStub, resolvedUplinks, "/usr/lib/systemd/resolv.conf", "/lib/systemd/resolv.conf",
    ]
    static let ofDebianResolvconf = ["/run/resolvconf/resolv.conf", "/etc/resolvconf/run/resolv.conf"]

    /// The paths that a survey reads.
    static let looked = [
        resolvConf, formerNameservers, resolvedFolder, resolvedSettings, networkManagerFolder, networkManagerSettings,
        openresolvSettings, "/lib/resolvconf/libc", "/.dockerenv",
    ]

    /// Returns the temporary path beside `path` for an atomic replacement. It exists only during the replacement or
    /// after a crash in it.
    static func unfinished(_ path: String) -> String {
        let slash = path.lastIndex(of: "/") ?? path.startIndex
        return "\(path[..<slash])/.\(path[slash...].dropFirst()).httpdnsd-new"
    }

    static func name(of path: String) -> Substring {
        path.lastIndex(of: "/").map { path[$0...].dropFirst() } ?? path[...]
    }
}
