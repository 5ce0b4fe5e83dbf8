// Converts a JSON list of addresses of one family with one TTL to an answer.

import DNSWire

/// `ips` and `ttl` as read from the reply.
struct AddressList {
    let texts: [String]
    /// The TTL in seconds as sent; may be negative.
    let ttl: LenientInteger?

    /// Returns an ambiguous answer for an empty list, which does not show whether the name exists.
    ///
    /// - Throws: `garbage` if there are addresses, but none of the question's family.
    func answer(to question: Question) throws(DialectError) -> Answer {
        guard !texts.isEmpty else { return Answer(negative: .ambiguousEmpty, ttlSeconds: ttlSeconds) }
        guard texts.count <= DialectBounds.maxRecords else { throw .garbage("more addresses than any name has") }
        let records = texts.compactMap { Address($0) }.filter { $0.recordType == question.type }
            .map { ResourceRecord(owner: question.name, address: $0, ttlSeconds: ttlSeconds) }
        guard !records.isEmpty else { throw .garbage("no address in the list") }
        return Answer(records: records)
    }

    /// The default for an absent or non-positive TTL, because the provider meant the answer to be used (providers.md
    /// 2.2 and 9.5).
    var ttlSeconds: UInt32 {
        guard let value = ttl?.value, value > 0 else { return DialectBounds.defaultTTLSeconds }
        return UInt32(clamping: min(value, Int(DialectBounds.maxTTLSeconds)))
    }
}

extension Answer {
    /// Server side: the addresses of a family as text.
    func addressTexts(of family: RecordType) -> [String] {
        addresses.filter { $0.recordType == family }.map(\.description)
    }
}
