// Bare addresses of one family with one TTL, as HTTPDNS services say them in JSON, made into an answer.

import DNSWire

/// `ips` and `ttl` as they were read.
struct AddressList {
    let texts: [String]
    /// What it said, in seconds, of whatever sign.
    let ttl: LenientInteger?

    /// An empty list is nobody's word on whether the name exists.
    /// - Throws: `garbage` when there are addresses, and none of the question's family.
    func answer(to question: Question) throws(DialectError) -> Answer {
        guard !texts.isEmpty else { return Answer(negative: .unprovenEmpty, ttlSeconds: ttlSeconds) }
        guard texts.count <= DialectBounds.maxRecords else { throw .garbage("more addresses than any name has") }
        let records = texts.compactMap { Address($0) }.filter { $0.recordType == question.type }
            .map { ResourceRecord(owner: question.name, address: $0, ttlSeconds: ttlSeconds) }
        guard !records.isEmpty else { throw .garbage("no address in the list") }
        return Answer(records: records)
    }

    /// Absent and not positive: the default, because the answer was meant to be used (providers.md 2.2 and 9.5).
    var ttlSeconds: UInt32 {
        guard let value = ttl?.value, value > 0 else { return DialectBounds.defaultTTLSeconds }
        return UInt32(clamping: min(value, Int(DialectBounds.maxTTLSeconds)))
    }
}

extension Answer {
    /// The server's side: the addresses of a family as text.
    func addressTexts(of family: RecordType) -> [String] {
        addresses.filter { $0.recordType == family }.map(\.description)
    }
}
