// Which link answers for a name whose rule has the resolver "link".

package import DNSWire
import PublicSuffix

package struct LinkRoutes: Equatable, Sendable {
    package struct Owner: Equatable, Sendable {
        /// The name of the link.
        package let link: String
        /// The ID of the link's nameservers; nil if the link has ended.
        package let nameserver: NameserverID?
        package let servers: [Nameserver]
        let rank: LinkRank
    }

    private var ownerOfDomain: [Name: Owner] = [:]

    package static let none = LinkRoutes(LinkDomains()) { _ in nil }

    /// - Parameter nameserver: returns the ID of a link's nameservers, by the link's name.
    package init(_ domains: LinkDomains, nameserver: (String) -> NameserverID?) {
        for rank in LinkRank.allCases.reversed() {
            for link in domains.links where link.rank == rank {
                let owner = Owner(
                    link: link.name, nameserver: nameserver(link.name), servers: link.servers, rank: rank)
                for domain in link.domains { claim(domain, owner) }
            }
            for ended in domains.ended where ended.rank == rank {
                claim(ended.domain, Owner(link: ended.link, nameserver: nil, servers: [], rank: rank))
            }
        }
    }

    /// Assigns the domain to the owner. Higher ranks claim first, and of equal ranks the first link.
    private mutating func claim(_ domain: Name, _ owner: Owner) {
        guard !LinkRoutes.isShared(domain), self.owner(of: domain).map({ $0.owner.rank == owner.rank }) ?? true,
            ownerOfDomain[domain] == nil
        else { return }
        ownerOfDomain[domain] = owner
    }

    /// A network that announces `com` has no claim to all names in it. RFC 8375 gives `home.arpa` to each network.
    private static func isShared(_ domain: Name) -> Bool { domain.isListedPublicSuffix && domain != homeNetwork }

    private static let homeNetwork = Name("home.arpa")

    /// Returns the link with the longest announced domain that is the name or above it.
    package func owner(of name: Name) -> (domain: Name, owner: Owner)? {
        guard !ownerOfDomain.isEmpty else { return nil }
        for domain in sequence(first: name, next: \.parent) {
            if let owner = ownerOfDomain[domain] { return (domain, owner) }
        }
        return nil
    }

    /// Returns the domains of a link that are public suffixes or another link's.
    package func ignored(of link: AnnouncingLink) -> [Name] {
        link.domains.filter { ownerOfDomain[$0]?.link != link.name }
    }

    /// Returns the domains that belong to their link without a rule that names them.
    ///
    /// - Parameter isReserved: the operator has decided about the domain by other means. A tunnel, which the operator
    ///   starts, precedes these with a longer domain.
    package func domains(unless isReserved: (Name, _ isOfTunnel: Bool) -> Bool) -> [Name] {
        ownerOfDomain.filter { !isReserved($0.key, $0.value.rank == .tunnel) }.keys.sorted()
    }

    /// Returns the upstreams of a rule. The nameservers of the name's link take the place of `link`.
    func upstreams(_ upstreams: NameUpstreams, of name: Name) -> NameUpstreams {
        guard upstreams == .link else { return upstreams }
        return owner(of: name)?.owner.nameserver.map { .nameserver($0) } ?? .link
    }

    /// Returns the domains that other nameservers answer for.
    func domainsDiffering(from other: LinkRoutes) -> [Name] {
        guard self != other else { return [] }
        return Set(ownerOfDomain.keys).union(other.ownerOfDomain.keys).filter {
            ownerOfDomain[$0]?.nameserver != other.ownerOfDomain[$0]?.nameserver
        }.sorted()
    }
}
