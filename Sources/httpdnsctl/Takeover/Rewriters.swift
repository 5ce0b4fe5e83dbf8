// Programs that write /etc/resolv.conf without managing it, and how to stop them. `system use` warns of them before a
// takeover (`TakeoverWarnings`); the doctor looks for them after it.

struct Rewriter: Equatable, Sendable {
    let program: String
    /// When the program writes resolv.conf: "at the next lease".
    let occasion: LocalizedText
    let remedy: LocalizedText

    var text: LocalizedText { "\(program) will write resolv.conf again \(occasion)" }
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
}
