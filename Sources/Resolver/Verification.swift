// Everything about verified addresses that the resolver needs, behind one door: who said which addresses of a name,
// what probes found, what is to be probed next, and what follows from it for answers. Decides; opens no socket.

import DNSWire

struct Verification {
    /// What has to follow from what was learned. Taken by the resolver after every event, and carried out in order.
    enum Consequence: Equatable {
        case probe(ProbeID, ProbeTarget)
        case news(ProbeNews)
        /// The cache is to say when it gives this answer for the first time: that is the second ask.
        case awaitAsk(Question, Source)
        /// Of the answer that is kept, as it was kept: same lifetime, other addresses or another order.
        case rearrange(Question, Answer, Source)
        /// The answer that is kept leads nowhere, or to somebody else: others are to be asked, this source not.
        ///
        /// - Parameter forged: what is kept, if it leads to somebody else: it is not to be given meanwhile, and comes
        ///   back if nobody knows better.
        case askElsewhere(Question, besides: Source, forged: Answer?)
        case diverged(Divergence)
        /// Somebody led to an address that is the name's own.
        case toldTruth(Source, Name)
    }

    var known = KnownNames()
    var plan: ProbePlan
    private var chance: Chance
    var consequences: [Consequence] = []
    var tally = ProbeCounts()
    var ownTrouble = OwnTrouble()
    /// Else nothing begins, and nothing is learned.
    var isSettled = true {
        didSet { plan.isHeld = !isSettled }
    }
    /// A captive portal is suspected: what is forged is kept from everybody, whoever knows better.
    var isGuarded = false

    /// - Parameter seed: spreads probes in time, and shuffles addresses that are about as quick.
    init(seed: UInt64) {
        plan = ProbePlan(seed: seed)
        chance = Chance(seed: ~seed)
    }

    /// When `timePassed` is due; nil when nothing waits for time.
    var nextDeadline: Instant? {
        [plan.nextDeadline, known.nextMark].compactMap { $0 }.min()
    }

    // MARK: what happens

    /// A client has asked what the cache could not answer.
    mutating func asked(_ question: Question, now: Instant) {
        guard question.type.isAddress else { return }
        let number = known.enter(question.name, now: now)
        known.change(number) { $0.change(question, now: now) { $0.asked() } }
    }

    /// The cache has given the answer for the first time since `awaitAsk`.
    mutating func givenAgain(_ question: Question, now: Instant) {
        guard let number = known.number(of: question.name) else { return }
        known.change(number) { $0.change(question, now: now) { $0.asked() } }
        probeKept(question, number, now: now)
    }

    /// An answer is kept, or would be if it had a lifetime.
    ///
    /// - Parameters:
    ///   - answer: all of it, before anything was taken out by `arranged`.
    ///   - isInUse: asked for more than once, as a refresh's question is.
    ///   - isDoubted: a source that stands in for the proper one.
    mutating func kept(
        _ question: Question, _ answer: Answer, from source: Source, _ terms: ProbeTerms, isInUse: Bool,
        isDoubted: Bool, now: Instant
    ) {
        guard let number = enter(question, answer, from: source, terms, isKept: true, now: now) else { return }
        known.change(number) { name in
            name.change(question, now: now) { known in
                known.isDoubted = isDoubted
                if isInUse { known.isRefreshed() }
            }
        }
        conclude(number, now: now)
        if question.type.isAddress { probeKept(question, number, now: now) }
    }

    /// A source has said this, beside a lookup or in vain: it is not kept, and judged all the same.
    ///
    /// - Parameter isDoubted: a source that stands in for the proper one: its addresses are probed at once.
    mutating func heard(
        _ question: Question, _ answer: Answer, from source: Source, _ terms: ProbeTerms, isDoubted: Bool = false,
        now: Instant
    ) {
        guard isSettled, question.type.isAddress, answer.kind == .records,
            let number = enter(question, answer, from: source, terms, isKept: false, now: now)
        else { return }
        if isDoubted { known.change(number) { $0.change(question, now: now) { $0.isDoubted = true } } }
        conclude(number, now: now)
        let name = known.names[number]
        if let index = name.index(of: question), name.isWorthProbing(name.questions[index]) {
            probe(answer.addresses, number, now: now)
        }
    }

