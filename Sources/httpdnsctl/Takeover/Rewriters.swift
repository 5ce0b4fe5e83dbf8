// Programs that write /etc/resolv.conf without managing it, and how to stop them. `system use` warns of them before a
// takeover; the doctor looks for them after it.

struct Rewriter: Equatable, Sendable {
    let program: String
    /// When the program writes resolv.conf: "at the next lease".
    let occasion: String
    let remedy: String

    var text: String { "\(program) will write resolv.conf again \(occasion)" }
}

extension Survey {
    /// Programs that will overwrite the present resolv.conf.
    var rewriters: [Rewriter] {
        let told = rewriterSettings
        let manager = ResolvConfWriter(self)
        var found: [Rewriter] = []
        if manager == .networkManager, !told.hasResolvconf {
            found.append(
                Rewriter(
                    program: "NetworkManager", occasion: "when the network changes",
                    remedy: "httpdnsctl system use, which turns this off; or rc-manager=unmanaged in its settings"))
        }
        if manager == .plainFile, isRunning("dhclient"), !told.keepsDhclientOff {
            found.append(
                Rewriter(
                    program: "dhclient", occasion: "at the next lease",
                    remedy: "add to /etc/dhcp/dhclient.conf: supersede domain-name-servers 127.0.0.1;"))
        }
        if manager == .plainFile, isRunning("dhcpcd"), !told.keepsDhcpcdOff {
            found.append(
                Rewriter(
                    program: "dhcpcd", occasion: "at the next lease",
                    remedy: "add to /etc/dhcpcd.conf: nohook resolv.conf"))
        }
        if manager == .plainFile, told.letsCloudInitWrite {
            found.append(
                Rewriter(
                    program: "cloud-init", occasion: "at the next start",
                    remedy: "put into /etc/cloud/cloud.cfg.d/99-httpdnsd.cfg: manage_resolv_conf: false"))
        }
        if told.letsWSLWrite {
            found.append(
                Rewriter(
                    program: "WSL", occasion: "at each start",
                    remedy: "add to /etc/wsl.conf: [network] generateResolvConf=false; then wsl --shutdown"))
        }
        return found
    }

    /// Returns warnings about programs that a takeover does not stop.
    func warnings(_ manager: ResolvConfWriter) -> [String] {
        var warnings = rewriters.filter { $0.program != manager.rawValue }.map { "\($0.text); \($0.remedy)" }
        guard manager == .plainFile else { return warnings }
        if has("/lib/resolvconf/libc") {
            warnings.append(
                "openresolv writes resolv.conf when an interface reports nameservers; run \"resolvconf -u\" first")
        }
        if mountPoints.contains(SystemPaths.resolvConf) {
            warnings.append(
                has("/.dockerenv")
                    ? "Docker creates resolv.conf for each container; set the daemon with docker run --dns instead"
                    : "resolv.conf is a mount: the mounted file is overwritten")
        }
        return warnings
    }
}
