// Finds forgery evidence: one source gave a mismatched address of a name while another gave a verified one. Also finds
// sources with true answers, and with expired ones. An address that all sources give is no evidence, as a certificate
// alone proves no forgery.

import DNSWire

/// A reported forgery, remembered so that it is not reported twice.
struct ReportedForgery {
    let address: Address
    let source: Source
    let at: Instant
}

extension NameVerification {
    /// Returns the forgeries not reported within `Bounds.recentAnswerAge`.
    mutating func takeForgeries(now: Instant) -> [ForgeryEvidence] {
        guard hasMismatched else { return [] }
        reportedForgeries.removeAll { now - $0.at > Bounds.recentAnswerAge }
        let found = forgeries(among: answers.filter { $0.isJudged && !$0.isLate(now) })
        reportedForgeries += found.map {
            ReportedForgery(address: $0.mismatched.target.address, source: $0.mismatched.source, at: now)
        }
        return found
    }

    private func forgeries(among statements: [SourceAnswer]) -> [ForgeryEvidence] {
        var found: [ForgeryEvidence] = []
        for statement in statements where !statement.isFinal {
            for address in statement.addresses where judgement(of: address).verdict.isMismatched {
                let isFound = found.contains {
                    $0.mismatched.target.address == address && $0.mismatched.source == statement.source
                }
                let others = contradictions(of: address, to: statement.question.type, among: statements)
                guard !isFound, !isReported(address, statement.source), let mismatched = claim(statement, address),
                    let verified = others.lazy.compactMap({ verifiedClaim($0) }).first
                else { continue }
                found.append(ForgeryEvidence(statement.question, mismatched: mismatched, verified: verified))
            }
        }
        return found
    }

    /// Returns the answers of the sources that have not given the address.
    private func contradictions(
        of address: Address, to family: RecordType, among statements: [SourceAnswer]
    ) -> [SourceAnswer] {
        let ofFamily = statements.filter { $0.question.type == family }
        let givers = Set(ofFamily.filter { $0.addresses.contains(address) }.map(\.source))
        return ofFamily.filter { !givers.contains($0.source) }
    }

    /// Returns the sources with a verified and no mismatched address, once per answer. All addresses that may be probed
    /// must have a verdict first.
    mutating func takeTruths(now: Instant) -> [(source: Source, distance: AddressDistance?)] {
        var sources: [(Source, AddressDistance?)] = []
        for index in answers.indices
        where answers[index].isJudged && !answers[index].isFormer && !answers[index].isProven
            && !answers[index].isLate(now)
        {
            let verdicts = answers[index].addresses.compactMap(known).map {
                (verdict: $0.judgement.verdict, address: $0.address)
            }
            let isOpen = verdicts.contains { $0.verdict == .unprobed && terms.allows($0.address) }
            guard !isOpen, verdicts.contains(where: { $0.verdict == .verified }),
                !verdicts.contains(where: \.verdict.isMismatched)
            else { continue }
            answers[index].isProven = true
            sources.append((answers[index].source, distance(of: answers[index], now: now)))
        }
        return sources
    }

    /// Returns whether evidence against the source names the address.
    func isReported(_ address: Address, _ source: Source) -> Bool {
        reportedForgeries.contains { $0.address == address && $0.source == source }
    }

    /// Returns the sources of which all addresses that may be probed are dead while another source's address is
    /// verified, once per answer.
    mutating func takeExpired(now: Instant) -> [Source] {
        var sources: [Source] = []
        for index in answers.indices
        where answers[index].isJudged && !answers[index].isFinal && !answers[index].isFormer
            && !answers[index].isProven && !answers[index].isLate(now)
        {
            let statement = answers[index]
            let probed = statement.addresses.filter { terms.allows($0) }
            guard !probed.isEmpty, probed.allSatisfy({ judgement(of: $0).verdict.isDead }),
                statements.contains(where: { other in
                    other.source != statement.source && other.question.type == statement.question.type
                        && !other.isLate(now) && other.addresses.contains { judgement(of: $0).verdict == .verified }
                })
            else { continue }
            answers[index].isProven = true
            sources.append(statement.source)
        }
        return sources
    }

    /// Returns the connection times of the statement's quickest verified address, and of the other sources'; nil if one
    /// is unknown.
    private func distance(of statement: SourceAnswer, now: Instant) -> AddressDistance? {
        let others = statements.filter {
            $0.source != statement.source && $0.question.type == statement.question.type && !$0.isLate(now)
        }
        guard !others.isEmpty, let own = quickestConnection(to: statement.addresses),
            let other = quickestConnection(to: others.flatMap(\.addresses))
        else { return nil }
        return AddressDistance(own: own, others: other)
    }

    private func quickestConnection(to addresses: [Address]) -> Duration? {
        addresses.lazy.compactMap { known($0)?.connectTime }.min()
    }

    private func verifiedClaim(_ statement: SourceAnswer) -> ForgeryEvidence.Claim? {
        statement.addresses.first { judgement(of: $0).verdict == .verified }.flatMap { claim(statement, $0) }
    }

    private func claim(_ statement: SourceAnswer, _ address: Address) -> ForgeryEvidence.Claim? {
        known(address)?.decidingCheck.map { check in
            ForgeryEvidence.Claim(
                statement.source, statement.addresses, target(address, check), check.result)
        }
    }
}
