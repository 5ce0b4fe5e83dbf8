// The domains that the machine's links announce with their nameservers, and the domains of links that have ended.

package import DNSWire

/// How far a link's announcements reach, the least first. A link claims no domain at or below one that a higher rank
/// announces or has announced.
package enum LinkRank: Int, Sendable, CaseIterable, Comparable {
    /// The machine's way to the Internet. The next network takes its place, with domains of its own.
    case uplink
    /// A network beside the uplink.
    case side
    /// The operator's VPN.
    case tunnel

    package static func < (one: LinkRank, other: LinkRank) -> Bool { one.rawValue < other.rawValue }
}

/// A link (network interface) whose network announces domains.
package struct AnnouncingLink: Equatable, Sendable {
    package let interface: String
    /// A VPN without an interface of its own: it uses the interface of another link.
    package let isSharing: Bool
    /// The nameservers in the order of use. Each is asked through the interface alone.
    package let servers: [Nameserver]
    package let domains: [Name]
    package let isTunnel: Bool
    /// The machine's traffic goes out through this link, or a part of it.
    package let hasDefaultRoute: Bool
    /// The link has had a default route. A default route may go before the link does.
    fileprivate var hasHadDefaultRoute: Bool

    package init(
        interface: String, isSharing: Bool = false, servers: [Nameserver], domains: [Name], isTunnel: Bool = false,
        hasDefaultRoute: Bool = false
    ) {
        self.interface = interface
        self.isSharing = isSharing
        self.servers = servers
        self.domains = domains
        self.isTunnel = isTunnel
        self.hasDefaultRoute = hasDefaultRoute
        hasHadDefaultRoute = hasDefaultRoute
    }

    /// The name, unique among links: the interface, with "vpn:" before it if the interface is another link's.
    package var name: String { isSharing ? "vpn:\(interface)" : interface }

    package var rank: LinkRank { isTunnel ? .tunnel : hasHadDefaultRoute ? .uplink : .side }

    /// Whether the link announces the same as the other one.
    package func isSame(as other: AnnouncingLink) -> Bool {
        (name, servers, domains) == (other.name, other.servers, other.domains)
    }
}

/// A domain that a tunnel or a side network announced stays assigned to it after its end: a name inside a company must
/// not be asked of others because the tunnel broke. The domains of an uplink end with it.
package struct LinkDomains: Equatable, Sendable {
    package struct Ended: Equatable, Sendable {
        package let domain: Name
        /// Name of the link that announced the domain last.
        package let link: String
        let rank: LinkRank
    }

    package private(set) var links: [AnnouncingLink] = []
    /// Domains that no link of at least the same rank announces any more, the latest last.
    package private(set) var ended: [Ended] = []

    /// Maximum number of ended domains: those of a machine with many VPNs. Beyond it, the oldest of the lowest rank is
    /// forgotten: a network that comes and goes cannot displace a tunnel's domain.
    static let maxEnded = 1024

    package init() {}

    /// Servers of links without a default route: they are asked for names of their links alone.
    package var serversAside: Set<Address> {
        let others = links.filter(\.hasDefaultRoute).flatMap(\.servers)
        return Set(links.filter { !$0.hasDefaultRoute }.flatMap(\.servers).map(\.address))
            .subtracting(others.map(\.address))
    }

    /// Replaces the links.
    package mutating func set(_ new: [AnnouncingLink]) {
        let new = new.map { link in
            var link = link
            let former = links.first { $0.name == link.name }
            if former?.hasHadDefaultRoute == true { link.hasHadDefaultRoute = true }
            return link
        }
        var rankOfDomain: [Name: LinkRank] = [:]
        for link in new {
            for domain in link.domains { rankOfDomain[domain] = max(rankOfDomain[domain] ?? .uplink, link.rank) }
        }
        for former in links where former.rank != .uplink {
            for domain in former.domains {
                if let known = ended.firstIndex(where: { $0.domain == domain }) {
                    guard ended[known].rank <= former.rank else { continue }
                    ended.remove(at: known)
                }
                ended.append(Ended(domain: domain, link: former.name, rank: former.rank))
            }
        }
        ended.removeAll { ended in
            // A link that became an uplink still has its domains.
            rankOfDomain[ended.domain].map { $0 >= ended.rank } ?? false
                || new.contains { $0.name == ended.link && $0.domains.contains(ended.domain) }
        }
        while ended.count > LinkDomains.maxEnded, let lowest = ended.map(\.rank).min(),
            let oldest = ended.firstIndex(where: { $0.rank == lowest })
        {
            ended.remove(at: oldest)
        }
        links = new
    }

    /// Forgets the domains of ended links, at the operator's request.
    package mutating func forgetEnded() { ended = [] }
}
