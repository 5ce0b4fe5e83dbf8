// Which link answers for a name whose rule has the resolver "link".

package import DNSWire

package struct LinkRoutes: Equatable, Sendable {
    package struct Owner: Equatable, Sendable {
        package let interface: String
        /// Nil if the link has ended.
        package let nameserver: ProviderID?
        package let servers: [Nameserver]
    }

    private var ownerOfDomain: [Name: Owner] = [:]

    package static let none = LinkRoutes(LinkDomains()) { _ in nil }

    /// - Parameter nameserver: that with the servers of an interface.
    package init(_ domains: LinkDomains, nameserver: (String) -> ProviderID?) {
        for ended in domains.ended {
            ownerOfDomain[ended.domain] = Owner(interface: ended.interface, nameserver: nil, servers: [])
        }
        for link in domains.links {
            let owner = Owner(
                interface: link.interface, nameserver: nameserver(link.interface), servers: link.servers)
            for domain in link.domains where ownerOfDomain[domain]?.nameserver == nil { ownerOfDomain[domain] = owner }
        }
    }

    /// Returns the link with the longest announced domain that is the name or above it.
    package func owner(of name: Name) -> (domain: Name, owner: Owner)? {
        guard !ownerOfDomain.isEmpty else { return nil }
        var next: Name? = name
        while let domain = next {
            if let owner = ownerOfDomain[domain] { return (domain, owner) }
            next = domain.parent
        }
        return nil
    }

    /// Returns the upstreams of a rule, with the link in the place of `noLink`.
    func upstreams(_ upstreams: NameUpstreams, of name: Name) -> NameUpstreams {
        guard upstreams == .link else { return upstreams }
        return .nameserver(owner(of: name)?.owner.nameserver ?? .noLink)
    }

    /// Returns the domains that other nameservers answer for.
    func domainsDiffering(from other: LinkRoutes) -> [Name] {
        guard self != other else { return [] }
        return Set(ownerOfDomain.keys).union(other.ownerOfDomain.keys).filter {
            ownerOfDomain[$0]?.nameserver != other.ownerOfDomain[$0]?.nameserver
        }
    }
}

extension ProviderID {
    /// Stands for the nameservers of a name's link. No provider has it, so that a name without a link fails.
    package static let noLink = ProviderID(.min)
}

extension NameUpstreams {
    /// Those of a rule for links.
    package static let link = NameUpstreams.nameserver(.noLink)
}
