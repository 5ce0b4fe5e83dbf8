// Selects which addresses of cached answers are probed, and schedules the next probes. Other files judge the results.

import DNSWire

extension Verification {
    /// - Returns: the reason why the address may not be probed; nil if it may be.
    func refusal(of address: Address, _ found: [Address], _ terms: ProbeTerms) -> ProbeRefusal? {
        if terms.scope == .nothing { return .disabled }
        guard found.contains(address) else { return .unknownAddress }
        return terms.allows(address) ? nil : .notPublic
    }

    mutating func want(_ target: ProbeTarget, _ check: Check, now: Instant) {
        if let probedAt = check.probedAt, now - probedAt < Bounds.freshVerdict, !plan.contains(target) {
            consequences.append(.news(.found(target, check.result)))
        } else {
            want(target, now: now)
        }
    }

    mutating func want(_ target: ProbeTarget, now: Instant) {
        if !plan.add(target, isRequested: true, now: now) {
            consequences.append(.news(.refused(target.name, target.address, .overload)))
        }
    }

    /// Probes the addresses of a cached answer if it is in use or doubtful; else awaits the next query. If the name has
    /// a mismatched address, the addresses from all sources are probed.
    mutating func probeKept(_ question: Question, _ number: Int, now: Instant) {
        guard let index = known.names[number].questions.index(of: question),
            known.names[number].questions[index].kept?.answer.kind == .records
        else { return }
        guard known.names[number].terms.scope != .nothing else {
            unprobedAnswers += 1
            return
        }
        let isInUse = known.names[number].questions[index].isInUse || known.names[number].questions[index].isDoubted
        guard isInUse || known.names[number].hasMismatched else {
            if let endsAt = known.names[number].questions[index].kept?.endsAt, endsAt > now,
                let source = known.names[number].questions[index].kept?.source
            {
                consequences.append(.awaitAsk(question, source))
            }
            return
        }
        let name = known.names[number]
        guard let kept = name.questions[index].kept else { return }
        let others = name.hasMismatched ? Array(name.statements.filter { !$0.isLate(now) }.flatMap(\.addresses)) : []
        probe(kept.answer.addresses + others, number, now: now)
    }

    mutating func probe(_ addresses: [Address], _ number: Int, now: Instant) {
        let name = known.names[number]
        for address in name.addresses.filter({ addresses.contains($0.address) }) + name.preferred.candidates {
            for check in address.checks where check.isDue(now) && !name.leavesAlone(check, now) {
                guard name.terms.allows(address.address) else {
                    tally.skipped[.notPublic, default: 0] += 1
                    continue
                }
                let target = name.target(address.address, check)
                // A first verdict is urgent on the system resolver's answer, and on what other sources give in place of
                // a mismatched address: clients have the answer already.
                let isUrgent =
                    check.probedAt == nil && (name.terms.order == .systemFirst || name.hasMismatched)
                let isAdded = plan.add(
                    target, isRequested: false, isFirst: check.probedAt == nil, notBefore: isUrgent ? now : nil,
                    now: now)
                guard !isAdded else { continue }
                known.change(number) { $0.putOff(target, until: now + Bounds.probePause) }
            }
        }
        markNext(number, now: now)
        begin(now: now)
    }

    /// Schedules the next due probe of a cached address, if it is before the answer's expiry.
    mutating func markNext(_ number: Int, now: Instant) {
        let name = known.names[number]
        let instants = name.questions.compactMap { question -> Instant? in
            guard let kept = question.kept, name.isWorthProbing(question), let at = name.nextDue(kept, after: now),
                at < kept.endsAt
            else { return nil }
            return at
        }
        known.mark(number, at: instants.min())
    }

    mutating func begin(now: Instant) {
        consequences += plan.begin(now: now).map { .probe($0.id, $0.target) }
    }
}
