// Follows CNAME and DNAME records from the query name to the records of the query type. Follows them by name, so
// unrelated records never enter an answer, in any order.

package struct AliasChain: Equatable, Sendable {
    /// The CNAME records in chain order, each behind the DNAME record that makes it (RFC 6672 section 3.1), if there
    /// is one. Empty if the query name is not an alias.
    package let links: [ResourceRecord]
    /// The last name of the chain: the query name, or the target of the last link.
    package let end: Name
    /// The records of the query type at the last name, without duplicates, in their original order.
    package let records: [ResourceRecord]

    package enum Failure: Error, Sendable {
        case loop
        case tooLong
    }

    /// Bound on links. CDNs chain up to a dozen names. BIND and unbound follow 11 to 17 links, but those chains cost
    /// them a query per link; a complete answer costs none.
    package static let maxLinks = 32

    /// Takes time linear in the number of records. If a name has several CNAME records, the first counts.
    package init(from question: Question, through records: [ResourceRecord]) throws(Failure) {
        var links: [ResourceRecord] = []
        var visited: Set<Name> = []
        var end = question.name
        let follows = question.type != .cname && question.type != .any
        let leadsOn = records.contains { $0.type.isRedirection }
        let aliases = leadsOn && follows ? records.filter { $0.type == .cname } : []
        let redirections = leadsOn && question.type != .any ? records.filter { $0.type == .dname } : []
        while true {
            func isMeant(_ record: ResourceRecord) -> Bool { question.asks(for: record.type) && record.owner == end }
            // In most answers all records are meant, so they need no copy.
            let found = AliasChain.unique(records.allSatisfy(isMeant) ? records : records.filter(isMeant))
            var link: ResourceRecord?
            if found.isEmpty {
                link = aliases.first { $0.owner == end }
                if link == nil, follows { link = redirections.covering(end)?.alias(of: end) }
            }
            if let link, let target = link.aliasTarget {
                visited.insert(end)
                guard !visited.contains(target) else { throw .loop }
                guard visited.count <= AliasChain.maxLinks else { throw .tooLong }
                if !redirections.isEmpty { links += redirections.making(link).filter { !links.contains($0) } }
                links.append(link)
                end = target
            } else {
                if question.type == .cname, let asked = found.first { links += redirections.making(asked) }
                self.links = links
                self.end = end
                self.records = found
                return
            }
        }
    }

    /// Returns true for the records of an answer section that belong to the chain: those at its names, and DNAME
    /// records above them that made a link (RFC 6672 section 3.1), both with their signatures.
    func concerns(_ record: ResourceRecord, _ question: Question) -> Bool {
        let isSignature = record.type == .rrsig && question.type != .rrsig
        let type = isSignature ? record.coveredType : record.type
        let names = links.filter { $0.type == .cname }.map(\.owner) + [end]
        if type == .dname, links.contains(where: { $0.type == .dname && $0.owner == record.owner }) { return true }
        guard let type, question.asks(for: type) || type == .cname else { return false }
        return names.contains(record.owner)
    }

    /// Removes duplicates, which an RRset does not have (RFC 2181 section 5). Of two records that differ only in TTL,
    /// the first stays.
    private static func unique(_ records: [ResourceRecord]) -> [ResourceRecord] {
        guard records.count > 1 else { return records }
        // Most answers have a few records, which need no table.
        if records.count <= 8 {
            var distinct: [ResourceRecord] = []
            for record in records {
                let isKnown = distinct.contains { $0.type == record.type && $0.data == record.data }
                if !isKnown { distinct.append(record) }
            }
            return distinct
        }
        struct Content: Hashable {
            let type: RecordType
            let data: [UInt8]
        }
        var seen: Set<Content> = []
        return records.filter { seen.insert(Content(type: $0.type, data: $0.data)).inserted }
    }
}

extension [ResourceRecord] {
    /// The DNAME record with the longest owner above the name; nil if there is none.
    func covering(_ name: Name) -> ResourceRecord? {
        lazy.filter { $0.owner != name && name.isWithin($0.owner) }.max { $0.owner.wire.count < $1.owner.wire.count }
    }

    /// The DNAME record that makes this CNAME record, if there is one.
    fileprivate func making(_ link: ResourceRecord) -> [ResourceRecord] {
        guard !isEmpty else { return [] }
        return filter { $0.alias(of: link.owner)?.aliasTarget == link.aliasTarget }.covering(link.owner).map { [$0] }
            ?? []
    }
}

extension Question {
    /// Whether records of this type belong to the answer. ANY asks for every type.
    func asks(for type: RecordType) -> Bool { self.type == type || self.type == .any }
}

extension ResourceRecord {
    /// The type that a signature covers (RFC 4034 section 3.1.1); nil for malformed data.
    var coveredType: RecordType? {
        data.count < 2 ? nil : RecordType(rawValue: UInt16(data[0]) << 8 | UInt16(data[1]))
    }

    /// The target of a CNAME record; nil for other types and malformed data.
    package var aliasTarget: Name? {
        type == .cname ? Name(wire: data) : nil
    }

    /// The CNAME record that this DNAME record makes for a name below its owner (RFC 6672 section 2.2), which some
    /// servers leave to the client. Nil if the target would be too long.
    func alias(of name: Name) -> ResourceRecord? {
        guard name != owner, name.isWithin(owner) else { return nil }
        let target = Name(wire: name.wire.dropLast(owner.wire.count) + data)
        return target.map { ResourceRecord(owner: name, alias: $0, ttlSeconds: ttlSeconds) }
    }
}