    /// None of those who could be asked for it knew better: what there is is handed out, and nobody is asked again for
    /// so long.
    mutating func noneBetter(_ question: Question, for pause: Duration, now: Instant) {
        guard let number = known.number(of: question.name) else { return }
        known.change(number) { $0.change(question, now: now) { $0.noneBetterUntil = now + pause } }
        consequences.removeAll {
            if case .askElsewhere(question, _, _) = $0 { true } else { false }
        }
    }

    /// An operator or a program wants to know now. Every address that is probed or was probed just now has its news, in
    /// the end, and so has one that is refused; there are none for a name that nothing is known of, unless an address
    /// is given.
    ///
    /// - Parameter address: nil: all that answers for the name led to.
    mutating func wanted(_ name: Name, _ address: Address?, _ terms: ProbeTerms, now: Instant) {
        if let number = known.number(of: name), terms.scope != .nothing { known.change(number) { $0.setTerms(terms) } }
        let found = known[name]?.addresses.map(\.address) ?? []
        for wanted in address.map({ [$0] }) ?? found {
            if let reason = refusal(of: wanted, found, terms) {
                consequences.append(.news(.refused(name, wanted, reason)))
                continue
            }
            for check in known[name]?.known(wanted)?.checks ?? [] {
                want(ProbeTarget(name, wanted, port: check.port), check, now: now)
            }
        }
        begin(now: now)
    }

    /// A probe that is not known any more is counted, and changes nothing.
    mutating func probeFinished(_ id: ProbeID, _ result: ProbeResult, now: Instant) {
        tally.done += 1
        tally.verdicts[result.verdict, default: 0] += 1
        guard let target = plan.ended(id) else { return }
        learn(target, isSettled ? result : ProbeResult(.unprobed, detail: "the network is changing"), now: now)
        begin(now: now)
    }

    /// What is kept in the cache of these goes, and with it what could be rearranged. Verdicts stay.
    mutating func forgotten(_ scope: QuestionScope) {
        let numbers =
            scope.includesDescendants ? Array(known.names.indices) : [known.number(of: scope.name)].compactMap { $0 }
        for number in numbers {
            known.change(number) { $0.forget(scope) }
        }
    }

    mutating func timePassed(now: Instant) {
        for target in plan.takeLost(now: now) {
            tally.lost += 1
            learn(target, ProbeResult(.unprobed, detail: "no result"), now: now)
        }
        while let number = known.popMark(now) { awaitAsks(number, now: now) }
        begin(now: now)
    }

    /// What is forged is not kept any longer.
    ///
    /// - Returns: what it was, and whose.
    mutating func takeForged(now: Instant) -> [(Question, Source)] {
        var taken: [(Question, Source)] = []
        for (number, name) in known.names.enumerated() where name.hasCondemned {
            for (index, question) in name.questions.enumerated() {
                guard let kept = question.kept, kept.endsAt > now, isForged(question.question, kept.answer) else {
                    continue
                }
                known.change(number) { $0.change(index) { $0.kept = nil } }
                taken.append((question.question, kept.source))
            }
        }
        return taken
    }

    /// Whoever asks next brings about the probes that are due.
    mutating func awaitAsks(_ number: Int, now: Instant) {
        let name = known.names[number]
        for due in name.questions where name.hasDue(due, now) {
            guard let kept = due.kept, kept.endsAt > now else { continue }
            consequences.append(.awaitAsk(due.question, kept.source))
        }
    }

    mutating func takeConsequences() -> [Consequence] {
        defer { consequences = [] }
        return consequences
    }

    // MARK: what is known

    /// Every address in it is condemned or dead, and somebody may know better.
    func isUseless(_ question: Question, _ answer: Answer, now: Instant) -> Bool {
        guard question.type.isAddress, let name = known[question.name], name.leadsNowhere(answer.addresses),
            name.wasAlive(question.type), !isOurTrouble(answer.addresses, name)
        else { return false }
        if isGuarded, isForged(question, answer) { return true }
        // What is not kept, as it has no lifetime, is a reason to ask others only here.
        let isKept = keptAnswer(question) != nil
        guard name.worth(answer.addresses) < .open || !isKept else { return false }
        let hasNoneBetter = name.index(of: question).map { name.questions[$0].hasNoneBetter(now) } ?? false
        return !hasNoneBetter || name.knowsBetter(than: name.worth(answer.addresses), question.type, now: now)
    }

