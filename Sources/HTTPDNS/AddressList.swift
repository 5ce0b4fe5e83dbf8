// Bare addresses of one family with one TTL, as HTTPDNS services say them in JSON, made into an answer.

import DNSWire

/// `ips` and `ttl` as they were read.
struct AddressList {
    let texts: [String]
    /// What it said, in seconds, of whatever sign.
    let ttl: LenientInteger?

    /// As `JSONAddresses` has it: an empty list is nobody's word on whether the name exists.
    func answer(to question: Question) throws(DialectError) -> Answer {
        try JSONAddresses.answer(to: question, in: texts.map { .text($0) }, ttl: lifetime, isShared: false)
    }

    var ttlSeconds: UInt32 {
        get throws(DialectError) { try JSONAddresses.seconds(lifetime) }
    }

    private var lifetime: JSONValue? { ttl.map { .integer($0.value) } }
}

extension Answer {
    /// The server's side: the addresses of a family as text.
    func addressTexts(of family: RecordType) -> [String] {
        addresses.filter { $0.recordType == family }.map(\.description)
    }
}
