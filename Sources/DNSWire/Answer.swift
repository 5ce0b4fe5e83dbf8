// What an upstream said about a question, in one form for every dialect and for nameservers.

package struct Answer: Equatable, Sendable {
    package enum Kind: Sendable {
        /// Records of the asked type are there, perhaps behind a chain of CNAME records.
        case records
        /// The name exists and has no record of the asked type.
        case noData
        /// The name does not exist (NXDOMAIN), said by a source that can tell.
        case noSuchName
        /// Nothing came back, from a source that cannot tell "no such name" from "not my name" (providers
        /// that return bare lists). Another upstream is asked before this is believed.
        case unprovenEmpty
    }

    package let kind: Kind
    /// The answer section: CNAME records in the order of the chain, then the records of the asked type. Owner and
    /// target follow each other from the asked name; nothing else is here.
    package let records: [ResourceRecord]
    /// The SOA record of a negative answer, where the upstream gave one (RFC 2308 section 3).
    package let authority: ResourceRecord?
    /// How long the answer may be kept, in seconds: the smallest of its records' TTLs, or the negative TTL.
    package let ttlSeconds: UInt32
    /// Why it is not what it could have been, for clients; nil: it is plain. No part of what was said.
    package private(set) var remark: ExtendedError?

    /// For a negative answer that came without any TTL. RFC 2308 section 5 leaves it to the server.
    package static let defaultNegativeTTLSeconds: UInt32 = 60

    /// Records of the asked type, at least one; the lifetime is the smallest TTL among them.
    package init(records: [ResourceRecord]) {
        kind = .records
        self.records = records
        authority = nil
        ttlSeconds = records.map(\.ttlSeconds).min() ?? 0
    }

    /// A negative answer. With a SOA record the smaller of its TTL and MINIMUM decides, and becomes its TTL so that
    /// caches behind us keep it no longer (RFC 2308 sections 3 and 5); without one, `ttlSeconds`.
    package init(
        negative kind: Kind, chain: [ResourceRecord] = [], authority: ResourceRecord? = nil,
        ttlSeconds: UInt32 = Answer.defaultNegativeTTLSeconds
    ) {
        self.kind = kind
        records = chain
        self.authority = authority.map { $0.withTTL(min($0.ttlSeconds, $0.startOfAuthorityMinimum ?? $0.ttlSeconds)) }
        self.ttlSeconds = chain.map(\.ttlSeconds).reduce(self.authority?.ttlSeconds ?? ttlSeconds, min)
    }

    package var responseCode: ResponseCode { kind == .noSuchName ? .noSuchName : .noError }

    /// The addresses among the records, in their order.
    package var addresses: [Address] { records.compactMap(\.address) }

    /// A copy in which every TTL lies between the limits; the upper one wins.
    package func withTTL(from lowest: UInt32 = 0, to highest: UInt32) -> Answer {
        let limit = { (ttl: UInt32) in min(max(ttl, lowest), highest) }
        let limited = Answer(
            kind: kind, records: records.map { $0.withTTL(limit($0.ttlSeconds)) },
            authority: authority.map { $0.withTTL(limit($0.ttlSeconds)) }, ttlSeconds: limit(ttlSeconds))
        return limited.remarked(remark)
    }

    package func remarked(_ remark: ExtendedError?) -> Answer {
        var remarked = self
        remarked.remark = remark
        return remarked
    }

    package static func == (left: Answer, right: Answer) -> Bool {
        left.kind == right.kind && left.records == right.records && left.authority == right.authority
            && left.ttlSeconds == right.ttlSeconds
    }

    private init(kind: Kind, records: [ResourceRecord], authority: ResourceRecord?, ttlSeconds: UInt32) {
        self.kind = kind
        self.records = records
        self.authority = authority
        self.ttlSeconds = ttlSeconds
    }
}
