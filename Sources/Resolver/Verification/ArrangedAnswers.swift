// Read-only views of a name: its answers as clients get them, and its addresses with the reason for each position.

import DNSWire

extension NameVerification {
    func arranged(_ question: Question, _ answer: Answer) -> Answer {
        guard answer.kind == .records else { return answer }
        if question.type.isServiceBinding { return withKnownHints(question, answer) }
        guard hasVerdict else { return answer }
        return answer.with(order(of: answer.addresses).addresses)
    }

    /// - Parameter random: rotates addresses that are about equally quick.
    func arranged(_ question: Question, _ answer: Answer, _ random: inout SeededGenerator) -> Answer {
        guard question.type.isAddress, answer.kind == .records else { return arranged(question, answer) }
        guard hasVerdict else { return answer }
        var order = order(of: answer.addresses)
        order.rotate(&random)
        return answer.with(order.addresses)
    }

    /// Returns whether the current verdicts require other addresses or another order than the cached answer has.
    func isOutdated(_ kept: VerifiedQuestion.Kept, _ question: Question) -> Bool {
        guard question.type.isAddress else { return arranged(question, kept.answer) != kept.handedOut }
        guard hasVerdict || kept.isArranged else { return false }
        return order(of: kept.answer.addresses).isNews(to: kept.handedOut.addresses)
    }

    /// Addresses withheld from clients, each once.
    var omitted: [AddressOrder.Place] {
        var seen: Set<Address> = []
        return orders.flatMap(\.omitted).filter { seen.insert($0.address).inserted }
    }

    /// One entry per address and port; addresses in no answer come last.
    var judged: [JudgedAddress] {
        var seen: Set<Address> = []
        let placed = orders.flatMap { $0.handedOut + $0.omitted }.map { ($0.address, $0.place) }
        let absent = (addresses + preferred.candidates).map { ($0.address, AddressPlace.absent) }
        return (placed + absent).filter { seen.insert($0.0).inserted }.flatMap { judged($0.0, $0.1) }
    }

    /// Orders of the cached answers, IPv4 first.
    private var orders: [AddressOrder] {
        [RecordType.a, .aaaa].flatMap { family in
            questions.filter { $0.question.type == family }.compactMap(\.kept).map { order(of: $0.answer.addresses) }
        }
    }

    private func judged(_ address: Address, _ place: AddressPlace) -> [JudgedAddress] {
        let sources = Array(statements.filter { $0.addresses.contains(address) }.map(\.source).reversed())
        let checks = known(address)?.checks ?? terms.ports.map { Check(port: $0) }
        return checks.map { check in
            let nextAt = [check.nextAt, leftAloneUntil].compactMap { $0 }.max()
            return JudgedAddress(
                target(address, check), check.result, probedAt: check.probedAt,
                nextProbeAt: nextAt, place: place, sources: sources)
        }
    }

    // MARK: due probes

    /// Returns whether a cached address is due for a probe.
    func hasDue(_ known: VerifiedQuestion, _ now: Instant) -> Bool {
        guard let kept = known.kept, isWorthProbing(known) else { return false }
        return checks(of: kept).contains { $0.isDue(now) && !leavesAlone($0, now) }
    }

    /// Returns when the next cached address that is not due now becomes due.
    func nextDue(_ kept: VerifiedQuestion.Kept, after now: Instant) -> Instant? {
        let instants = checks(of: kept).map { check in
            max(check.nextAt ?? now, leavesAlone(check, now) ? leftAloneUntil ?? now : now)
        }
        return instants.filter { $0 > now }.min()
    }

    private func checks(of kept: VerifiedQuestion.Kept) -> [Check] {
        let candidates = kept.answer.kind == .records ? preferred.candidates.map(\.address) : []
        return (kept.answer.addresses + candidates).compactMap(known).filter { terms.allows($0.address) }.flatMap(
            \.checks)
    }
}

extension ProbeTerms {
    func allows(_ address: Address) -> Bool {
        switch scope {
        case .nothing: false
        case .publicAddresses: !address.isPrivate(behind: nat64Prefixes) && !address.isDocumentation
        case .allAddresses: true
        }
    }
}
