// The names that this network's resolvers have alone, or have otherwise than the providers (split horizon), with what
// each source said, and the suffixes that they share.

package import DNSWire
import PublicSuffix

/// A name of this network.
package struct SplitName: Equatable, Sendable {
    /// The raw values appear on the control socket.
    package enum Kind: String, Sendable {
        /// The providers deny the name.
        case onlyHere = "only-here"
        /// The network gives private addresses, and the providers others.
        case privateHere = "private-here"
        /// The network gives an address with a certificate for the name, and the providers give others without one.
        case verifiedHere = "verified-here"
    }

    /// What a source said.
    package struct Statement: Equatable, Sendable {
        package let source: Source
        package let type: RecordType
        package let kind: Answer.Kind
        package let addresses: [Address]
        /// The verdicts on the addresses, in their order.
        package let verdicts: [Verdict]
        package let answeredAt: Instant
    }

    package let name: Name
    package let kind: Kind
    /// What the network's resolvers said.
    package let here: [Statement]
    /// What the providers said.
    package let elsewhere: [Statement]
    /// The suffix of `SplitHorizon.suffixes` that has the name.
    package fileprivate(set) var suffix: Name?
    /// The settings send the name to a resolver of the network.
    package var isRouted = false
}

package struct SplitSuffix: Equatable, Sendable {
    package let name: Name
    /// Number of names found in it.
    package let count: Int
    /// The network announces it as search domain.
    package let isAnnounced: Bool
    package var isRouted = false
}

package struct SplitHorizon: Equatable, Sendable {
    /// The names, sorted.
    package var names: [SplitName]
    /// Suffixes of several of the names and of no name that providers have; none is within another.
    package var suffixes: [SplitSuffix]
    /// Addresses that the system resolver gives for names that do not exist.
    package let invented: [Address]

    /// The names and suffixes that a rule should send to the system resolver, and no rule does.
    package var proposals: [Name] {
        suffixes.filter { !$0.isRouted }.map(\.name)
            + names.filter { $0.suffix == nil && !$0.isRouted }.map(\.name)
    }
}

extension ComparedNames {
    /// - Parameters:
    ///   - prefixes: the NAT64 prefixes of the network. Addresses made with them are no addresses of its own.
    ///   - announced: the search domains that the network announces.
    ///   - publicNames: names that providers have.
    func splitHorizon(
        behind prefixes: [NAT64Prefix], announced: [Name], publicNames: Set<Name>
    ) -> SplitHorizon {
        let domains = domainsOfAddresses(behind: prefixes)
        let invented = controls.values.flatMap(\.addresses).sorted { $0.description < $1.description }
        var names = entries.compactMap { entry in
            kind(of: entry, behind: prefixes, domains, invented).map { entry.split($0) }
        }
        names.sort { $0.name < $1.name }
        let known = entries.filter(\.isPublic).map(\.name)
        let suffixes = suffixes(of: names, announced: announced, publicNames: publicNames.union(known))
        for index in names.indices {
            names[index].suffix = suffixes.first { names[index].name.isWithin($0.name) }?.name
        }
        return SplitHorizon(names: names, suffixes: suffixes, invented: invented)
    }

    // MARK: names

    private func kind(
        of entry: Entry, behind prefixes: [NAT64Prefix], _ domains: [Address: Set<Name>], _ invented: [Address]
    ) -> SplitName.Kind? {
        guard entry.hasLocal, !entry.isBlocked, !entry.elsewhere.isEmpty,
            let here = entry.addressesHere(behind: prefixes)
        else { return nil }
        let isVerified = here.all.contains { entry.verdict(on: $0) == .verified }
        // One address for unrelated names is that of a filter, a portal or a search page.
        let isShared = here.all.contains { address in
            entry.verdict(on: address) != .verified && (domains[address]?.count ?? 0) >= Bounds.unrelatedDomains
        }
        let isInvented = here.all.contains { address in invented.contains { $0.isNear(address) } }
        guard !isShared, !isInvented else { return nil }
        let areControlled = here.types.allSatisfy { controls[$0] != nil }
        if entry.isAbsentElsewhere(here) {
            let mayBeInvented = !invented.isEmpty && (!here.isPrivate || invented.contains(where: \.isPrivate))
            return areControlled && (!mayBeInvented || isVerified) ? .onlyHere : nil
        }
        let others = entry.elsewhere.flatMap(\.addresses)
        guard !others.isEmpty, !here.all.contains(where: others.contains) else { return nil }
        if here.isPrivate { return areControlled && !others.contains(where: \.isPrivate) ? .privateHere : nil }
        let areOthersBad = others.allSatisfy { address in
            entry.judged.contains { $0.address == address && $0.isLastinglyBad }
        }
        return isVerified && !entry.isVerifiedElsewhere && areOthersBad ? .verifiedHere : nil
    }

    /// Returns the domains for which the network gives an address that no provider gives.
    private func domainsOfAddresses(behind prefixes: [NAT64Prefix]) -> [Address: Set<Name>] {
        var domains: [Address: Set<Name>] = [:]
        for entry in entries where entry.hasLocal && !entry.agrees {
            guard let here = entry.addressesHere(behind: prefixes) else { continue }
            let domain = entry.name.unrelatedDomain
            for address in here.all { domains[address, default: []].insert(domain) }
        }
        return domains
    }

