// The lab's zone data, resolved as a recursive resolver would: CNAME chains, NODATA, NXDOMAIN, or a refusal for names
// outside every zone. It asks no other server.

package import DNSWire
package import HTTPDNS

package struct Zone: Sendable {
    private var sets: [Name: [RecordType: [ResourceRecord]]] = [:]
    /// Owner names and all their ancestors up to the root; these exist, with or without records.
    private var existing: Set<Name> = []

    package init() {}

    package mutating func add(_ record: ResourceRecord) {
        sets[record.owner, default: [:]][record.type, default: []].append(record)
        existing.formUnion(record.owner.andAncestors)
    }

    /// Replaces the records of this owner and type. Without records the set is removed, but the name still exists.
    package mutating func replace(_ name: Name, _ type: RecordType, with records: [ResourceRecord]) {
        sets[name, default: [:]][type] = nil
        records.forEach { add($0) }
    }

    package func records(_ name: Name, _ type: RecordType) -> [ResourceRecord] {
        sets[name]?[type] ?? []
    }

    /// Returns the SOA record of the closest zone at or above the name.
    package func authority(of name: Name) -> ResourceRecord? {
        name.andAncestors.lazy.compactMap { records($0, .soa).first }.first
    }

    /// Resolves the question, following CNAME records.
    package func resolve(_ question: Question) -> Resolution {
        var links: [ResourceRecord] = []
        var name = question.name
        while let authority = authority(of: name) {
            let found = synthesized(name)
            if let records = found?[question.type], !records.isEmpty {
                return .answer(Answer(records: links + records))
            }
            guard let link = found?[.cname]?.first, let target = link.aliasTarget else {
                let kind: Answer.Kind = found == nil ? .noSuchName : .noData
                return .answer(Answer(negative: kind, chain: links, authority: authority))
            }
            guard links.count < AliasChain.maxLinks, !links.contains(where: { $0.owner == target }) else {
                return .refusal(.serverFailure)
            }
            links.append(link)
            name = target
        }
        return .refusal(links.isEmpty ? .refused : .serverFailure)
    }

    /// Returns the record sets of a name, or those of a wildcard if the name does not exist (RFC 4592 section 3.3.1).
    /// The result is nil for NXDOMAIN.
    private func synthesized(_ name: Name) -> [RecordType: [ResourceRecord]]? {
        if existing.contains(name) { return sets[name] ?? [:] }
        guard let encloser = name.andAncestors.first(where: existing.contains),
            let wildcard = Name(wire: [1, UInt8(ascii: "*")] + encloser.wire), let sets = sets[wildcard]
        else { return nil }
        return sets.mapValues { records in
            records.map { ResourceRecord(owner: name, type: $0.type, ttlSeconds: $0.ttlSeconds, data: $0.data) }
        }
    }
}

extension Name {
    /// The name and its ancestors: the name itself first, the root last.
    fileprivate var andAncestors: [Name] {
        var names: [Name] = []
        var at = 0
        while let name = at < wire.count ? Name(wire: wire[at...]) : nil {
            names.append(name)
            at += 1 + Int(wire[at])
        }
        return names
    }
}
