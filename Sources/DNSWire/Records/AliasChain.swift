// Follows CNAME records from the query name to the records of the query type. Follows them by name, so unrelated
// records never enter an answer, in any order.

package struct AliasChain: Equatable, Sendable {
    /// The CNAME records in chain order; empty if the query name is not an alias.
    package let links: [ResourceRecord]
    /// The last name of the chain: the query name, or the target of the last link.
    package let end: Name
    /// The records of the query type at the last name, without duplicates, in their original order.
    package let records: [ResourceRecord]

    package enum Failure: Error, Sendable {
        case loop
        case tooLong
    }

    /// BIND and unbound stop at 11 to 17 links; a longer chain is a loop or an attack.
    package static let maxLinks = 11

    /// Takes time linear in the number of records. If a name has several CNAME records, the first counts.
    package init(from question: Question, through records: [ResourceRecord]) throws(Failure) {
        var links: [ResourceRecord] = []
        var visited: Set<Name> = []
        var end = question.name
        let aliases = question.type == .cname || question.type == .any ? [] : records.filter { $0.type == .cname }
        while true {
            let found = AliasChain.unique(records.filter { question.asks(for: $0.type) && $0.owner == end })
            if found.isEmpty, let link = aliases.first(where: { $0.owner == end }), let target = link.aliasTarget {
                visited.insert(end)
                guard !visited.contains(target) else { throw .loop }
                guard links.count < AliasChain.maxLinks else { throw .tooLong }
                links.append(link)
                end = target
            } else {
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
        let names = links.map(\.owner) + [end]
        if type == .dname, names.contains(where: { $0.isWithin(record.owner) }) { return true }
        guard let type, question.asks(for: type) || type == .cname else { return false }
        return names.contains(record.owner)
    }

    /// RFC 2181 section 5: an RRset has no duplicates. Of two records that differ only in TTL, the first stays.
    private static func unique(_ records: [ResourceRecord]) -> [ResourceRecord] {
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

extension Question {
    /// ANY asks for every type.
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
}
