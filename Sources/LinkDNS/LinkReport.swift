// The nameservers and domains that the machine's network software announces for each of its links, by the formats of
// its programs.

package import DNSWire

/// The announcements of one link (network interface).
package struct LinkReport: Equatable, Sendable {
    package struct Server: Hashable, Sendable {
        package let address: Address
        package let port: UInt16

        package init(_ address: Address, port: UInt16 = 53) {
            self.address = address
            self.port = port
        }
    }

    /// The name of the interface: "tun0".
    package let interface: String
    package let connection: Connection
    /// The servers in the order of use, without duplicates and without loopback addresses, where forwarders of this
    /// machine listen.
    package private(set) var servers: [Server]
    /// The domains without duplicates: search domains and domains for routing alone. The root is left out: a link that
    /// wants every name gets none by it.
    package private(set) var domains: [Name]

    package enum Connection: Sendable {
        /// NetworkManager says whether the link is a VPN.
        case vpn, ordinary
        case unknown
    }

    /// Bound on servers. More servers are a mistake of the network.
    package static let maxServers = 8
    package static let maxDomains = 256

    package init(interface: String, servers: [Server], domains: [Name], connection: Connection = .unknown) {
        self.interface = interface
        self.connection = connection
        self.servers = []
        self.domains = []
        for server in servers where !server.address.isLoopback && !self.servers.contains(server) {
            if self.servers.count < LinkReport.maxServers { self.servers.append(server) }
        }
        for domain in domains where !domain.isRoot && !self.domains.contains(domain) {
            if self.domains.count < LinkReport.maxDomains { self.domains.append(domain) }
        }
    }

    /// Joins the reports of several programs for one link. Links without a server or without a domain are left out.
    ///
    /// A VPN without an interface of its own, as by IPsec, has that of the network below it and is a link of its own.
    /// Other programs mix the servers of the two (systemd-resolved has what NetworkManager told it), so only
    /// NetworkManager counts for such an interface.
    ///
    /// - Parameter isTunnel: whether an interface belongs to a VPN alone.
    package static func joined(_ reports: [LinkReport], isTunnel: (String) -> Bool) -> [LinkReport] {
        let vpns = reports.filter { $0.connection == .vpn }.map(\.interface)
        let shared = Set(vpns.filter { !isTunnel($0) })
        var joined: [LinkReport] = []
        for report in reports where !shared.contains(report.interface) || report.connection != .unknown {
            let isShared = shared.contains(report.interface)
            let same = joined.firstIndex {
                $0.interface == report.interface && (!isShared || $0.connection == report.connection)
            }
            guard let same else {
                joined.append(report)
                continue
            }
            joined[same] = LinkReport(
                interface: report.interface, servers: joined[same].servers + report.servers,
                domains: joined[same].domains + report.domains,
                connection: joined[same].connection == .unknown ? report.connection : joined[same].connection)
        }
        return joined.filter { !$0.servers.isEmpty && !$0.domains.isEmpty }
    }

    /// A domain as the programs write it: "~" marks one that is for routing alone.
    static func domain(_ text: some StringProtocol) -> Name? {
        Name((text.hasPrefix("~") ? String(text.dropFirst()) : String(text)).lowercased())
    }
}

// NetworkManager: org.freedesktop.NetworkManager.DnsManager of its D-Bus interface (1.6 and later).
extension LinkReport {
    package static let ofNetworkManager = SystemBus.Property(
        service: "org.freedesktop.NetworkManager", path: "/org/freedesktop/NetworkManager/DnsManager",
        interface: "org.freedesktop.NetworkManager.DnsManager", name: "Configuration")

    /// - Parameter value: an array of dictionaries. Servers of DNS over TLS (1.42 and later) are left out.
    package static func reports(networkManager value: BusValue) -> [LinkReport] {
        value.elements.compactMap { link in
            guard let interface = link["interface"]?.text, !interface.isEmpty else { return nil }
            return LinkReport(
                interface: interface,
                servers: (link["nameservers"]?.elements ?? []).compactMap { $0.text.flatMap { server($0) } },
                domains: (link["domains"]?.elements ?? []).compactMap { $0.text.flatMap { domain($0) } },
                connection: link["vpn"]?.integer.map { $0 == 0 ? .ordinary : .vpn } ?? .unknown)
        }
    }
}

