// Programs that will write resolv.conf again, where it leads to the daemon now.

package struct RewriterCheck: Sendable {
    package let leadsToUs: Bool
    /// resolv.conf names systemd-resolved: who asks that is not written by others.
    package let isThroughResolved: Bool
    /// Names of programs that run in this network, cut to 15 bytes by the kernel.
    package let running: Set<String>
    /// All files of NetworkManager's settings, one behind the other in the order in which it reads them.
    package let networkManager: String
    /// dhclient.conf, and what its enter hooks hold.
    package let dhclient: String
    package let dhcpcd: String
    package let cloudInit: String
    package let hasResolvconf: Bool

    package init(
        leadsToUs: Bool, isThroughResolved: Bool, running: Set<String>, networkManager: String, dhclient: String,
        dhcpcd: String, cloudInit: String, hasResolvconf: Bool
    ) {
        self.leadsToUs = leadsToUs
        self.isThroughResolved = isThroughResolved
        self.running = running
        self.networkManager = networkManager
        self.dhclient = dhclient
        self.dhcpcd = dhcpcd
        self.cloudInit = cloudInit
        self.hasResolvconf = hasResolvconf
    }

    package var findings: [Finding] {
        guard leadsToUs, !isThroughResolved else { return [] }
        return [
            finding(
                "NetworkManager", if: running.contains("NetworkManager") && !isNetworkManagerKeptOut,
                "httpdnsctl system use, which writes dns=none into /etc/NetworkManager/conf.d/zz-httpdnsd.conf"),
            finding(
                "dhclient", if: running.contains("dhclient") && !hasResolvconf && !isDhclientKeptOut,
                "supersede domain-name-servers 127.0.0.1; in /etc/dhcp/dhclient.conf"),
            finding(
                "dhcpcd", if: running.contains("dhcpcd") && !hasResolvconf && !isDhcpcdKeptOut,
                "nohook resolv.conf in /etc/dhcpcd.conf"),
            finding(
                "cloud-init", if: writesByCloudInit,
                "manage_resolv_conf: false in /etc/cloud/cloud.cfg.d/99-httpdnsd.cfg"),
        ].compactMap { $0 }
    }

    private func finding(_ program: String, if isThere: Bool, _ remedy: String) -> Finding? {
        guard isThere else { return nil }
        return Finding(
            .warning, .rewriters, "\(program) will write resolv.conf again when the network changes", remedy: remedy)
    }

    /// The last word on a key counts.
    private var isNetworkManagerKeptOut: Bool {
        var values: [Substring: Substring] = [:]
        for line in RewriterCheck.lines(networkManager, comment: "#") {
            let pair = line.split(separator: "=", maxSplits: 1)
            if pair.count == 2 { values[pair[0]] = pair[1] }
        }
        return values["dns"] == "none" || values["rc-manager"] == "unmanaged"
    }

    private var isDhclientKeptOut: Bool {
        dhclient.split(whereSeparator: \.isNewline).contains { line in
            let words = line.drop { $0 == " " || $0 == "\t" }
            return words.hasPrefix("supersede domain-name-servers") || words.hasPrefix("make_resolv_conf")
        }
    }

    private var isDhcpcdKeptOut: Bool {
        dhcpcd.split(whereSeparator: \.isNewline).contains { line in
            let words = line.split { $0 == " " || $0 == "\t" || $0 == "," }
            return words.first == "nohook" && words.contains("resolv.conf")
        }
    }

    private var writesByCloudInit: Bool {
        RewriterCheck.lines(cloudInit, comment: "#").last { $0.hasPrefix("manage_resolv_conf:") }
            .map { $0.hasSuffix(":true") } ?? false
    }

    /// Without white space.
    private static func lines(_ text: String, comment: Character) -> [Substring] {
        text.split(whereSeparator: \.isNewline).map { line in
            Substring(line.filter { $0 != " " && $0 != "\t" && $0 != "\r" })
        }.filter { $0.first != comment }
    }
}
