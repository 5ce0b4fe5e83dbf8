// Programs that write /etc/resolv.conf without managing it, and how to stop them. `system use` warns of them before a
// takeover; the doctor looks for them after it.

/// The resolv.conf settings of these programs.
struct RewriterSettings: Equatable, Sendable {
    /// dhclient.conf and dhclient's enter hooks.
    var dhclient = ""
    var dhcpcd = ""
    /// cloud.cfg and its drop-ins, in reading order.
    var cloudInit = ""
    /// wsl.conf; nil: not Windows Subsystem for Linux.
    var wsl: String?
    /// A resolvconf of any kind is installed. dhclient, dhcpcd and NetworkManager then pass nameservers to it and do
    /// not write resolv.conf.
    var hasResolvconf = false

    init() {}

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

    /// cloud-init writes resolv.conf only if its settings enable it; the last value counts.
    var letsCloudInitWrite: Bool {
        RewriterSettings.plainLines(cloudInit).last { $0.hasPrefix("manage_resolv_conf:") }
            .map { $0.hasSuffix(":true") } ?? false
    }

    /// WSL writes resolv.conf at each start unless its settings disable it.
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

    /// Removes white space and comments. Swift treats Windows' CR LF as one Character.
    private static func plainLines(_ text: String) -> [String] {
        text.split(whereSeparator: \.isNewline).map { line in
            String(line.filter { $0 != " " && $0 != "\t" && $0 != "\r" }.prefix { $0 != "#" })
        }
    }
}

struct Rewriter: Equatable, Sendable {
    let program: String
    /// When the program writes resolv.conf: "at the next lease".
    let occasion: String
    let remedy: String

    init(_ program: String, _ occasion: String, remedy: String) {
        self.program = program
        self.occasion = occasion
        self.remedy = remedy
    }

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
                    "NetworkManager", "when the network changes",
                    remedy: "httpdnsctl system use, which turns this off; or rc-manager=unmanaged in its settings"))
        }
        if manager == .plainFile, isRunning("dhclient"), !told.keepsDhclientOff {
            found.append(
                Rewriter(
                    "dhclient", "at the next lease",
                    remedy: "add to /etc/dhcp/dhclient.conf: supersede domain-name-servers 127.0.0.1;"))
        }
        if manager == .plainFile, isRunning("dhcpcd"), !told.keepsDhcpcdOff {
            found.append(
                Rewriter("dhcpcd", "at the next lease", remedy: "add to /etc/dhcpcd.conf: nohook resolv.conf"))
        }
        if manager == .plainFile, told.letsCloudInitWrite {
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
