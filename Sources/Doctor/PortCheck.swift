// Who is where the daemon should be. A port is held by a process, or nobody says who holds it.

package struct PortCheck: Equatable, Sendable {
    package struct Holding: Equatable, Sendable {
        /// "127.0.0.1:53"
        package let place: String
        /// "UDP" or "TCP"
        package let transport: String
        /// "dnsmasq (pid 7)"; nil: somebody answers, and it is not known who.
        package let holder: String?

        package init(_ place: String, _ transport: String, holder: String?) {
            self.place = place
            self.transport = transport
            self.holder = holder
        }
    }

    /// Where the daemon listens, or would.
    package let places: [String]
    /// Those of port 53 that the daemon does not have.
    package let holdings: [Holding]

    /// httpdnsd.socket is up: systemd holds the port for the daemon.
    package let isSocketUnitUp: Bool

    package init(places: [String], holdings: [Holding], isSocketUnitUp: Bool) {
        self.places = places
        self.holdings = holdings
        self.isSocketUnitUp = isSocketUnitUp
    }

    package var hasStandardPort: Bool { places.contains { $0.hasSuffix(":53") } }

    package var findings: [Finding] {
        var findings: [Finding] = []
        if !hasStandardPort {
            findings.append(
                Finding(
                    .warning, .port,
                    "the daemon listens at \(places.joined(separator: ", ")): resolv.conf names no ports",
                    remedy: "server.listen = [\"127.0.0.1:53\", \"[::1]:53\"] in the settings"))
        }
        return findings + grouped.map(finding)
    }

    /// One line for a process, however many of the places it has.
    private var grouped: [(holder: String?, what: String)] {
        var groups: [(holder: String?, what: String)] = []
        for holding in holdings where holding.holder.map({ !isOurs($0) }) ?? true {
            let what = "\(holding.place) over \(holding.transport)"
            if let index = groups.firstIndex(where: { $0.holder == holding.holder }) {
                groups[index].what += ", \(what)"
            } else {
                groups.append((holding.holder, what))
            }
        }
        return groups
    }

    private func finding(_ holder: String?, _ what: String) -> Finding {
        Finding(
            .fault, .port, "\(what): held by \(holder ?? "somebody else who answers there")",
            remedy: PortCheck.remedy(holder.map(PortCheck.program) ?? ""))
    }

    private func isOurs(_ holder: String) -> Bool {
        let program = PortCheck.program(holder)
        return program == "httpdnsd" || isSocketUnitUp && ["systemd", "init"].contains(program)
    }

    /// The kernel cuts names of programs after 15 bytes.
    private static func program(_ holder: String) -> String {
        String(holder.prefix { $0 != " " })
    }

    private static func remedy(_ program: String) -> String {
        switch program {
        case "systemd-resolve":
            "httpdnsctl system use puts the daemon beside systemd-resolved; or DNSStubListener=no in resolved.conf"
        case "dnsmasq":
            "systemctl disable --now dnsmasq; libvirt's holds its bridge only: listen on 127.0.0.1, not 0.0.0.0"
        case "unbound", "named", "nsd", "pdns_recursor", "kresd", "dnscrypt-proxy", "connmand":
            "systemctl disable --now \(program); or another address in server.listen, such as 127.0.0.2:53"
        case "docker-proxy":
            "docker ps --filter publish=53 shows the container; publish it on another address, or stop it"
        case "systemd", "init":
            "systemctl list-sockets shows the unit that listens for another; systemctl disable --now UNIT.socket"
        default:
            "stop it, or give the daemon another address in server.listen, such as 127.0.0.2:53"
        }
    }
}
