// Records each source's answers and last failure per question. They are part of the name's state, so that an answer is
// not forgotten before the verdicts on its addresses.

import DNSWire

extension NameVerification {
    /// Records an answer in place of the source's former answer to the question, and of its failure. A former answer
    /// that may still become evidence stays beside it.
    mutating func record(_ answer: consuming SourceAnswer) {
        touchedAt = answer.answeredAt
        let (question, source) = (answer.question, answer.source)
        if let last = answers.index(of: question, from: source) {
            let isRepeated = answer.isJudged && answers[last].addresses == answer.addresses
            if !isRepeated, awaitsJudgement(answers[last], touchedAt) {
                keepFormer(last)
            } else {
                answers.remove(at: last)
            }
        }
        if !failures.isEmpty { failures.removeAll { $0.source == source && $0.question == question } }
        answers.appendToShort(answer)
        if answers.count > Bounds.maxAnswersPerName { answers.remove(at: leastNeededAnswer(touchedAt)) }
    }

    /// Keeps an answer that another one follows: of the source's former answers to the question, the oldest that may
    /// become evidence.
    private mutating func keepFormer(_ place: Int) {
        let (question, source) = (answers[place].question, answers[place].source)
        answers[place].isFormer = true
        let formers = answers.indices.filter { answers[$0].isFormer && answers[$0].isAnswer(question, from: source) }
        let kept = formers.first { awaitsJudgement(answers[$0], touchedAt) }
        for former in formers.reversed() where former != kept { answers.remove(at: former) }
    }

    /// Returns the answer to forget: the oldest that has its verdicts, else the oldest.
    private func leastNeededAnswer(_ now: Instant) -> Int {
        answers.firstIndex { !awaitsJudgement($0, now) } ?? 0
    }

    /// Returns whether the answer may still become evidence: one of its addresses has no verdict, or is mismatched and
    /// no evidence names it.
    private func awaitsJudgement(_ answer: SourceAnswer, _ now: Instant) -> Bool {
        answer.isJudged && !answer.isFinal && !answer.isLate(now)
            && answer.addresses.contains { address in
                let verdict = judgement(of: address).verdict
                return verdict == .unprobed && terms.allows(address)
                    || verdict.isMismatched && !isReported(address, answer.source)
            }
    }

    /// Records a failure. The source's next answer to the question removes it.
    mutating func record(_ failure: SourceFailure) {
        touchedAt = failure.failedAt
        failures.removeAll { $0.source == failure.source && $0.question == failure.question }
        failures.appendToShort(failure)
        if failures.count > Bounds.maxAnswersPerName { failures.removeFirst() }
    }

    /// Records that the source's last answer to the question was stored in the cache.
    mutating func recordStored(_ question: Question, from source: Source, now: Instant) {
        if let index = answers.index(of: question, from: source) { answers[index].keptAt = now }
    }
}

// Reads in place: a copy of an answer retains all its lists.
extension [SourceAnswer] {
    var haveAddresses: Bool { indices.contains { !self[$0].addresses.isEmpty } }

    /// Returns the place of the source's last answer.
    func index(of question: Question, from source: Source) -> Int? {
        indices.first { !self[$0].isFormer && self[$0].source == source && self[$0].question == question }
    }
}

extension Verification {
    /// Records an upstream's answer as it arrives.
    ///
    /// - Parameters:
    ///   - answer: the answer as received.
    ///   - usable: the answer without addresses that no public name may have; nil: nothing is left.
    ///   - took: time until the answer; nil for an unsolicited one.
    /// - Returns: whether the answer is a filter's, as by `Filters.makeFinal`.
    @discardableResult
    mutating func answered(
        _ question: Question, _ answer: Answer, usable: Answer?, _ contradiction: Contradiction? = nil,
        by source: Source, took: Duration?, now: Instant
    ) -> Bool {
        let number = known.enter(question, now: now)
        let isFinal = filters.makeFinal(answer, from: source)
        known.change(number) { name in
            name.record(
                SourceAnswer(
                    question, answer, usable: usable, contradiction, by: source, took: took, isFinal: isFinal,
                    isStable: isStable, now: now))
        }
        return isFinal
    }

    /// Records an upstream's failure.
    mutating func failed(_ question: Question, _ cause: SourceFailure.Cause, by source: Source, now: Instant) {
        let number = known.enter(question, now: now)
        known.change(number) {
            $0.record(SourceFailure(source: source, question: question, cause: cause, failedAt: now))
        }
    }

    /// Records that the system resolver's answer was given in place of a provider's.
    mutating func substituteGiven(_ question: Question, _ reason: SubstituteReason, now: Instant) {
        let number = known.enter(question, now: now)
        known.change(number) {
            $0.change(question, now: now) { $0.lastSubstitute = LastSubstitute(reason: reason, at: now) }
        }
    }

    // MARK: reports

    /// Returns the sources' last answers to the question, the latest last.
    func answers(to question: Question) -> [SourceAnswer] {
        known[question]?.answers.filter { $0.question == question && !$0.isFormer } ?? []
    }

    /// Returns how the sources failed on the question since their last answers.
    func failures(on question: Question) -> [SourceFailure] {
        known[question]?.failures.filter { $0.question == question } ?? []
    }

    func lastSubstitute(on question: Question) -> LastSubstitute? {
        known[question].flatMap { name in name.index(of: question).flatMap { name.questions[$0].lastSubstitute } }
    }
}
