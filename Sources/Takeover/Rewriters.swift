// Who else writes /etc/resolv.conf where nobody keeps it, and how to tell them not to. Before a takeover people are
// warned of them, and after it they are looked for.

/// What such programs were told of resolv.conf.
package struct RewriterSettings: Equatable, Sendable {
    /// dhclient.conf, and what its enter hooks hold.
    package var dhclient = ""
    package var dhcpcd = ""
    /// cloud.cfg and its pieces, in the order in which they are read.
    package var cloudInit = ""
    /// wsl.conf; nil: this is not Windows' Linux.
    package var wsl: String?
    /// Of whatever kind: dhclient, dhcpcd and NetworkManager tell it of nameservers and write nothing themselves.
    package var hasResolvconf = false

    package init() {}

    var keepsDhclientOff: Bool {
        hasResolvconf
            || dhclient.split(whereSeparator: \.isNewline).contains { line in
                let words = line.drop { $0 == " " || $0 == "\t" }
                return words.hasPrefix("supersede domain-name-servers") || words.hasPrefix("make_resolv_conf")
            }
    }

    var keepsDhcpcdOff: Bool {
        hasResolvconf
            || dhcpcd.split(whereSeparator: \.isNewline).contains { line in
                let words = line.split { $0 == " " || $0 == "\t" || $0 == "," }
                return words.first == "nohook" && words.contains("resolv.conf")
            }
    }

    /// It leaves resolv.conf alone unless it is told otherwise; the last word counts.
    var letsCloudInitWrite: Bool {
        RewriterSettings.plainLines(cloudInit).last { $0.hasPrefix("manage_resolv_conf:") }
            .map { $0.hasSuffix(":true") } ?? false
    }

    /// It writes resolv.conf at each start unless it is told otherwise.
    var letsWSLWrite: Bool {
        guard let wsl else { return false }
        var section = ""
        for line in RewriterSettings.plainLines(wsl.lowercased()) {
            if line.hasPrefix("[") { section = line }
            if section == "[network]", line.hasPrefix("generateresolvconf=") {
                return !["false", "0"].contains(line.dropFirst("generateresolvconf=".count))
            }
        }
        return true
    }

    /// Without white space and comments. Windows ends lines with two characters, which are one in Swift.
    private static func plainLines(_ text: String) -> [String] {
        text.split(whereSeparator: \.isNewline).map { line in
            String(line.filter { $0 != " " && $0 != "\t" && $0 != "\r" }.prefix { $0 != "#" })
        }
    }
}

package struct Rewriter: Equatable, Sendable {
    package let program: String
    /// "at the next lease"
    let occasion: String
    package let remedy: String

    init(_ program: String, _ occasion: String, remedy: String) {
        self.program = program
        self.occasion = occasion
        self.remedy = remedy
    }

    package var text: String { "\(program) will write resolv.conf again \(occasion)" }
}

extension Survey {
    /// Those that will write over whatever stands in resolv.conf now.
    package var rewriters: [Rewriter] {
        let told = rewriterSettings
        let keeper = ResolverKeeper(self)
        var found: [Rewriter] = []
        if keeper == .networkManager, !told.hasResolvconf {
            found.append(
                Rewriter(
                    "NetworkManager", "when the network changes",
                    remedy: "httpdnsctl system use, which tells it not to; or rc-manager=unmanaged in its settings"))
        }
        if keeper == .plainFile, isRunning("dhclient"), !told.keepsDhclientOff {
            found.append(
                Rewriter(
                    "dhclient", "at the next lease",
                    remedy: "add to /etc/dhcp/dhclient.conf: supersede domain-name-servers 127.0.0.1;"))
        }
        if keeper == .plainFile, isRunning("dhcpcd"), !told.keepsDhcpcdOff {
            found.append(
                Rewriter("dhcpcd", "at the next lease", remedy: "add to /etc/dhcpcd.conf: nohook resolv.conf"))
        }
        if keeper == .plainFile, told.letsCloudInitWrite {
            found.append(
                Rewriter(
                    "cloud-init", "at the next start",
                    remedy: "put into /etc/cloud/cloud.cfg.d/99-httpdnsd.cfg: manage_resolv_conf: false"))
        }
        if told.letsWSLWrite {
            found.append(
                Rewriter(
                    "WSL", "at each start",
                    remedy: "add to /etc/wsl.conf: [network] generateResolvConf=false; then wsl --shutdown"))
        }
        return found
    }

    /// What a takeover will not keep off by itself.
    func warnings(_ keeper: ResolverKeeper) -> [String] {
        var warnings = rewriters.filter { $0.program != keeper.rawValue }.map { "\($0.text); \($0.remedy)" }
        guard keeper == .plainFile else { return warnings }
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
}
