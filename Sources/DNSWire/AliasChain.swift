// From the asked name through CNAME records to the records of the asked type. Links are followed by name, so that
// a record which nothing leads to never enters an answer, in whatever order and company it came.

package struct AliasChain: Equatable, Sendable {
    /// The CNAME records, in the order of the chain; empty when the asked name is no alias.
    package let links: [ResourceRecord]
    /// The last name: the asked one, or where the last link leads.
    package let end: Name
    /// The records of the asked type at the last name, each once, in the order they came.
    package let records: [ResourceRecord]

    package enum Failure: Error, Sendable {
        case loop
        case tooLong
    }

    /// BIND and unbound stop at 11 to 17 links; whoever has more has a loop or wants our time.
    package static let maxLinks = 11

    /// Takes time linear in the number of records. Where one name has several CNAME records, the first counts.
    package init(from question: Question, through records: [ResourceRecord]) throws(Failure) {
        var links: [ResourceRecord] = []
        var visited: Set<Name> = [question.name]
        var end = question.name
        let aliases = question.type == .cname || question.type == .any ? [] : records.filter { $0.type == .cname }
        while true {
            let found = AliasChain.unique(records.filter { question.asks(for: $0.type) && $0.owner == end })
            if found.isEmpty, let link = aliases.first(where: { $0.owner == end }), let target = link.aliasTarget {
                guard visited.insert(target).inserted else { throw .loop }
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

    /// RFC 2181 section 5: a set has no duplicates; of two that differ in their TTL only, the first stays.
    private static func unique(_ records: [ResourceRecord]) -> [ResourceRecord] {
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
    /// Where a CNAME record leads; nil for other types, and for data that is not one whole name.
    package var aliasTarget: Name? {
        type == .cname ? Name(wire: data) : nil
    }
}
