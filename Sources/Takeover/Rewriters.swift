// Who else writes /etc/resolv.conf on machines where nobody keeps it, and how to tell them not to.

extension Survey {
    func rewriters(_ keeper: ResolverKeeper) -> [String] {
        guard keeper == .plainFile else { return [] }
        var warnings: [String] = []
        if isRunning("dhclient") {
            warnings.append(
                "dhclient writes resolv.conf at the next lease; add to /etc/dhcp/dhclient.conf: "
                    + "supersede domain-name-servers 127.0.0.1;")
        }
        if isRunning("dhcpcd") {
            warnings.append("dhcpcd writes resolv.conf at the next lease; add to /etc/dhcpcd.conf: nohook resolv.conf")
        }
        if has("/etc/cloud/cloud.cfg") {
            warnings.append(
                "cloud-init may write resolv.conf at the next start; put into "
                    + "/etc/cloud/cloud.cfg.d/99-httpdnsd.cfg: manage_resolv_conf: false")
        }
        if has("/proc/sys/fs/binfmt_misc/WSLInterop"), !keepsWSLOff {
            warnings.append(
                "WSL makes resolv.conf anew at each start; add to /etc/wsl.conf: [network] generateResolvConf=false")
        }
        if has("/lib/resolvconf/libc") {
            warnings.append(
                "openresolv writes resolv.conf when an interface tells it of nameservers; run \"resolvconf -u\" first")
        }
        if mountPoints.contains(SystemPaths.resolvConf) {
            warnings.append(
                has("/.dockerenv")
                    ? "Docker makes resolv.conf anew with each container; better give it the daemon with --dns"
                    : "resolv.conf is mounted from elsewhere: it is written over there")
        }
        return warnings
    }

    private var keepsWSLOff: Bool {
        let text = String(decoding: state("/etc/wsl.conf").bytes ?? [], as: UTF8.self)
        return text.lowercased().filter { $0 != " " }.contains("generateresolvconf=false")
    }
}
