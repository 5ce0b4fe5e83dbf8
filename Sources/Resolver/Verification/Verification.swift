// Verification of addresses: records which source gave which addresses of a name and what probes found, plans probes,
// and derives changes of answers. Opens no socket.

import DNSWire

struct Verification {
    /// Effects of an event on answers and probes. The resolver takes them after every event and carries them out in
    /// order.
    enum Consequence: Equatable {
        case probe(ProbeID, ProbeTarget)
        case news(ProbeNews)
        /// Asks the cache to report its next hit on this answer. The report starts the probes, so that a name queried
        /// once costs none.
        case awaitAsk(Question, Source)
        /// Replaces the addresses or their order in the cached answer. The lifetime stays.
        case rearrange(Question, Answer, Source)
        /// The cached answer has only unreachable or mismatched addresses. Starts a lookup at all sources except this
        /// one.
        ///
        /// - Parameter forged: the cached answer if it has mismatched addresses. The cache withholds it
        ///   during the lookup and gives it again if no source has a better one. Clients that ask meanwhile wait as for
        ///   a miss.
        case askElsewhere(Question, excludedSource: Source, forged: Answer?)
        /// An address of the source's cached answer is mismatched, and the answer is too old to count against the
        /// source: asks it again, in the background.
        case askAgain(Question, Source)
        case forged(ForgeryEvidence)
        /// The source gave a verified address for the name.
        case recordConfirmed(Source, Name)
        case doubt(DoubtNews)
        /// The source gave a verified address, and another source did, too.
        case measured(Source, Name, AddressDistance)
        /// The source gave only dead addresses while another source gave a verified one.
        case recordExpired(Source, Name)
    }

    var known = NameVerificationTable()
    var plan: ProbePlan
    private var random: SeededGenerator
    var consequences: [Consequence] = []
    var tally = ProbeCounts()
    var doubts = DoubtCounts()
    /// Cached answers that the settings do not let be probed. Not counted in `tally`, as most are: a number is quicker.
    var unprobedAnswers: UInt64 = 0
    var localFault = LocalFault()
    /// False while the network changes: no probe starts, and no result is learned.
    var isStable = true {
        didSet { plan.isHeld = !isStable }
    }
    /// A captive portal is suspected. Forged answers are withheld from all clients, even if no source has a better
    /// answer: the portal's address tells a program nothing about its own server.
    var isGuarded = false
    var filters = Filters([])

    /// - Parameter seed: the seed for the spreading of probes in time and the shuffling of about equally quick
    ///   addresses.
    init(seed: UInt64) {
        plan = ProbePlan(seed: seed)
        random = SeededGenerator(seed: ~seed)
    }

    /// When `timePassed` is due; nil if nothing is scheduled.
    var nextDeadline: Instant? {
        Instant.earliest(plan.nextDeadline, known.nextMark)
    }

    // MARK: events

    /// Counts a client's question that the cache could not answer.
    mutating func asked(_ question: Question, now: Instant) {
        guard question.type.isAddress else { return }
        let number = known.enter(question, now: now)
        known.change(number) { $0.change(question, now: now) { $0.asked() } }
    }

    /// Counts the cache's first reply with the answer since `awaitAsk`, and probes its addresses.
    mutating func servedAgain(_ question: Question, now: Instant) {
        guard let number = known.number(of: question) else { return }
        known.change(number) { $0.change(question, now: now) { $0.asked() } }
        probeKept(question, number, now: now)
    }

    /// Records an answer that is cached, or would be cached if its TTL were not 0.
    ///
    /// - Parameters:
    ///   - answer: the complete answer, before `arranged` removes addresses.
    ///   - isInUse: the question was asked more than once, as for a refresh.
    ///   - isDoubted: the answer is a substitute.
    /// - Returns: the answer as clients get it, as from `arranged`.
    @discardableResult
    mutating func kept(
        _ question: Question, _ answer: Answer, from source: Source, _ terms: ProbeTerms, isInUse: Bool,
        isDoubted: Bool, now: Instant
    ) -> Answer {
        guard !answer.isBlock else {
            if let number = known.number(of: question) {
                endDoubt(question, number, by: answer, from: source, now: now)
                known.change(number) { name in
                    name.forget { $0 == question }
                    name.recordStored(question, from: source, now: now)
                }
            }
            return answer
        }
        let use: NameVerification.Use = (isInUse, isDoubted)
        guard let number = enter(question, answer, from: source, terms, keptFor: use, now: now) else {
            if let number = known.number(of: question) {
                known.change(number) { $0.recordStored(question, from: source, now: now) }
            }
            return arranged(question, answer, now: now)
        }
        conclude(number, now: now)
        if question.type.isAddress {
            // The verdict may have come while the lookup was in flight.
            if known.names[number].hasMismatched { askElsewhere(number, now: now) { $0.source == source } }
            probeKept(question, number, now: now)
        }
        return arranged(question, answer, number)
    }