    // MARK: suffixes

    /// Returns the outermost suffixes with names found below several labels, or announced, and without a name that
    /// providers have.
    private func suffixes(of names: [SplitName], announced: [Name], publicNames: Set<Name>) -> [SplitSuffix] {
        var children: [Name: Set<Name>] = [:]
        for found in names where found.kind != .verifiedHere {
            for (child, suffix) in found.name.ancestors {
                if suffix.isListedPublicSuffix { break }
                children[suffix, default: []].insert(child)
            }
        }
        children = children.filter { $1.count >= Bounds.namesOfSuffix || announced.contains($0) }
        guard !children.isEmpty else { return [] }
        for name in publicNames.subtracting(names.map(\.name)) {
            for suffix in [name] + name.ancestors.map(\.name) { children[suffix] = nil }
        }
        let shared = Set(children.keys)
        let outermost = shared.filter { $0.parent?.isWithin(anyOf: shared) == false }.sorted()
        return outermost.map { suffix in
            SplitSuffix(
                name: suffix, count: names.count { $0.name.isWithin(suffix) }, isAnnounced: announced.contains(suffix))
        }
    }
}

extension ComparedNames.Entry {
    /// The addresses that the network's resolvers give.
    fileprivate struct AddressesHere {
        var all: [Address] = []
        var types: Set<RecordType> = []
        /// All addresses of a family are private.
        var isPrivate = false
    }

    /// Returns nil if there are none, or if one cannot be an address of a host in the network.
    fileprivate func addressesHere(behind prefixes: [NAT64Prefix]) -> AddressesHere? {
        var here = AddressesHere()
        for statement in local where statement.kind == .records {
            let own = statement.addresses.filter { address in
                NAT64Prefix.wellKnown.extract(address) == nil && prefixes.allSatisfy { $0.extract(address) == nil }
            }
            guard !own.isEmpty else { continue }
            let privateCount = own.count(where: \.isPrivate)
            guard own.allSatisfy({ !$0.isPrivate || $0.isOfSite }), privateCount == 0 || privateCount == own.count
            else { return nil }
            here.all += own
            here.types.insert(statement.type)
            here.isPrivate = here.isPrivate || privateCount > 0
        }
        return here.all.isEmpty ? nil : here
    }

    /// Whether the providers deny the name. A public address needs more: an expired zone lives on in a cache, and a new
    /// name is denied from one.
    fileprivate func isAbsentElsewhere(_ here: AddressesHere) -> Bool {
        guard elsewhere.allSatisfy({ $0.kind != .records }), here.isPrivate || !isPublic else { return false }
        let areConfirmed = here.isPrivate || local.filter { $0.kind == .records }.allSatisfy(\.isConfirmed)
        let denials = here.isPrivate ? elsewhere : elsewhere.filter { $0.isConfirmed && $0.kind != .ambiguousEmpty }
        let types: Set<RecordType> = here.isPrivate ? here.types : [.a, .aaaa]
        let isDenied =
            denials.contains { $0.kind == .noSuchName }
            || types.allSatisfy { type in denials.contains { $0.type == type } }
        return areConfirmed && isDenied
    }

    fileprivate func split(_ kind: SplitName.Kind) -> SplitName {
        let shown = { (statements: [ComparedNames.Statement]) in
            statements.map { statement in
                SplitName.Statement(
                    source: statement.source, type: statement.type, kind: statement.kind,
                    addresses: statement.addresses, verdicts: statement.addresses.map(verdict),
                    answeredAt: statement.answeredAt)
            }
        }
        return SplitName(name: name, kind: kind, here: shown(local), elsewhere: shown(elsewhere))
    }
}

extension Name {
    /// The names above, each with the one below it on the way, the nearest first; without the root.
    fileprivate var ancestors: [(child: Name, name: Name)] {
        var found: [(child: Name, name: Name)] = []
        var child = self
        while let parent = child.parent, !parent.isRoot {
            found.append((child, parent))
            child = parent
        }
        return found
    }

    /// A domain whose names may belong together: the registrable domain, or the top level if it is no public one.
    fileprivate var unrelatedDomain: Name {
        let domain = registrableDomain
        guard let parent = domain.parent, !parent.isRoot, !parent.isListedPublicSuffix else { return domain }
        return domain.last(1)
    }
}

extension Address {
    /// The address blocks for hosts of a network (RFC 1918, RFC 6598, RFC 4193). Others that are not global mean no
    /// host: filters give them, and programs that invent an address for each name (198.18.0.0/15).
    private static let blocksOfSites = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"]
        .compactMap { Prefix($0) }

    fileprivate var isOfSite: Bool { Address.blocksOfSites.contains { $0.contains(self) } }

    /// Whether both are of one /16 or /32: an inventing program has a block of addresses.
    fileprivate func isNear(_ other: Address) -> Bool {
        switch (self, other) {
        case (.v4(let one), .v4(let two)): one >> 16 == two >> 16
        case (.v6(let one, _), .v6(let two, _)): one >> 32 == two >> 32
        case (.v4, .v6), (.v6, .v4): false
        }
    }
}
