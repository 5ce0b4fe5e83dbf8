// Judges the system resolver's answers for names that ask it first (order `system-first`): which answers are given, and
// for how long a forged answer sends a name to the providers.

import DNSWire

extension Verification {
    func systemStanding(of question: Question, now: Instant) -> OrderInForce {
        guard let name = known[question] else { return .systemFirst(isVerified: false) }
        guard let until = name.systemForgedUntil else {
            return .systemFirst(
                isVerified: name.statements.contains { $0.source == .system && $0.isProven && !$0.isFormer })
        }
        return now < until ? .forged(until: until) : .onProbation
    }

    /// Returns whether the verdicts allow the system resolver's answer.
    func standing(of answer: Answer, to question: Question, now: Instant) -> FirstAnswerStanding {
        guard let name = known[question] else { return .usable }
        guard answer.kind == .records else {
            return name.isVerified(against: answer, question) ? .needsProvider : .usable
        }
        guard question.type.isAddress, !answer.isSigned, !isVerified(question, answer) else { return .usable }
        let isUnusable = name.leadsNowhere(answer.addresses) && !hasNoVerdict(answer.addresses, name)
        if isUnusable, !name.hasNoneBetter(question, now) { return .unusable }
        return name.systemForgedUntil == nil ? .usable : .needsProvider
    }

    /// Returns whether a probe of one of the answer's addresses is to come and none has had a result.
    func awaitsVerdict(_ question: Question, _ answer: Answer, _ terms: ProbeTerms, now: Instant) -> Bool {
        guard question.type.isAddress, answer.kind == .records, !answer.isSigned, terms.scope != .nothing else {
            return false
        }
        let addresses = answer.addresses.filter(terms.allows)
        guard let name = known[question], name.hasVerdict else { return !addresses.isEmpty }
        let hasVerdict = addresses.contains { name.known($0)?.hasVerdict ?? false }
        return !hasVerdict && !addresses.isEmpty
    }

    /// Whether the source is the system resolver, which is asked first for this name. Its answer has a provider's rank.
    func isAskedFirst(_ source: Source, _ question: Question) -> Bool {
        guard source == .system, let name = known[question] else { return false }
        return name.terms.order == .systemFirst
    }

    /// Updates the standing by the verdicts on the system resolver's latest answers.
    mutating func judgeSystem(_ number: Int, now: Instant) {
        let name = known.names[number]
        guard name.terms.order == .systemFirst else { return }
        let answers = name.answers.filter {
            $0.isJudged && !$0.isFormer && $0.source == .system && !$0.isLate(now) && !$0.addresses.isEmpty
        }
        let forged = answers.last { answer in
            name.shownQuality(answer.addresses) == .mismatched && !isLocalFault(answer.addresses, name)
                && !name.hasNoneBetter(answer.question, now)
        }
        if let forged {
            let until = forged.answeredAt + Bounds.forgedPause
            known.change(number) { $0.systemForgedUntil = until }
        } else if name.systemForgedUntil != nil, answers.contains(where: \.isProven) {
            known.change(number) { $0.systemForgedUntil = nil }
        }
    }

    /// Whether the verdicts are no reason to ask another source: they have a local cause, or the name has no TLS port.
    func hasNoVerdict(_ addresses: [Address], _ name: NameVerification) -> Bool {
        isLocalFault(addresses, name) || name.hasNoTLSPort(addresses)
    }
}

extension NameVerification {
    /// Whether every source was asked lately, and none had a better answer.
    func hasNoneBetter(_ question: Question, _ now: Instant) -> Bool {
        index(of: question).map { questions[$0].hasNoneBetter(now) } ?? false
    }

    /// Whether the hosts refuse TLS connections. With the system resolver first, this is no reason to ask a provider.
    fileprivate func hasNoTLSPort(_ addresses: [Address]) -> Bool {
        terms.order == .systemFirst && terms.method == .handshake && !hasSpokenTLS
            && addresses.allSatisfy { judgement(of: $0).verdict == .refused }
    }

    /// Returns whether a verified address contradicts the negative answer.
    fileprivate func isVerified(against negative: Answer, _ question: Question) -> Bool {
        addresses.contains {
            $0.judgement.verdict == .verified
                && (negative.kind == .noSuchName || $0.address.recordType == question.type)
        }
    }
}