    /// Records an answer that is not cached, such as one of a background measurement. Its addresses are judged all the
    /// same.
    ///
    /// - Parameter isDoubted: the source stands in for the proper one. Its addresses are probed at once.
    mutating func heard(
        _ question: Question, _ answer: Answer, from source: Source, _ terms: ProbeTerms, isDoubted: Bool = false,
        now: Instant
    ) {
        guard isStable, question.type.isAddress, answer.kind == .records, !answer.isBlock,
            let number = enter(question, answer, from: source, terms, now: now)
        else { return }
        if isDoubted { known.change(number) { $0.change(question, now: now) { $0.isDoubted = true } } }
        conclude(number, now: now)
        let name = known.names[number]
        if let index = name.index(of: question), name.isWorthProbing(name.questions[index]) {
            probe(answer.addresses, number, now: now)
        }
    }

    /// Records that no other source had a better answer: the present one is given, and other sources are not asked
    /// again for a while.
    ///
    /// - Parameter isCertain: every source replied.
    mutating func recordNoBetterSource(_ question: Question, isCertain: Bool, now: Instant) {
        guard let number = known.number(of: question) else { return }
        let pause = isCertain ? Bounds.noneBetterPause : Bounds.elsewherePause
        // No other source has a better answer than the system resolver's.
        if isCertain { known.change(number) { $0.systemForgedUntil = nil } }
        known.change(number) { $0.change(question, now: now) { $0.noneBetterUntil = now + pause } }
        consequences.removeAll {
            if case .askElsewhere(question, _, _) = $0 { true } else { false }
        }
    }

    /// The lookup at other sources that `askElsewhere` requests cannot begin now.
    mutating func couldNotAskElsewhere(_ question: Question) {
        guard let number = known.number(of: question) else { return }
        known.change(number) { $0.allowAskingElsewhere { $0 == question } }
    }

    /// A suspected network change did not take place. It has ended the lookups at other sources, which begin again.
    mutating func networkIsUnchanged(now: Instant) {
        for number in known.names.indices where known.names[number].hasMismatched {
            known.change(number) { $0.allowAskingElsewhere { _ in true } }
            askElsewhere(number, now: now) { $0.endsAt > now }
        }
    }

    /// Probes addresses at an explicit request. Each address gets news in the end, whether it is probed now, was probed
    /// just before, or is refused. A name without stored state gets no news unless an address is given.
    ///
    /// - Parameters:
    ///   - address: the address to probe; nil: all addresses in the answers for the name.
    ///   - isCached: an answer in the cache has the address; one from the store precedes this process.
    mutating func requested(
        _ name: Name, _ address: Address?, isCached: Bool = false, _ terms: ProbeTerms, now: Instant
    ) {
        let ordinary = Question(name, .a)
        if let number = known.number(of: ordinary), terms.scope != .nothing {
            known.change(number) { $0.setTerms(terms) }
        }
        let holders = known.numbers(of: name).map { known.names[$0] }
        var found: [Address] = []
        for known in holders.flatMap({ $0.addresses + $0.preferred.candidates }) where !found.contains(known.address) {
            found.append(known.address)
        }
        for requested in address.map({ [$0] }) ?? found {
            let holder = holders.first { $0.known(requested) != nil }
            let terms = holder.map { $0.key.view == 0 ? terms : $0.terms } ?? terms
            if let reason = refusal(of: requested, isCached ? found + [requested] : found, terms) {
                consequences.append(.news(.refused(name, requested, reason)))
                continue
            }
            guard let holder else {
                for target in terms.targets(name, requested) { want(target, now: now) }
                continue
            }
            for check in holder.known(requested)?.checks ?? [] {
                want(holder.target(requested, check), check, now: now)
            }
        }
        begin(now: now)
    }

