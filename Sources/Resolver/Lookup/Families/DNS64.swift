// DNS64 (RFC 6147): decides which AAAA answers need synthesis, and makes IPv6 addresses from the name's IPv4 ones.

import DNSWire

struct DNS64 {
    private var prefixes: [NAT64Prefix] = []
    /// Recent A answers. Clients ask for both families at once, and either answer may arrive first.
    private var recent: [Question: (answer: Answer, source: Source, at: Instant)] = [:]

    /// TTL limit if the zone's SOA is unknown (RFC 6147 section 5.1.7).
    private static let maxTTLSeconds: UInt32 = 600
    /// Recent A answers: more than a burst of clients asks. Beyond this, all are dropped.
    private static let maxRecent = 256
    /// Lifetime of a recent A answer: the longest gap between the two answers for one client.
    private static let recentAge: Duration = .seconds(5)

    // MARK: need for synthesis

    /// Sets the NAT64 prefixes, and drops the A answers of the former network.
    mutating func setPrefixes(_ prefixes: [NAT64Prefix]) {
        self.prefixes = prefixes
        recent = [:]
    }

    var isOn: Bool { !prefixes.isEmpty }

    /// A client that asks for signatures gets no synthesised address: it could not validate one (RFC 6147 section 5.5).
    func isOn(for question: Question) -> Bool {
        question.type == .aaaa && isOn && !question.dnssec.contains(.dnssecOK)
    }

    /// Returns whether the answer has no usable IPv6 address. IPv4-mapped ones are not usable (RFC 6147 section 5.1.4).
    func isNeeded(for question: Question, _ answer: Answer) -> Bool {
        guard isOn(for: question) else { return false }
        switch answer.kind {
        case .noData: return true
        case .records: return answer.addresses.allSatisfy { $0.mapped != nil }
        case .noSuchName, .ambiguousEmpty: return false
        }
    }

    // MARK: IPv4 addresses

    mutating func learned(_ question: Question, _ answer: Answer, from source: Source, now: Instant) {
        guard question.type == .a, !prefixes.isEmpty else { return }
        if recent.count >= DNS64.maxRecent { recent = [:] }
        recent[question] = (answer, source, now)
    }

    /// Returns a recent A answer; nil if there is none or it has expired.
    func known(_ question: Question, now: Instant) -> (answer: Answer, source: Source)? {
        guard let found = recent[question], found.at.duration(to: now) < DNS64.recentAge else { return nil }
        let aged = found.answer.aged(since: found.at, now: now)
        return aged.ttlSeconds > 0 ? (aged, found.source) : nil
    }

    mutating func forgetAnswers() { recent = [:] }

    // MARK: synthesised answers

    /// - Parameters:
    ///   - answer: the A answer.
    ///   - withoutIPv6: the AAAA answer.
    /// - Returns: nil if there is no IPv4 address to embed.
    func answer(from answer: Answer, _ withoutIPv6: Answer) -> Answer? {
        guard answer.kind == .records, !answer.isBlock else { return nil }
        let limit = withoutIPv6.authority?.ttlSeconds ?? DNS64.maxTTLSeconds
        var hasAddress = false
        let records = answer.records.compactMap { record -> ResourceRecord? in
            guard record.type == .a else { return record }
            guard let inner = record.address, let address = prefixes.lazy.compactMap({ $0.embed(inner) }).first else {
                return nil
            }
            hasAddress = true
            return ResourceRecord(owner: record.owner, address: address, ttlSeconds: min(record.ttlSeconds, limit))
        }
        return hasAddress ? Answer(records: records).remarked(.synthesised) : nil
    }
}