    /// A probe has verified one of its addresses.
    func isVerified(_ question: Question, _ answer: Answer) -> Bool {
        guard question.type.isAddress, let name = known[question.name] else { return false }
        return answer.addresses.contains { name.judgement(of: $0).verdict == .verified }
    }

    /// Every address in it is somebody else's.
    func isForged(_ question: Question, _ answer: Answer) -> Bool {
        guard question.type.isAddress, !answer.addresses.isEmpty, let name = known[question.name] else { return false }
        return name.shownWorth(answer.addresses) == .somebodyElses && !isOurTrouble(answer.addresses, name)
    }

    /// Returns whether an answer may take the place of one that probes speak against. Only an answer with a verified
    /// address replaces a provider's: a network that lies on port 53 and closes port 443 must not win by that. A
    /// provider's dead answer is also replaced by another provider's.
    func mayReplace(
        _ question: Question, _ old: (answer: Answer, source: Source), by new: (answer: Answer, source: Source)
    ) -> Bool {
        let (oldWorth, newWorth) = (worth(question, old.answer), worth(question, new.answer))
        guard newWorth != .verified else { return oldWorth < .verified }
        switch (old.source.isProvider, new.source.isProvider) {
        case (true, false): return oldWorth == .empty && newWorth > .empty
        case (true, true): return oldWorth != .somebodyElses && newWorth > oldWorth
        case (false, true): return newWorth > .empty
        case (false, false): return newWorth > oldWorth
        }
    }

    /// What is kept, as it came, and from which source.
    func keptAnswer(_ question: Question) -> (answer: Answer, source: Source)? {
        guard let name = known[question.name], let kept = name.index(of: question).flatMap({ name.questions[$0].kept })
        else { return nil }
        return (kept.answer, kept.source)
    }

    func worth(_ question: Question, _ answer: Answer) -> Worth {
        answer.addresses.isEmpty ? .empty : known[question.name]?.worth(answer.addresses) ?? .open
    }

    /// A provider's answer is kept for longer than so many seconds.
    func outlives(_ seconds: UInt32, _ question: Question, now: Instant) -> Bool {
        guard let name = known[question.name], let kept = name.index(of: question).flatMap({ name.questions[$0].kept })
        else { return false }
        return kept.source != .system && kept.endsAt >= now + .seconds(Int64(seconds))
    }

    /// Of what is kept; `open` where nothing is known of it.
    func worthKept(_ question: Question) -> Worth {
        guard let name = known[question.name], let kept = name.index(of: question).flatMap({ name.questions[$0].kept })
        else { return .open }
        return worth(question, kept.answer)
    }

    /// As it is to be handed out: addresses ordered, those condemned or dead left out, address hints of HTTPS and SVCB
    /// records cut to what is handed out. The same answer where nothing is known.
    mutating func arranged(_ question: Question, _ answer: Answer, now: Instant) -> Answer {
        guard answer.kind == .records, question.type.leadsToAddresses else { return answer }
        guard let name = known[question.name] else {
            return question.type.isServiceBinding ? answer.withoutHints : answer
        }
        return name.arranged(question, answer, &chance)
    }

    /// Of one name, in the order of its answers; those in no answer last.
    func judged(_ name: Name) -> [JudgedAddress] { known[name]?.judged ?? [] }

    /// Names of which something is known, in the order of their text.
    var names: [Name] {
        known.names.filter { !$0.addresses.isEmpty }.map { ($0.name, $0.name.description) }.sorted { $0.1 < $1.1 }
            .map(\.0)
    }

    var counts: ProbeCounts {
        var counts = tally
        counts.running = plan.runningCount
        counts.waiting = plan.waitingCount
        counts.forgottenNames = known.evictions
        if plan.overflows > 0 { counts.skipped[.overload] = plan.overflows }
        for name in known.names where name.wasVerified && name.hasBad {
            let leftOut = name.leftOut
            counts.quarantined += leftOut.count { $0.place == .quarantined }
            counts.dropped += leftOut.count { $0.place == .dropped }
        }
        return counts
    }

    // MARK: parts