    /// Another machine has found the address forged: probes it, if it is one of the name's. Changes nothing by itself.
    mutating func evidence(_ name: Name, _ address: Address, now: Instant) {
        for holder in known.numbers(of: name).map({ known.names[$0] }) where holder.terms.allows(address) {
            guard holder.terms.scope != .nothing else { continue }
            for check in holder.known(address)?.checks ?? [] {
                let begin = max(now, check.probedAt.map { $0 + Bounds.evidencePause } ?? now)
                plan.add(holder.target(address, check), isRequested: false, notBefore: begin, now: now)
            }
        }
        begin(now: now)
    }

    /// Records a probe's result. The result of a forgotten probe is only counted.
    mutating func probeFinished(_ id: ProbeID, _ result: ProbeResult, now: Instant) {
        tally.done += 1
        tally.verdicts[result.verdict, default: 0] += 1
        guard let target = plan.ended(id) else { return }
        if isStable {
            learn(target, result, now: now)
        } else {
            learn(target, ProbeResult(.unprobed, detail: "the network is changing"), now: now)
            // The network may turn out not to have changed.
            if isProbed(target) { plan.add(target, isRequested: false, now: now) }
        }
        begin(now: now)
    }

    /// Forgets the cached answers of these questions, which can no longer be rearranged. Verdicts stay.
    mutating func forgotten(_ scope: QuestionScope) {
        let numbers = scope.includesDescendants ? Array(known.names.indices) : known.numbers(of: scope.name)
        for number in numbers { forget(number, where: scope.contains) }
    }

    mutating func forgotten(_ question: Question) {
        guard let number = known.number(of: question), let index = known.names[number].index(of: question) else {
            return
        }
        known.change(number) { $0.change(index) { $0.kept = nil } }
    }

    mutating func forgotten(where isLost: (Question) -> Bool) {
        for number in known.names.indices { forget(number, where: isLost) }
    }

    private mutating func forget(_ number: Int, where isLost: (Question) -> Bool) {
        for known in known.names[number].questions where isLost(known.question) {
            if let doubt = known.doubt, doubt.isGiven { consequences.append(.doubt(.forgotten(known.question, doubt))) }
        }
        known.change(number) { $0.forget(where: isLost) }
    }

    mutating func timePassed(now: Instant) {
        for target in plan.takeLost(now: now) {
            tally.lost += 1
            learn(target, ProbeResult(.unprobed, detail: "no result"), now: now)
        }
        while let number = known.popMark(now) { awaitAsks(number, now: now) }
        begin(now: now)
    }

    /// Forgets the copy of the source's answer, which the caller withdraws from the cache.
    mutating func withdrawn(_ question: Question, from source: Source) {
        if keptAnswer(question)?.source == source { forgotten(question) }
    }

