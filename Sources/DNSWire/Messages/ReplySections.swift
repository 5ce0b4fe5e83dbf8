// The record sections of an upstream's reply, reduced to the records relevant to one question.

struct ReplySections {
    /// Records of the query type, CNAME and DNAME records of class IN, for any owner; with DO every record of class IN.
    let answers: [ResourceRecord]
    let answersOffset: Int
    /// True if the answer section has any record.
    let saysAnything: Bool
    /// The SOA records of the authority section; with DO also those that prove something: NSEC, NSEC3, DS, and
    /// signatures.
    let authorities: [ResourceRecord]
    /// True if the authority section has NS records: a referral if there is no answer.
    let hasNameservers: Bool
    /// The upper eight bits of the response code (RFC 6891 section 6.1.3); 0 without an OPT record.
    let extendedCode: UInt16
    /// The extended error of the OPT record (RFC 8914).
    let extendedError: ExtendedError?

    /// Initial room for answer records; more let the array grow.
    private static let usualRecords = 8

    /// Reads the sections; starts after the question section.
    init(_ cursor: inout ByteCursor, _ header: Header, _ question: Question) throws(MalformedMessage) {
        let counts = (Int(header.answerCount), Int(header.authorityCount), Int(header.additionalCount))
        guard counts.0 + counts.1 + counts.2 <= UpstreamReply.maxRecords else {
            throw cursor.malformed(.tooManyRecords)
        }
        answersOffset = cursor.offset
        var answers: [ResourceRecord] = []
        if counts.0 > 1 { answers.reserveCapacity(min(counts.0, ReplySections.usualRecords)) }
        var saysAnything = false
        let hasDNSSEC = question.dnssec.contains(.dnssecOK)
        for _ in 0..<counts.0 {
            let head = try RecordHead(&cursor)
            saysAnything = saysAnything || head.type != .opt
            let isNeeded = question.asks(for: head.type) || head.type.isRedirection || hasDNSSEC
            if let record = try head.record(&cursor, isNeeded: isNeeded) { answers.appendToShort(record) }
        }
        var authorities: [ResourceRecord] = []
        var hasNameservers = false
        for _ in 0..<counts.1 {
            let head = try RecordHead(&cursor)
            hasNameservers = hasNameservers || (head.type == .ns && head.recordClass == Query.classIN)
            let isNeeded = head.type == .soa || hasDNSSEC && head.type.isProof
            if let record = try head.record(&cursor, isNeeded: isNeeded) { authorities.append(record) }
        }
        var extendedCode: UInt16?
        var extendedError: ExtendedError?
        for _ in 0..<counts.2 {
            let head = try RecordHead(&cursor)
            if head.type == .opt {
                guard extendedCode == nil else { throw cursor.malformed(.secondOptionRecord) }
                extendedCode = UInt16(head.ttlField >> 24)
                extendedError = ExtendedError(options: try head.data(&cursor))
                continue
            }
            _ = try head.record(&cursor, isNeeded: false)
        }
        self.answers = answers
        self.saysAnything = saysAnything
        self.authorities = authorities
        self.hasNameservers = hasNameservers
        self.extendedCode = extendedCode ?? 0
        self.extendedError = extendedError
    }
}

/// The fields before a record's data (RFC 1035 section 4.1.3).
struct RecordHead {
    let owner: Name
    let type: RecordType
    let recordClass: UInt16
    /// The TTL; in an OPT record the extended code, version and flags.
    let ttlField: UInt32
    let dataBytes: Int

    init(_ cursor: inout ByteCursor) throws(MalformedMessage) {
        owner = try cursor.readName()
        type = RecordType(rawValue: try cursor.readBigEndian16())
        recordClass = try cursor.readBigEndian16()
        ttlField = try cursor.readBigEndian32()
        dataBytes = Int(try cursor.readBigEndian16())
    }

    /// Advances past the data. Returns nil for records that are not wanted or not of class IN, without parsing their
    /// data. Meta types are never records (RFC 6895 section 3.1).
    func record(_ cursor: inout ByteCursor, isNeeded: Bool) throws(MalformedMessage) -> ResourceRecord? {
        var range = try cursor.readRange(dataBytes)
        guard isNeeded, recordClass == Query.classIN, !type.isMeta else { return nil }
        return ResourceRecord(owner: owner, type: type, ttlSeconds: ttlSeconds, data: try range.readData(of: type))
    }

    /// Returns the raw data and advances past it.
    func data(_ cursor: inout ByteCursor) throws(MalformedMessage) -> [UInt8] {
        var range = try cursor.readRange(dataBytes)
        return range.readRest()
    }

    /// The TTL. A TTL with the top bit set is a large one (RFC 8767 section 4), not 0 as in RFC 2181.
    private var ttlSeconds: UInt32 { min(ttlField, UpstreamReply.maxTTLSeconds) }
}
