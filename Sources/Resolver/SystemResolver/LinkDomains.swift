// The domains that the machine's links announce with their nameservers, and the domains of links that have ended.

package import DNSWire

/// A link (network interface) whose network announces domains.
package struct AnnouncingLink: Equatable, Sendable {
    package let interface: String
    /// In the order of use. Each is asked through the interface alone.
    package let servers: [Nameserver]
    package let domains: [Name]
    package let isTunnel: Bool
    /// The machine's traffic goes out here, or a part of it.
    package let hasDefaultRoute: Bool
    /// It has had a default route. A default route may go before the link does.
    fileprivate var hasHadDefaultRoute: Bool

    package init(
        interface: String, servers: [Nameserver], domains: [Name], isTunnel: Bool = false, hasDefaultRoute: Bool = false
    ) {
        self.interface = interface
        self.servers = servers
        self.domains = domains
        self.isTunnel = isTunnel
        self.hasDefaultRoute = hasDefaultRoute
        hasHadDefaultRoute = hasDefaultRoute
    }

    /// When it ends, another network takes its place.
    fileprivate var isUplink: Bool { hasHadDefaultRoute && !isTunnel }

    /// Whether it announces the same.
    package func isSame(as other: AnnouncingLink) -> Bool {
        (interface, servers, domains) == (other.interface, other.servers, other.domains)
    }
}

/// A domain that a tunnel announced stays assigned to it after its end: a name inside a company must not be asked of
/// others because the tunnel broke. The domains of an uplink end with it: the next network has its own.
package struct LinkDomains: Equatable, Sendable {
    package struct Ended: Equatable, Sendable {
        package let domain: Name
        /// The last one that announced it.
        package let interface: String
    }

    /// Tunnels and side networks first: they precede an uplink with the same domain.
    package private(set) var links: [AnnouncingLink] = []
    /// Domains that no link announces any more, the latest last.
    package private(set) var ended: [Ended] = []

    /// Those of a machine with many VPNs. Beyond it, the oldest is forgotten.
    static let maxEnded = 1024

    package init() {}

    /// Servers of links without a default route: they are asked for names of their link alone.
    package var serversAside: Set<Address> {
        let others = links.filter(\.hasDefaultRoute).flatMap(\.servers)
        return Set(links.filter { !$0.hasDefaultRoute }.flatMap(\.servers).map(\.address))
            .subtracting(others.map(\.address))
    }

    package var domains: [Name] { links.flatMap(\.domains) + ended.map(\.domain) }

    /// Replaces the links.
    package mutating func set(_ new: [AnnouncingLink]) {
        let new = new.map { link in
            var link = link
            let former = links.first { $0.interface == link.interface }
            if former?.hasHadDefaultRoute == true { link.hasHadDefaultRoute = true }
            return link
        }
        let present = Set(new.flatMap(\.domains))
        ended.removeAll { present.contains($0.domain) }
        for former in links where !former.isUplink {
            for domain in former.domains where !present.contains(domain) {
                ended.removeAll { $0.domain == domain }
                ended.append(Ended(domain: domain, interface: former.interface))
            }
        }
        if ended.count > LinkDomains.maxEnded { ended.removeFirst(ended.count - LinkDomains.maxEnded) }
        links = new.filter { !$0.isUplink } + new.filter(\.isUplink)
    }

    /// Forgets the domains of ended links: the operator's wish.
    package mutating func forgetEnded() { ended = [] }
}