    /// Forgets the copies of forged cached answers. The caller withdraws them from the cache.
    ///
    /// - Returns: the questions of these answers, and their sources.
    mutating func takeForged(now: Instant) -> [(Question, Source)] {
        var taken: [(Question, Source)] = []
        for (number, name) in known.names.enumerated() where name.hasMismatched {
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

    /// Lets the next query for the name start its due probes. A name without queries causes no probes.
    mutating func awaitAsks(_ number: Int, now: Instant) {
        let name = known.names[number]
        for due in name.questions where name.hasDue(due, now) {
            guard let kept = due.kept, kept.endsAt > now else { continue }
            consequences.append(.awaitAsk(due.question, kept.source))
        }
    }

    mutating func takeConsequences() -> [Consequence] { exchange(&consequences, with: []) }

    // MARK: queries

    /// Returns whether every address is mismatched or unreachable while another source may have a better answer. A
    /// family of which no probe ever reached an address never counts.
    func isUnreachableAnswer(_ question: Question, _ answer: Answer, now: Instant) -> Bool {
        guard question.type.isAddress, !answer.isSigned, let number = known.number(of: question),
            known.names[number].hasVerdict
        else { return false }
        let name = known.names[number]
        guard name.leadsNowhere(answer.addresses), name.wasAlive(question.type),
            !isLocalFault(answer.addresses, name)
        else { return false }
        if isGuarded, isForged(question, answer) { return true }
        // An answer with TTL 0 is not cached. Only here can such an answer cause a lookup at other sources.
        let isKept = keptAnswer(question) != nil
        guard name.quality(answer.addresses) < .open || !isKept else { return false }
        return !name.hasNoneBetter(question, now)
            || name.knowsBetter(than: name.quality(answer.addresses), question.type, now: now)
    }

    /// Returns whether a probe has verified one of the answer's addresses.
    func isVerified(_ question: Question, _ answer: Answer) -> Bool {
        guard question.type.isAddress, let name = known[question] else { return false }
        return answer.addresses.contains { name.judgement(of: $0).verdict == .verified }
    }

    /// Returns whether sources rightly say that the name has no address of this family: `isDenied`, and all addresses
    /// against it are mismatched.
    ///
    /// - Parameter held: the answers of a lookup. If none has an address, the cached answer counts.
    func isDenialRight(_ question: Question, against held: [Answer], now: Instant) -> Bool {
        guard question.type.isAddress, let name = known[question], name.wasVerified,
            name.isDenied(question.type, now: now)
        else { return false }
        var others = held.filter { $0.kind == .records }
        if others.isEmpty, let kept = keptAnswer(question)?.answer { others = [kept] }
        return !others.isEmpty && others.allSatisfy { isForged(question, $0) }
    }

    /// Returns whether the answer has an address of the requested type that no probe found dead or mismatched. A local
    /// fault as the cause does not matter: clients here cannot use the address either.
    func hasUsableAddress(_ question: Question, _ answer: Answer) -> Bool {
        let addresses = answer.addresses.filter { $0.recordType == question.type }
        return !addresses.isEmpty && known[question]?.leadsNowhere(addresses) != true
    }

    /// Returns whether the question was asked more than once lately.
    func isInUse(_ question: Question) -> Bool {
        guard let number = known.number(of: question), let index = known.names[number].index(of: question) else {
            return false
        }
        return known.names[number].questions[index].isInUse
    }

    /// Returns whether every address in the answer is mismatched.
    func isForged(_ question: Question, _ answer: Answer) -> Bool {
        guard question.type.isAddress, !answer.isSigned, !answer.addresses.isEmpty, let name = known[question]
        else { return false }
        return name.shownQuality(answer.addresses) == .mismatched && !isLocalFault(answer.addresses, name)
    }

    /// Returns whether an answer may replace one with bad verdicts. A verified answer replaces any unverified answer.
    /// Otherwise the system resolver's answer replaces a provider's only if that is empty: a network can forge answers
    /// on port 53 and close port 443, so that no address is verified. A provider's answer replaces another provider's
    /// that is worse and not mismatched. The price: a forged answer is given until another source's address is
    /// verified, one probe later.
    func mayReplace(
        _ question: Question, _ old: (answer: Answer, source: Source), by new: (answer: Answer, source: Source)
    ) -> Bool {
        let (oldQuality, newQuality) = (quality(question, old.answer), quality(question, new.answer))
        guard newQuality != .verified else { return oldQuality < .verified }
        if old.source != new.source, isAskedFirst(old.source, question) || isAskedFirst(new.source, question) {
            return shownQuality(question, new.answer) > shownQuality(question, old.answer)
        }
        switch (old.source.isProvider, new.source.isProvider) {
        case (true, false): return oldQuality == .empty && newQuality > .empty
        case (true, true): return oldQuality != .mismatched && newQuality > oldQuality
        case (false, true): return newQuality > .empty
        case (false, false): return newQuality > oldQuality
        }
    }

    /// Returns the cached answer as it was received, and its source.
    func keptAnswer(_ question: Question) -> (answer: Answer, source: Source)? {
        guard let name = known[question], let kept = name.index(of: question).flatMap({ name.questions[$0].kept })
        else { return nil }
        return (kept.answer, kept.source)
    }

    /// Returns an answer of the cache without the addresses that it has, or may have, by preference alone. They come
    /// first. If what the upstream gave is not known any more, an address of its own may go as well if others are left.
    ///
    /// - Parameter ranges: the preferred ones of the name's rule.
    func withoutPreferred(_ question: Question, _ answer: Answer, in ranges: [Prefix]) -> Answer {
        guard !ranges.isEmpty else { return answer }
        let own: [Address]
        if let kept = keptAnswer(question)?.answer {
            own = answer.addresses.filter(kept.addresses.contains)
        } else {
            let first = answer.addresses.prefix(Bounds.maxPreferredGiven)
            let count = first.prefix { address in ranges.contains { $0.contains(address) } }.count
            own = Array(answer.addresses.dropFirst(count))
        }
        return own.isEmpty ? answer : answer.with(own)
    }

    func quality(_ question: Question, _ answer: Answer) -> AnswerQuality {
        answer.addresses.isEmpty ? .empty : known[question]?.quality(answer.addresses) ?? .open
    }

    private func shownQuality(_ question: Question, _ answer: Answer) -> AnswerQuality {
        answer.addresses.isEmpty ? .empty : known[question]?.shownQuality(answer.addresses) ?? .open
    }

    /// Returns whether the cache holds a provider's answer for at least this many more seconds.
    func outlives(_ seconds: UInt32, _ question: Question, now: Instant) -> Bool {
        guard let name = known[question], let kept = name.index(of: question).flatMap({ name.questions[$0].kept })
        else { return false }
        return kept.source != .system && kept.endsAt >= now + .seconds(Int64(seconds))
    }

    /// Returns the quality of the cached answer; `open` if none is known.
    func keptQuality(_ question: Question) -> AnswerQuality {
        guard let name = known[question], let kept = name.index(of: question).flatMap({ name.questions[$0].kept })
        else { return .open }
        return quality(question, kept.answer)
    }

    /// Returns the answer as clients get it: addresses ordered, without mismatched or unreachable ones. The address
    /// hints of HTTPS and SVCB records are cut to the addresses handed out. A name without stored state gets the answer
    /// unchanged, except that HTTPS and SVCB records lose their hints.
    mutating func arranged(_ question: Question, _ answer: Answer, now: Instant) -> Answer {
        guard answer.kind == .records, question.type.leadsToAddresses, !answer.isSigned else { return answer }
        guard let number = known.number(of: question) else {
            return question.type.isServiceBinding ? answer.withoutHints : answer
        }
        return arranged(question, answer, number)
    }

    private mutating func arranged(_ question: Question, _ answer: Answer, _ number: Int) -> Answer {
        guard answer.kind == .records, !answer.isSigned,
            known.names[number].hasVerdict || question.type.isServiceBinding
        else { return answer }
        return known.names[number].arranged(question, answer, &random)
    }

    /// Returns the addresses of the question's name, as its clients get them, in the order of its answers; addresses in
    /// no answer come last.
    func judged(for question: Question) -> [JudgedAddress] { known[question]?.judged ?? [] }

    /// Returns a name's addresses: first the ones that clients without a view get, then those that only views get.
    func judged(_ name: Name) -> [JudgedAddress] {
        var seen: Set<ProbeTarget> = []
        return known.numbers(of: name).flatMap { known.names[$0].judged }.filter { seen.insert($0.target).inserted }
    }

    /// Names with known addresses, sorted by their text.
    var names: [Name] {
        Set(known.names.filter { !$0.addresses.isEmpty }.map(\.name)).map { ($0, $0.description) }
            .sorted { $0.1 < $1.1 }.map(\.0)
    }

    var counts: ProbeCounts {
        var counts = tally
        counts.running = plan.runningCount
        counts.waiting = plan.waitingCount
        counts.forgottenNames = known.evictions
        if unprobedAnswers > 0 { counts.skipped[.disabled] = unprobedAnswers }
        if plan.overflows > 0 { counts.skipped[.overload] = plan.overflows }
        for name in known.names where name.wasVerified && name.hasBad {
            let omitted = name.omitted
            counts.omittedAsMismatched += omitted.count { $0.place == .omittedAsMismatched }
            counts.omittedAsUnreachable += omitted.count { $0.place == .omittedAsUnreachable }
        }
        return counts
    }

    // MARK: helpers

    /// Enters a source's answer for a name. Returns nil if the type leads to no address or the answer is not to be
    /// remembered.
    ///
    /// - Parameter use: of the cached answer; nil: the answer is not cached.
    private mutating func enter(
        _ question: Question, _ answer: Answer, from source: Source, _ terms: ProbeTerms,
        keptFor use: NameVerification.Use? = nil, now: Instant
    ) -> Int? {
        // No address can be removed from a signed answer, so that it is not verified.
        guard question.type.leadsToAddresses, !answer.isSigned, source != .local, source != .fallback else {
            return nil
        }
        let number = known.enter(question, now: now)
        let isFinal = filters.makeFinal(answer, from: source)
        if use != nil, !answer.isLastKnownGood { endDoubt(question, number, by: answer, from: source, now: now) }
        var generator = random
        known.change(number) { name in
            name.touchedAt = now
            name.setTerms(terms)
            if use != nil, question.type.isAddress, !terms.preferred.isEmpty {
                // A filter's answer stays as it is.
                name.preferred.renew(for: isFinal ? nil : answer, question.type, terms, &generator, now: now)
            }
            // `keep` comes first, so that the previous cached answer makes room for the new addresses.
            if let use { name.keep(question, answer, from: source, for: use, now: now) }
            // The source has not given a last known good answer now.
            guard !answer.isLastKnownGood else { return }
            if question.type.isAddress {
                name.judge(question, answer, from: source, isFinal: isFinal, isStored: use != nil, now: now)
            } else if use != nil {
                name.recordStored(question, from: source, now: now)
            }
        }
        random = generator
        if terms.scope == .nothing, plan.waitingCount > 0, !isProbed(question.name) { plan.remove(question.name) }
        return number
    }

    /// Ends the doubt because an upstream's answer replaces the last known good one in the cache.
    private mutating func endDoubt(
        _ question: Question, _ number: Int, by answer: Answer, from source: Source, now: Instant
    ) {
        guard let index = known.names[number].questions.index(of: question),
            let doubt = known.names[number].questions[index].doubt
        else { return }
        let name = known.names[number]
        let good = name.lastKnownGood(question, within: doubt.since.duration(to: doubt.until), now: now)
        // The other family's known answer is denied by "no such name" alone.
        let isDenial = name.isDenial(answer) && (good != nil || answer.kind != .noData)
        known.change(number) { $0.change(index) { $0.doubt = nil } }
        if isDenial { doubts.believed += 1 }
        guard doubt.isGiven else { return }
        let end: DoubtEnd =
            if doubt.until <= now { .time } else if good?.isVerified == true { .secondSource } else {
                name.wasVerified ? .unverified : .unconfirmed
            }
        consequences.append(
            .doubt(isDenial ? .believed(question, doubt, end) : .confirmed(question, doubt, by: source)))
    }

    /// Returns whether the name may be probed in any view.
    private func isProbed(_ name: Name) -> Bool {
        known.numbers(of: name).contains { known.names[$0].terms.scope != .nothing }
    }

    /// Returns whether the address is one of the name's, and may be probed, in any view.
    private func isProbed(_ target: ProbeTarget) -> Bool {
        known.numbers(of: target.name).contains { number in
            let name = known.names[number]
            return name.terms.scope != .nothing && name.terms.allows(target.address)
                && name.known(target.address) != nil
        }
    }

    /// Records a probe's result, which holds in all views. The address may have been forgotten meanwhile.
    private mutating func learn(_ target: ProbeTarget, _ result: ProbeResult, now: Instant) {
        consequences.append(.news(.found(target, result)))
        localFault.learned(target, result)
        for number in known.numbers(of: target.name) { learn(target, result, number, now: now) }
    }

    private mutating func learn(_ target: ProbeTarget, _ result: ProbeResult, _ number: Int, now: Instant) {
        guard known.change(number, { $0.found(target, result, now: now) }) else { return }
        conclude(number, now: now)
        askElsewhere(number, now: now) { $0.answer.addresses.contains(target.address) }
        if result.verdict == .verified {
            let name = known.names[number]
            askElsewhere(number, now: now, hasBetterSource: true) { kept in
                guard let family = kept.answer.addresses.first?.recordType else { return false }
                return family == target.address.recordType
                    ? name.isGiven(target.address, excluding: kept.source, now: now)
                    : name.shownQuality(kept.answer.addresses) == .mismatched && name.isDenied(family, now: now)
            }
        }
        if result.verdict.isMismatched { askAgain(target, number, now: now) }
        markNext(number, now: now)
    }

    private mutating func askAgain(_ target: ProbeTarget, _ number: Int, now: Instant) {
        let name = known.names[number]
        for question in name.questions {
            guard let kept = question.kept, kept.endsAt > now, kept.answer.addresses.contains(target.address) else {
                continue
            }
            let isRecent = name.statements.contains {
                $0.isAnswer(question.question, from: kept.source) && !$0.isLate(now)
            }
            if isRecent { continue }
            consequences.append(.askAgain(question.question, kept.source))
        }
    }

    /// Updates answers and the trust in their sources.
    private mutating func conclude(_ number: Int, now: Instant) {
        rearrange(number)
        guard known.names[number].hasVerdict else { return }
        let forgeries = known.change(number) { $0.takeForgeries(now: now) }
        for evidence in forgeries {
            tally.divergences += 1
            consequences.append(.forged(evidence))
            askElsewhere(number, now: now, hasBetterSource: true) { $0.source == evidence.mismatched.source }
        }
        let truths = known.change(number) { $0.takeTruths(now: now) }
        let name = known.names[number].name
        for truth in truths {
            consequences.append(.recordConfirmed(truth.source, name))
            if let distance = truth.distance { consequences.append(.measured(truth.source, name, distance)) }
        }
        if known.names[number].hasDead {
            let expired = known.change(number) { $0.takeExpired(now: now) }
            consequences += expired.map { .recordExpired($0, name) }
        }
        judgeSystem(number, now: now)
    }

    mutating func rearrange(_ number: Int) {
        guard known.names[number].hasVerdict || known.names[number].questions.mayBeOutdated else { return }
        for (index, question) in known.names[number].questions.enumerated() {
            guard let kept = question.kept, known.names[number].isOutdated(kept, question.question) else { continue }
            let arranged = known.names[number].arranged(question.question, kept.answer, &random)
            known.change(number) { $0.change(index) { $0.kept?.handOut(arranged) } }
            consequences.append(.rearrange(question.question, arranged, kept.source))
        }
    }

    /// Starts a lookup at other sources for each cached answer without a usable address: at most once per
    /// `Bounds.elsewherePause`, only once if no probe ever reached an address of the family, and at once if another
    /// source has a better answer.
    ///
    /// - Parameters:
    ///   - hasBetterSource: another source has a better answer. This overrides an earlier `recordNoBetterSource`.
    ///   - isMeant: selects the cached answers to examine.
    private mutating func askElsewhere(
        _ number: Int, now: Instant, hasBetterSource: Bool = false, where isMeant: (VerifiedQuestion.Kept) -> Bool
    ) {
        let name = known.names[number]
        for (index, question) in name.questions.enumerated() where question.question.type.isAddress {
            guard let kept = question.kept, isMeant(kept), name.leadsNowhere(kept.answer.addresses),
                !hasNoVerdict(kept.answer.addresses, name), !filters.makeFinal(kept.answer, from: kept.source)
            else { continue }
            let isWithheld = isGuarded && kept.endsAt > now && isForged(question.question, kept.answer)
            guard isWithheld || hasBetterSource || !question.hasNoneBetter(now) else { continue }
            let pause = name.wasAlive(question.question.type) ? Bounds.elsewherePause : nil
            let isTooSoon = question.askedElsewhereAt.map { asked in pause.map { now - asked < $0 } ?? true } ?? false
            // If the verdict arrives after the other sources were asked, they are asked once more, but not twice at the
            // same instant.
            let isVerifiedSince = hasBetterSource && question.askedElsewhereAt != now
            guard isWithheld || isVerifiedSince || !isTooSoon else { continue }
            known.change(number) {
                $0.change(index) { known in
                    known.askedElsewhereAt = now
                    if hasBetterSource { known.noneBetterUntil = nil }
                    if isWithheld { known.kept = nil }
                }
            }
            // If no address of the name was ever verified and no portal is suspected, the answer is still given
            // meanwhile, except the answer of a system resolver that is asked first.
            let isForged =
                (name.wasVerified || isGuarded || kept.source == .system && name.terms.order == .systemFirst)
                && kept.answer.addresses.contains { name.judgement(of: $0).verdict.isMismatched }
            let forged = isForged ? kept.left(now) : nil
            consequences.append(.askElsewhere(question.question, excludedSource: kept.source, forged: forged))
        }
    }

    // MARK: local faults

    func isLocalFault(_ addresses: [Address], _ name: NameVerification) -> Bool {
        addresses.allSatisfy { localFault.explains(name.judgement(of: $0).verdict, in: $0.recordType) }
    }
}
