// The last known good answers of names, and the doubts about what upstreams say against them.

import DNSWire

extension Verification {
    /// Returns the last known good answer to the question; nil if there is none, or if the doubt has lasted too long.
    /// If the name has addresses of the other family only, "no such name" denies them, too: many programs then do not
    /// use any address.
    ///
    /// - Parameter window: `StalePolicy.lastKnownGood`.
    func lastKnownGood(
        _ question: Question, against denial: Denial, within window: Duration, now: Instant
    ) -> LastKnownGood? {
        guard window > .zero, question.type.isAddress, let number = known.number(of: question) else { return nil }
        let name = known.names[number]
        if let doubt = name.index(of: question).flatMap({ name.questions[$0].doubt }), doubt.until <= now { return nil }
        if let own = name.lastKnownGood(question, within: window, now: now) { return own }
        guard denial == .noSuchName, let other = question.otherFamily,
            let good = name.lastKnownGood(other, within: window, now: now)
        else { return nil }
        return LastKnownGood(
            answer: Answer(negative: .noData), source: good.source, isVerified: good.isVerified)
    }

    /// Begins a doubt, or continues it.
    mutating func doubted(
        _ question: Question, _ denial: Denial, by source: Source, within window: Duration, now: Instant
    ) {
        guard let number = known.number(of: question) else { return }
        known.change(number) { name in
            name.change(question, now: now) { known in
                guard known.doubt == nil else { return }
                known.doubt = Doubt(denial: denial, source: source, since: now, until: now + window)
                doubts.begun += 1
            }
        }
    }

    /// Records that clients got the last known good answer, and probes its addresses.
    mutating func gaveLastKnownGood(_ question: Question, within window: Duration, now: Instant) {
        doubts.given += 1
        guard let number = known.number(of: question), let index = known.names[number].index(of: question),
            let doubt = known.names[number].questions[index].doubt
        else { return }
        for target in known.names[number].targetsInDoubt(question, within: window, now: now) {
            plan.add(target, isRequested: false, notBefore: now, now: now)
        }
        begin(now: now)
        guard !doubt.isGiven else { return }
        known.change(number) { $0.change(index) { $0.doubt?.isGiven = true } }
        consequences.append(.doubt(.given(question, doubt)))
    }

    /// The doubt about denials of the question's last known good answer; nil: there is none.
    func doubt(about question: Question) -> Doubt? {
        known[question].flatMap { name in name.index(of: question).flatMap { name.questions[$0].doubt } }
    }
}

extension NameVerification {
    /// The verified addresses of the last known good answer that are due for a probe. One verified address is enough,
    /// so that few are probed.
    fileprivate func targetsInDoubt(_ question: Question, within window: Duration, now: Instant) -> [ProbeTarget] {
        let good =
            lastKnownGood(question, within: window, now: now)
            ?? question.otherFamily.flatMap { lastKnownGood($0, within: window, now: now) }
        let isDue = { (check: Check) in
            check.result.verdict == .verified && check.probedAt.map { now - $0 >= Bounds.probePause } ?? false
        }
        let due = (good?.answer.addresses ?? []).compactMap(known).flatMap { known in
            known.checks.filter(isDue).map { target(known.address, $0) }
        }
        return Array(due.prefix(Bounds.maxProbesOfDoubt))
    }
}