    /// Nil for what leads to no address, and where nothing is to be remembered.
    private mutating func enter(
        _ question: Question, _ answer: Answer, from source: Source, _ terms: ProbeTerms, isKept: Bool, now: Instant
    ) -> Int? {
        guard question.type.leadsToAddresses, source != .local, source != .fallback else { return nil }
        guard answer.kind == .records || known.number(of: question.name) != nil else { return nil }
        let number = known.enter(question.name, now: now)
        if terms.scope == .nothing { plan.remove(question.name) }
        known.change(number) { name in
            name.touchedAt = now
            name.setTerms(terms)
            // First, so that what was kept so far makes room for the addresses that are said now.
            if isKept { name.keep(question, answer, from: source, now: now) }
            guard question.type.isAddress else { return }
            name.said(Statement(source, question, answer, now: now))
        }
        return number
    }

    /// Of what was found; the address may be forgotten since.
    private mutating func learn(_ target: ProbeTarget, _ result: ProbeResult, now: Instant) {
        consequences.append(.news(.found(target, result)))
        ownTrouble.learned(target, result)
        guard let number = known.number(of: target.name),
            known.change(number, { $0.found(target, result, now: now) })
        else { return }
        conclude(number, now: now)
        askElsewhere(number, now: now) { $0.answer.addresses.contains(target.address) }
        if result.verdict == .verified {
            let name = known.names[number]
            askElsewhere(number, now: now, somebodyKnows: true) {
                $0.answer.addresses.first?.recordType == target.address.recordType
                    && name.isSaid(target.address, besides: $0.source, now: now)
            }
        }
        markNext(number, now: now)
    }

    /// What follows for answers, and for those who gave them.
    private mutating func conclude(_ number: Int, now: Instant) {
        rearrange(number)
        let divergences = known.change(number) { $0.takeDivergences(now: now) }
        for divergence in divergences {
            tally.divergences += 1
            consequences.append(.diverged(divergence))
            askElsewhere(number, now: now, somebodyKnows: true) { $0.source == divergence.condemned.source }
        }
        let truths = known.change(number) { $0.takeTruths(now: now) }
        let name = known.names[number].name
        consequences += truths.map { .toldTruth($0, name) }
    }

    private mutating func rearrange(_ number: Int) {
        let questions = known.names[number].questions
        for (index, question) in questions.enumerated() {
            guard let kept = question.kept, known.names[number].isOutdated(kept, question.question) else { continue }
            let arranged = known.names[number].arranged(question.question, kept.answer, &chance)
            known.change(number) { $0.change(index) { $0.kept?.handedOut = arranged } }
            consequences.append(.rearrange(question.question, arranged, kept.source))
        }
    }

    /// Where what is kept leads nowhere. Not again and again.
    ///
    /// - Parameter somebodyKnows: whatever was said before about none being better.
    private mutating func askElsewhere(
        _ number: Int, now: Instant, somebodyKnows: Bool = false, where isMeant: (KnownQuestion.Kept) -> Bool
    ) {
        let name = known.names[number]
        for (index, question) in name.questions.enumerated() where question.question.type.isAddress {
            guard let kept = question.kept, isMeant(kept), name.leadsNowhere(kept.answer.addresses),
                !isOurTrouble(kept.answer.addresses, name)
            else { continue }
            let isWithheld = isGuarded && kept.endsAt > now && isForged(question.question, kept.answer)
            guard isWithheld || somebodyKnows || !question.hasNoneBetter(now) else { continue }
            let pause = name.wasAlive(question.question.type) ? Bounds.elsewherePause : nil
            let isTooSoon = question.askedElsewhereAt.map { asked in pause.map { now - asked < $0 } ?? true } ?? false
            // What is verified comes after others were asked: they are asked again at once, and not twice.
            let isVerifiedSince = somebodyKnows && question.askedElsewhereAt != now
            guard isWithheld || isVerifiedSince || !isTooSoon else { continue }
            known.change(number) {
                $0.change(index) { known in
                    known.askedElsewhereAt = now
                    if somebodyKnows { known.noneBetterUntil = nil }
                    if isWithheld { known.kept = nil }
                }
            }
            // Where nothing was ever verified it goes on being given while others are asked.
            let isForged =
                (name.wasVerified || isGuarded)
                && kept.answer.addresses.contains { name.judgement(of: $0).verdict.isCondemned }
            let forged = isForged ? kept.left(now) : nil
            consequences.append(.askElsewhere(question.question, besides: kept.source, forged: forged))
        }
    }

    private func isOurTrouble(_ addresses: [Address], _ name: NameKnowledge) -> Bool {
        addresses.allSatisfy { ownTrouble.explains(name.judgement(of: $0).verdict, in: $0.recordType) }
    }
}
