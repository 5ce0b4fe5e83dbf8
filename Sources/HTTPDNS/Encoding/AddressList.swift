// Converts a JSON list of addresses of one family with one TTL to an answer.

import DNSWire

/// A list of addresses with its TTL, as read from the reply.
struct AddressList {
    let texts: [String]
    let ttl: LenientTTL?

    /// Returns an ambiguous answer for an empty list, which does not show whether the name exists.
    ///
    /// - Throws: `garbage` if there are addresses, but none of the question's family.
    func answer(to question: Question) throws(DialectError) -> Answer {
        guard !texts.isEmpty else { return Answer(negative: .ambiguousEmpty, ttlSeconds: ttlSeconds) }
        guard texts.count <= DialectBounds.maxRecords else { throw .garbage("more addresses than any name has") }
        return try Answer(to: question, of: texts.compactMap { Address($0) }, ttlSeconds: ttlSeconds)
    }

    var ttlSeconds: UInt32 { ttl?.positiveSeconds ?? DialectBounds.defaultTTLSeconds }
}

extension Answer {
    /// Holds the addresses of the question's family, each once: an RRset has no duplicates (RFC 2181 section 5), and
    /// vendors list an address twice.
    ///
    /// - Throws: `garbage` if there is no such address.
    convenience init(to question: Question, of addresses: [Address], ttlSeconds: UInt32) throws(DialectError) {
        let own = addresses.filter { $0.recordType == question.type }.withoutRepetition
        guard !own.isEmpty else { throw .garbage("no address of the family") }
        self.init(records: own.map { ResourceRecord(owner: question.name, address: $0, ttlSeconds: ttlSeconds) })
    }

    /// Server side: returns the addresses of a family as text.
    func addressTexts(of family: RecordType) -> [String] {
        addresses.filter { $0.recordType == family }.map(\.description)
    }
}
