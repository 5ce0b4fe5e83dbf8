// An upstream's answer to a question, in one form for all dialects and nameservers.

/// An answer. Immutable. A class, because every miss hands its answer to a dozen parts.
package final class Answer: Equatable, Sendable {
    package enum Kind: Sendable {
        /// Records of the query type, possibly after a chain of CNAME records.
        case records
        /// The name exists without a record of the query type.
        case noData
        /// The name does not exist (NXDOMAIN), from a source that can report this.
        case noSuchName
        /// An empty reply from a source that cannot report NXDOMAIN, such as a provider that returns bare address
        /// lists. The resolver asks another upstream before it accepts this. That costs names without records a second
        /// request, but plain DNSPod replies in the same way about names that it does not serve.
        case ambiguousEmpty

        /// Other modules would call the derived operator through its witness.
        @inlinable
        package static func == (left: Kind, right: Kind) -> Bool {
            switch (left, right) {
            case (.records, .records), (.noData, .noData), (.noSuchName, .noSuchName),
                (.ambiguousEmpty, .ambiguousEmpty):
                true
            case (.records, _), (.noData, _), (.noSuchName, _), (.ambiguousEmpty, _): false
            }
        }
    }

    package let kind: Kind
    /// The answer section: CNAME records in chain order with the DNAME records that make them, then the records of the
    /// query type. Contains no other records, except in the answer to a question with DO.
    package let records: [ResourceRecord]
    /// The addresses in the records, in order. Derived once, as several tables keep them.
    package let addresses: [Address]
    /// The SOA record of a negative answer, if the upstream sent one (RFC 2308 section 3). Then, for a question with
    /// DO, the rest of the authority section: NSEC, NSEC3, DS, and signatures.
    package let authorities: [ResourceRecord]
    /// The answer has signatures. No record may be removed or changed, or clients that validate would refuse it.
    package let isSigned: Bool
    /// AD: a trusted upstream vouches for all records. An answer that is changed here is no longer authentic.
    package let isAuthentic: Bool
    /// The TTL in seconds: the smallest of the records' TTLs, or the negative TTL.
    package let ttlSeconds: UInt32
    /// An extended error for clients; nil: none. Not part of the upstream's data.
    package let remark: ExtendedError?
    /// Number of first addresses that a rule prefers and no upstream gave. They are for this process, which verified
    /// them.
    package let preferredCount: Int

    /// The TTL of a negative answer without a TTL; RFC 2308 section 5 leaves the value to the server.
    package static let defaultNegativeTTLSeconds: UInt32 = 60

    /// Creates an answer from records of the query type, at least one. The TTL of the answer is the smallest TTL of the
    /// records.
    package convenience init(records: [ResourceRecord]) {
        self.init(kind: .records, records: records, ttlSeconds: records.lazy.map(\.ttlSeconds).min() ?? 0)
    }

    /// Creates a negative answer. With a SOA record, the TTL is the smaller of its TTL and MINIMUM; the record's TTL is
    /// set to it, so downstream caches keep it no longer (RFC 2308 sections 3 and 5). Without a SOA record, the TTL is
    /// `ttlSeconds`.
    package convenience init(
        negative kind: Kind, chain: [ResourceRecord] = [], authority: ResourceRecord? = nil,
        ttlSeconds: UInt32 = Answer.defaultNegativeTTLSeconds
    ) {
        let authority = authority.map { $0.withTTL(min($0.ttlSeconds, $0.startOfAuthorityMinimum ?? $0.ttlSeconds)) }
        let most = authority?.ttlSeconds ?? ttlSeconds
        self.init(
            kind: kind, records: chain, authorities: authority.map { [$0] } ?? [],
            ttlSeconds: chain.map(\.ttlSeconds).reduce(most, min))
    }

    private init(
        kind: Kind, records: [ResourceRecord], authorities: [ResourceRecord] = [], isSigned: Bool = false,
        isAuthentic: Bool = false, ttlSeconds: UInt32, remark: ExtendedError? = nil, preferredCount: Int = 0
    ) {
        self.kind = kind
        self.records = records
        addresses = Answer.addresses(in: records)
        self.authorities = authorities
        self.isSigned = isSigned
        self.isAuthentic = isAuthentic
        self.ttlSeconds = ttlSeconds
        self.remark = remark
        self.preferredCount = preferredCount
    }

    /// The SOA record of `authorities`; nil if there is none.
    package var authority: ResourceRecord? { authorities.first.flatMap { $0.type == .soa ? $0 : nil } }

    package var responseCode: ResponseCode { kind == .noSuchName ? .noSuchName : .noError }

    private static func addresses(in records: [ResourceRecord]) -> [Address] {
        var addresses: [Address] = []
        if records.count > 1 { addresses.reserveCapacity(records.count) }
        for record in records {
            if let address = record.address { addresses.appendToShort(address) }
        }
        return addresses
    }

    /// Returns whether these are the addresses in the records, in order.
    package func hasAddresses(_ addresses: [Address]) -> Bool {
        var next = 0
        for record in records {
            guard let address = record.address else { continue }
            guard next < addresses.count, addresses[next] == address else { return false }
            next += 1
        }
        return next == addresses.count
    }

    /// Returns a copy with every TTL clamped to the limits; the upper limit wins.
    package func withTTL(from lowest: UInt32 = 0, to highest: UInt32) -> Answer {
        let limit = { (ttl: UInt32) in min(max(ttl, lowest), highest) }
        let isOutside = { (record: ResourceRecord) in limit(record.ttlSeconds) != record.ttlSeconds }
        // Most answers are within the limits.
        guard
            limit(ttlSeconds) != ttlSeconds || records.contains(where: isOutside)
                || authorities.contains(where: isOutside)
        else { return self }
        return mapTTLs(limit)
    }

    /// Returns a copy with other TTLs.
    package func mapTTLs(_ change: (UInt32) -> UInt32) -> Answer {
        Answer(
            kind: kind, records: records.map { $0.withTTL(change($0.ttlSeconds)) },
            authorities: authorities.map { $0.withTTL(change($0.ttlSeconds)) }, isSigned: isSigned,
            isAuthentic: isAuthentic, ttlSeconds: change(ttlSeconds), remark: remark, preferredCount: preferredCount)
    }

    /// Returns the answer to a question with DO.
    ///
    /// - Parameters:
    ///   - records: the answer section.
    ///   - proofs: the authority section without the SOA record. The answer lives no longer than they do.
    package func whole(_ records: [ResourceRecord], _ proofs: [ResourceRecord]) -> Answer {
        let all = records + proofs
        return Answer(
            kind: kind, records: records, authorities: (authority.map { [$0] } ?? []) + proofs,
            isSigned: all.contains { $0.type == .rrsig },
            ttlSeconds: all.map(\.ttlSeconds).reduce(ttlSeconds, min))
    }

    package func authenticated(_ isAuthentic: Bool) -> Answer {
        isAuthentic == self.isAuthentic
            ? self
            : Answer(
                kind: kind, records: records, authorities: authorities, isSigned: isSigned, isAuthentic: isAuthentic,
                ttlSeconds: ttlSeconds, remark: remark, preferredCount: preferredCount)
    }

    package func remarked(_ remark: ExtendedError?) -> Answer {
        Answer(
            kind: kind, records: records, authorities: authorities, isSigned: isSigned, isAuthentic: isAuthentic,
            ttlSeconds: ttlSeconds, remark: remark, preferredCount: preferredCount)
    }

    package func preferring(_ count: Int) -> Answer {
        count == preferredCount
            ? self
            : Answer(
                kind: kind, records: records, authorities: authorities, isSigned: isSigned, isAuthentic: isAuthentic,
                ttlSeconds: ttlSeconds, remark: remark, preferredCount: count)
    }

    /// The answer without preferred addresses.
    package var withoutPreferred: Answer {
        guard preferredCount > 0 else { return self }
        let preferred = addresses.prefix(preferredCount)
        return Answer(records: records.filter { $0.address.map { !preferred.contains($0) } ?? true }).remarked(remark)
    }

    package static func == (left: Answer, right: Answer) -> Bool {
        left === right
            || left.kind == right.kind && left.records == right.records && left.authorities == right.authorities
                && left.ttlSeconds == right.ttlSeconds && left.isAuthentic == right.isAuthentic
    }
}
