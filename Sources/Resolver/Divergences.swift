// Who led to somebody else's address while another led to the name's own, and who told the truth. Blames nobody for
// what all say: a certificate alone proves no lie.

import DNSWire

/// So that nothing is told twice.
struct DivergenceTold {
    let address: Address
    let source: Source
    let at: Instant
}

extension NameKnowledge {
    /// Not told of before, or not lately.
    mutating func takeDivergences(now: Instant) -> [Divergence] {
        guard hasCondemned else { return [] }
        divergencesTold.removeAll { now - $0.at > Bounds.saidLately }
        let found = divergences(among: statements.filter { !$0.isLate(now) })
        divergencesTold += found.map {
            DivergenceTold(address: $0.condemned.target.address, source: $0.condemned.source, at: now)
        }
        return found
    }

    private func divergences(among statements: [Statement]) -> [Divergence] {
        var found: [Divergence] = []
        for statement in statements {
            for address in statement.addresses where judgement(of: address).verdict.isCondemned {
                let isTold = divergencesTold.contains { $0.address == address && $0.source == statement.source }
                let others = statements.filter { $0.contradicts(statement, about: address) }
                guard !isTold, let condemned = claim(statement, address),
                    let verified = others.lazy.compactMap({ verifiedClaim($0) }).first
                else { continue }
                found.append(Divergence(statement.question, condemned: condemned, verified: verified))
            }
        }
        return found
    }

    /// Those who led to an address that is the name's own, and to none that is somebody else's, as soon as all that may
    /// be probed of what they said is known; once for each time they said so.
    mutating func takeTruths(now: Instant) -> [Source] {
        var sources: [Source] = []
        for index in statements.indices where !statements[index].isProven && !statements[index].isLate(now) {
            let verdicts = statements[index].addresses.compactMap(known).map {
                (verdict: $0.judgement.verdict, address: $0.address)
            }
            let isOpen = verdicts.contains { $0.verdict == .unprobed && terms.allows($0.address) }
            guard !isOpen, verdicts.contains(where: { $0.verdict == .verified }),
                !verdicts.contains(where: \.verdict.isCondemned)
            else { continue }
            statements[index].isProven = true
            sources.append(statements[index].source)
        }
        return sources
    }

    private func verifiedClaim(_ statement: Statement) -> Divergence.Claim? {
        statement.addresses.first { judgement(of: $0).verdict == .verified }.flatMap { claim(statement, $0) }
    }

    private func claim(_ statement: Statement, _ address: Address) -> Divergence.Claim? {
        known(address)?.decidingCheck.map { check in
            Divergence.Claim(
                statement.source, statement.addresses, ProbeTarget(name, address, port: check.port), check.result)
        }
    }
}

extension Statement {
    /// Somebody else speaks of the same family, and does not lead there.
    fileprivate func contradicts(_ other: Statement, about address: Address) -> Bool {
        source != other.source && question.type == other.question.type && !addresses.contains(address)
    }
}