extension LinkReport {
    /// Parses an address, with the interface after a "%" if it is link-local.
    private static func server(_ text: String) -> Server? {
        Address(String(text.prefix { $0 != "%" })).map { Server($0) }
    }
}

// systemd-resolved: org.freedesktop.resolve1(5). Has what systemd-networkd, NetworkManager, VPN clients and resolvectl
// told it.
extension LinkReport {
    package static let serversOfResolved = ofResolved("DNSEx")
    package static let domainsOfResolved = ofResolved("Domains")

    private static func ofResolved(_ name: String) -> SystemBus.Property {
        SystemBus.Property(
            service: "org.freedesktop.resolve1", path: "/org/freedesktop/resolve1",
            interface: "org.freedesktop.resolve1.Manager", name: name)
    }

    /// - Parameters:
    ///   - servers: structures of interface index (0: of no link), address family, address, port (0: 53) and server
    ///     name.
    ///   - domains: structures of interface index, domain, and whether it is for routing alone.
    ///   - name: returns the name of the interface with an index; nil if there is none.
    package static func reports(
        resolvedServers servers: BusValue, domains: BusValue, interface name: (Int) -> String?
    ) -> [LinkReport] {
        var (serversOf, domainsOf): ([Int: [Server]], [Int: [Name]]) = ([:], [:])
        for server in servers.elements.map(\.elements) where server.count >= 4 {
            guard let link = server[0].integer, let address = server[2].bytes.flatMap({ Address(bytes: $0) }),
                let port = server[3].integer.flatMap({ UInt16(exactly: $0) })
            else { continue }
            serversOf[Int(link), default: []].append(port == 0 ? Server(address) : Server(address, port: port))
        }
        for domain in domains.elements.map(\.elements) where domain.count >= 2 {
            guard let link = domain[0].integer, let name = domain[1].text.flatMap({ self.domain($0) }) else { continue }
            domainsOf[Int(link), default: []].append(name)
        }
        return serversOf.keys.sorted().filter { $0 > 0 }.compactMap { link in
            name(link).map { LinkReport(interface: $0, servers: serversOf[link] ?? [], domains: domainsOf[link] ?? []) }
        }
    }
}

// systemd-networkd: its state files, one for each link with the interface's index as name.
extension LinkReport {
    package static let networkdDirectory = "/run/systemd/netif/links/"
    /// Bound on a state file. Longer files are cut.
    package static let maxNetworkdBytes = 64 << 10

    /// - Parameter text: lines "KEY=VALUE". Servers that must be asked over TLS are left out.
    package init(networkd text: [UInt8], interface: String) {
        var (servers, domains, needsTLS): ([Server], [Name], Bool) = ([], [], false)
        for line in text.split(separator: UInt8(ascii: "\n")) {
            let parts = String(decoding: line, as: UTF8.self).split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else { continue }
            let words = parts[1].split(separator: " ")
            switch parts[0] {
            case "DNS_OVER_TLS": needsTLS = parts[1] == "yes"
            case "DNS": servers += words.compactMap { Server(networkd: $0) }
            case "DOMAINS", "ROUTE_DOMAINS": domains += words.compactMap { LinkReport.domain($0) }
            default: continue
            }
        }
        self.init(interface: interface, servers: needsTLS ? [] : servers, domains: domains)
    }
}

extension LinkReport.Server {
    /// Parses "192.0.2.53", "192.0.2.53:5353", "[2001:db8::53]:53" or "fe80::1%2#dns.example": the interface and the
    /// server's name are dropped.
    fileprivate init?(networkd word: Substring) {
        let text = word.prefix { $0 != "#" && $0 != "%" }
        if let address = Address(String(text)) {
            self.init(address)
        } else if let endpoint = SocketAddress(String(text)), endpoint.port != 0 {
            self.init(endpoint.address, port: endpoint.port)
        } else {
            return nil
        }
    }
}
