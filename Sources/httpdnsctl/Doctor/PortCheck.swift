// Checks which other processes hold the daemon's listen addresses.

import DNSWire

struct PortCheck: Equatable, Sendable {
    struct Holding: Equatable, Sendable {
        /// "127.0.0.1:53"
        let place: String
        /// "UDP" or "TCP"
        let transport: String
        /// "dnsmasq (pid 7)"; nil: a server answers there and its process is unknown.
        let holder: String?
        /// Another server answers there.
        var isForeign = false

        var text: LocalizedText { "\(place) over \(transport)" }
    }

    /// The addresses at which the daemon listens or would listen.
    let places: [String]
    /// Addresses at port 53 that another process holds.
    let holdings: [Holding]

    /// httpdnsd.socket is active: systemd holds the port for the daemon.
    let isSocketUnitUp: Bool

    /// The cause of another server's answers on the port, with its remedy.
    static let redirection: LocalizedText = """
        a firewall redirects port 53: nft list ruleset | grep -E 'redirect|dnat', and iptables -t nat -S; remove that \
        rule
        """

    var hasStandardPort: Bool { places.contains { $0.hasSuffix(":53") } }

    var findings: [Finding] {
        var findings: [Finding] = []
        if !hasStandardPort {
            findings.append(
                Finding(
                    .warning, .port,
                    "the daemon listens at \(places.joined(separator: ", ")): resolv.conf names no ports",
                    remedy: "server.listen = [\"127.0.0.1:53\", \"[::1]:53\"] in the settings"))
        }
        let redirected = holdings.filter { $0.isForeign && $0.holder.map(isOurs) ?? false }
        if !redirected.isEmpty {
            let what = LocalizedText(list: redirected.map(\.text))
            findings.append(
                Finding(
                    .fault, .port, "\(what): another program answers, although the daemon holds the port",
                    remedy: PortCheck.redirection))
        }
        return findings + grouped.map(finding)
    }

    /// One entry for each process, with all the addresses that it holds.
    private var grouped: [(holder: String?, what: [LocalizedText])] {
        var groups: [(holder: String?, what: [LocalizedText])] = []
        for holding in holdings where holding.holder.map({ !isOurs($0) }) ?? true {
            if let index = groups.firstIndex(where: { $0.holder == holding.holder }) {
                groups[index].what.append(holding.text)
            } else {
                groups.append((holding.holder, [holding.text]))
            }
        }
        return groups
    }

    private func finding(_ holder: String?, _ what: [LocalizedText]) -> Finding {
        let text: LocalizedText =
            if let holder {
                "\(list: what): held by \(holder)"
            } else {
                "\(list: what): held by another program that answers there"
            }
        return Finding(
            .fault, .port, text,
            remedy: PortCheck.remedy(holder.map(PortCheck.program) ?? ""))
    }

    private func isOurs(_ holder: String) -> Bool {
        let program = PortCheck.program(holder)
        return program == "httpdnsd" || isSocketUnitUp && ["systemd", "init"].contains(program)
    }

    /// The kernel cuts process names to 15 bytes.
    private static func program(_ holder: String) -> String {
        String(holder.prefix { $0 != " " })
    }

    private static func remedy(_ program: String) -> LocalizedText {
        switch program {
        case "systemd-resolve":
            "httpdnsctl system use configures both to run together; or DNSStubListener=no in resolved.conf"
        case "dnsmasq":
            "systemctl disable --now dnsmasq; libvirt's uses only its bridge: listen on 127.0.0.1, not 0.0.0.0"
        case "unbound", "named", "nsd", "pdns_recursor", "kresd", "dnscrypt-proxy", "connmand":
            "systemctl disable --now \(program); or another address in server.listen, such as 127.0.0.2:53"
        case "docker-proxy":
            "docker ps --filter publish=53 shows the container; publish it on another address, or stop it"
        case "systemd", "init":
            "systemctl list-sockets shows the socket unit; systemctl disable --now UNIT.socket"
        default:
            "stop it, or set another address in server.listen, such as 127.0.0.2:53"
        }
    }
}
