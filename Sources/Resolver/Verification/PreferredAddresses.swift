// Addresses that a rule prefers for names on a shared edge, such as a content network's: candidates from the rule's
// ranges, and which of them clients get. A candidate is given only while it is verified and quicker than the name's own
// addresses. Its verdict says nothing about the name or its sources.

import DNSWire

struct PreferredAddresses {
    /// At most `Bounds.maxPreferredPerFamily` per family; none is one of the name's own addresses in its last answer.
    private(set) var candidates: [KnownAddress] = []

    var isEmpty: Bool { candidates.isEmpty }

    func known(_ address: Address) -> KnownAddress? { candidates.first { $0.address == address } }

    /// Returns the verified candidates to put before these addresses of the name: the quickest ones, if the name's own
    /// have verdicts and none of them is about as quick.
    func better(than own: [(address: Address, judgement: Judgement)]) -> [Address] {
        guard let family = own.first?.address.recordType else { return [] }
        let verified = candidates.filter { $0.address.recordType == family && $0.judgement.verdict == .verified }
            .compactMap { candidate in candidate.judgement.time.map { (address: candidate.address, time: $0) } }
            .filter { candidate in !own.contains { $0.address == candidate.address } }
            .sorted { $0.time < $1.time }
        guard let quickest = verified.first?.time else { return [] }
        let limit = max(quickest * Bounds.nearQuickest, quickest + Bounds.nearQuickestMargin)
        for (_, judgement) in own {
            if judgement.verdict == .unprobed { return [] }
            if judgement.verdict == .verified, judgement.time.map({ $0 <= limit }) ?? true { return [] }
        }
        return verified.filter { $0.time <= limit }.prefix(Bounds.maxPreferredGiven).map(\.address)
    }

    // MARK: updates

    /// Takes candidates for a new answer. A single address of the rule is the operator's word. A range is sampled only
    /// if the answer shows that the name is on that edge. A candidate that is not verified makes room for another one,
    /// and a verdict from long ago counts no more.
    ///
    /// - Parameter answer: nil, or one without an address: the family gets no candidates.
    mutating func renew(
        for answer: Answer?, _ family: RecordType, _ terms: ProbeTerms, _ random: inout SeededGenerator, now: Instant
    ) {
        guard let answer, answer.kind == .records else {
            return candidates.removeAll { $0.address.recordType == family }
        }
        let ranges = terms.preferred.filter { $0.address.recordType == family }
        let isOnEdge = answer.addresses.contains { address in terms.preferred.contains { $0.contains(address) } }
        var named = ranges.filter(\.isOneAddress).map(\.address)
        let haveRoom = named.count <= Bounds.maxPreferredPerFamily
        candidates.removeAll { candidate in
            let verdict = candidate.judgement.verdict
            let hasFailed = verdict != .verified && verdict != .unprobed
            let isMeant = named.contains(candidate.address) ? haveRoom || !hasFailed : isOnEdge && !hasFailed
            return candidate.address.recordType == family
                && (!isMeant || answer.addresses.contains(candidate.address) || candidate.isOld(now))
        }
        // If they are too many, each has its turn.
        if !haveRoom { named.rotate(by: Int(random.next() % UInt64(named.count))) }
        for address in named { add(address, answer, terms, now: now) }
        let open = ranges.filter { !$0.isOneAddress }
        guard isOnEdge, !open.isEmpty else { return }
        // A sample may be known already, or not be public.
        for _ in 0..<Bounds.maxPreferredPerFamily {
            add(open[Int(random.next() % UInt64(open.count))].sample(&random), answer, terms, now: now)
        }
    }

    private mutating func add(_ address: Address, _ answer: Answer, _ terms: ProbeTerms, now: Instant) {
        guard candidates.count(where: { $0.address.recordType == address.recordType }) < Bounds.maxPreferredPerFamily,
            known(address) == nil, !answer.addresses.contains(address), terms.allows(address)
        else { return }
        candidates.append(KnownAddress(address, ports: terms.ports, ttlSeconds: answer.ttlSeconds, now: now))
    }

    /// - Returns: false if the address is no candidate, or its port is not probed.
    mutating func found(_ target: ProbeTarget, _ result: ProbeResult, now: Instant) -> Bool {
        guard let index = candidates.firstIndex(where: { $0.address == target.address }) else { return false }
        return candidates[index].found(result, port: target.port, now: now)
    }

    mutating func putOff(_ target: ProbeTarget, until instant: Instant) {
        guard let index = candidates.firstIndex(where: { $0.address == target.address }) else { return }
        candidates[index].putOff(port: target.port, until: instant)
    }
}

extension KnownAddress {
    /// Whether a probe has been due for so long that the verdict proves nothing about now.
    fileprivate func isOld(_ now: Instant) -> Bool {
        checks.contains { check in check.probedAt.map { now - $0 > Bounds.preferredVerdictLife } ?? false }
    }
}

extension [Address] {
    fileprivate mutating func rotate(by count: Int) { self = Array(self[count...] + self[..<count]) }
}

extension Prefix {
    /// Returns a random address of the range.
    fileprivate func sample(_ random: inout SeededGenerator) -> Address {
        switch address {
        case .v4(let network): .v4(network | UInt32(truncatingIfNeeded: random.next()) & UInt32.max >> UInt32(length))
        case .v6(let high, let low):
            .v6(
                high: high | random.next() & UInt64.max >> UInt64(min(length, 64)),
                low: low | random.next() & UInt64.max >> UInt64(max(length - 64, 0)))
        }
    }
}
