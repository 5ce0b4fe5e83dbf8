// The settings of programs that write /etc/resolv.conf without managing it: whether they may write it.

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
