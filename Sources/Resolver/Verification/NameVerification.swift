// What is known of one name in one view: each source's answers and last failure, the cached answers, and the verdicts
// on addresses. Every part is bounded; addresses beyond a bound are not judged and are handed out unchanged.

import DNSWire

struct NameVerification {
    let key: NameInView
    var touchedAt: Instant
    private(set) var terms = ProbeTerms.none
    private(set) var addresses: [KnownAddress] = [] {
        didSet {
            (hasVerdict, hasMismatched, hasDead) = (false, false, false)
            for address in addresses where address.hasVerdict {
                let verdict = address.judgement.verdict
                hasVerdict = true
                hasMismatched = hasMismatched || verdict.isMismatched
                hasDead = hasDead || verdict.isDead
            }
        }
    }
    // The flags are stored, as most events of a name read them, and the compiler copies a name to compute them.
    private(set) var hasVerdict = false
    private(set) var hasMismatched = false
    private(set) var hasDead = false
    /// The sources' answers to the questions for this name, for each source and question the last one, and a former one
    /// that may become evidence. The latest is last.
    var answers: [SourceAnswer] = []
    /// The sources' failures since their last answers, as for `answers`.
    var failures: [SourceFailure] = []
    private(set) var questions: [VerifiedQuestion] = []
    /// No probe before this time, because the name has no TLS.
    private(set) var leftAloneUntil: Instant?
    /// Address families in which an address was ever reachable.
    private var everAlive: Set<RecordType> = []
    private(set) var hasSpokenTLS = false
    /// An address was verified at some time. Without one, certificates prove nothing, and the name is treated as one
    /// without TLS.
    private(set) var wasVerified = false
    /// With the system resolver first: the providers go first until this instant, as the system resolver's answer was
    /// forged. In the past: its next answer must be verified. Nil: it has forged nothing since its last verified
    /// answer.
    var systemForgedUntil: Instant?
    var reportedForgeries: [ReportedForgery] = []
    var preferred = PreferredAddresses()

    init(_ key: NameInView, now: Instant) {
        self.key = key
        touchedAt = now
    }

    var name: Name { key.name }

    // MARK: queries

    /// The answers that verdicts judge, the latest last.
    var statements: LazyFilterSequence<[SourceAnswer]> { answers.lazy.filter(\.isJudged) }

    func judgement(of address: Address) -> Judgement { known(address)?.judgement ?? .none }

    func target(_ address: Address, _ check: Check) -> ProbeTarget {
        ProbeTarget(name, address, port: check.port, by: terms.method)
    }

    func known(_ address: Address) -> KnownAddress? {
        addresses.first { $0.address == address } ?? preferred.known(address)
    }

    /// Answers may omit addresses of this name.
    var hasBad: Bool {
        addresses.contains { $0.judgement.verdict.isMismatched || $0.judgement.verdict.isDead }
    }

    func order(of addresses: [Address]) -> AddressOrder {
        let own = AddressOrder(addresses, wasVerified: wasVerified, method: terms.method) { judgement(of: $0) }
        guard !preferred.isEmpty else { return own }
        return own.behind(preferred.better(than: addresses.map { ($0, judgement(of: $0)) }))
    }

    /// Returns the quality of the best address. A certificate for another name disqualifies an address only if the name
    /// was ever verified.
    func quality(_ addresses: [Address]) -> AnswerQuality {
        let quality = shownQuality(addresses)
        return quality == .mismatched && !wasVerified ? .open : quality
    }

    /// Returns the quality of the best address by verdicts alone: a reason to ask other sources, not to accept their
    /// answers.
    func shownQuality(_ addresses: [Address]) -> AnswerQuality {
        addresses.map { address -> AnswerQuality in
            let verdict = judgement(of: address).verdict
            if verdict == .verified { return .verified }
            if verdict.isMismatched { return .mismatched }
            return verdict.isDead ? .nobodys : .open
        }.max() ?? .open
    }

    func leadsNowhere(_ addresses: [Address]) -> Bool { shownQuality(addresses) < .open }

    /// Returns whether another source recently gave the address.
    func isGiven(_ address: Address, excluding source: Source, now: Instant) -> Bool {
        statements.contains { $0.source != source && !$0.isLate(now) && $0.addresses.contains(address) }
    }

    /// Returns whether two providers recently said that the name has no address of this family, or one source that gave
    /// a verified address of the other family.
    func isDenied(_ family: RecordType, now: Instant) -> Bool {
        let recent = statements.filter { !$0.isLate(now) }
        let denials = recent.filter { $0.question.type == family && $0.addresses.isEmpty }
        // A provider may have answered questions with and without DNSSEC data.
        let providers = Set(denials.filter { $0.source.isProvider && $0.kind != .ambiguousEmpty }.map(\.source))
        return providers.count > 1
            || denials.contains { denial in
                recent.contains { statement in
                    statement.source == denial.source && statement.question.type != family
                        && statement.addresses.contains { judgement(of: $0).verdict == .verified }
                }
            }
    }

    /// Returns whether a source recently gave a better answer.
    func knowsBetter(than quality: AnswerQuality, _ family: RecordType, now: Instant) -> Bool {
        statements.contains {
            $0.question.type == family && !$0.isLate(now) && self.quality($0.addresses) > quality
        }
    }

    func wasAlive(_ family: RecordType) -> Bool { everAlive.contains(family) }

    func index(of question: Question) -> Int? { questions.index(of: question) }

    // MARK: last known good answers

    func lastKnownGood(_ question: Question, within window: Duration, now: Instant) -> LastKnownGood? {
        guard let index = index(of: question) else { return nil }
        let since = questions[index].doubt?.since
        let known = [questions[index].kept, questions[index].formerGood].compactMap { $0 }.filter { kept in
            now < kept.endsAt + window && isKnownGood(kept)
        }
        guard let verified = known.first(where: { isVerified($0, since: since, now: now) }) ?? known.first else {
            return nil
        }
        return LastKnownGood(
            answer: verified.answer, source: verified.source, isVerified: isVerified(verified, since: since, now: now))
    }

    /// Whether the answer has a verified address, or is a provider's and not refuted.
    private func isKnownGood(_ kept: VerifiedQuestion.Kept) -> Bool {
        guard kept.answer.kind == .records else { return false }
        return kept.source.isProvider && !isDenial(kept.answer) || hasVerified(kept)
    }

    private func hasVerified(_ kept: VerifiedQuestion.Kept) -> Bool {
        kept.answer.addresses.contains { judgement(of: $0).verdict == .verified }
    }

    /// Whether an address is verified. After `Bounds.doubtedProbeWithin` of doubt, the verdict must have been found
    /// since the doubt began.
    private func isVerified(_ kept: VerifiedQuestion.Kept, since: Instant?, now: Instant) -> Bool {
        let oldest = since.flatMap { now - $0 < Bounds.doubtedProbeWithin ? nil : $0 }
        let checks = kept.answer.addresses.compactMap(known).flatMap(\.checks)
        return checks.contains { check in
            guard check.result.verdict == .verified, let probedAt = check.probedAt else { return false }
            return oldest.map { $0 <= probedAt } ?? true
        }
    }

    /// Whether the answer denies that the name has usable addresses. Without a verified address at any time, a probe
    /// proves nothing: many names have no TLS.
    func isDenial(_ answer: Answer) -> Bool {
        answer.kind != .records || wasVerified && !answer.addresses.isEmpty && leadsNowhere(answer.addresses)
    }

    // MARK: use

    /// Returns whether the question is in use or doubtful.
    func isWorthProbing(_ known: VerifiedQuestion) -> Bool { known.isInUse || known.isDoubted || hasMismatched }

    // MARK: updates

    mutating func change(_ question: Question, now: Instant, _ body: (inout VerifiedQuestion) -> Void) {
        touchedAt = now
        let index = index(of: question) ?? add(question, now: now)
        questions[index].touchedAt = now
        body(&questions[index])
    }

    private mutating func add(_ question: Question, now: Instant) -> Int {
        if questions.count >= Bounds.maxQuestionsPerName,
            // A doubt goes last.
            let oldest = questions.indices.min(by: { one, other in
                let (one, other) = (questions[one], questions[other])
                return (one.doubt == nil ? 0 : 1, one.touchedAt) < (other.doubt == nil ? 0 : 1, other.touchedAt)
            })
        {
            questions.remove(at: oldest)
        }
        questions.appendToShort(VerifiedQuestion(question, now: now))
        return questions.count - 1
    }

    mutating func change(_ index: Int, _ body: (inout VerifiedQuestion) -> Void) { body(&questions[index]) }

    /// Sets the probe rules of the name. A name that is not probed is not judged either.
    mutating func setTerms(_ terms: ProbeTerms) {
        guard terms != self.terms else { return }
        preferred = PreferredAddresses()
        if terms.method != self.terms.method { for index in addresses.indices { addresses[index].setPorts([]) } }
        self.terms = terms
        if terms.scope == .nothing {
            addresses = []
            leftAloneUntil = nil
        } else {
            for index in addresses.indices { addresses[index].setPorts(terms.ports) }
            for statement in statements where statement.keptAt != nil {
                enter(statement.addresses, ttlSeconds: statement.ttlSeconds, now: statement.answeredAt)
            }
        }
    }

    /// How a cached answer is used.
    ///
    /// - Parameters:
    ///   - isInUse: the question was asked more than once.
    ///   - isDoubted: the answer is a substitute.
    typealias Use = (isInUse: Bool, isDoubted: Bool)

    /// Stores a cached answer. An answer that is too large to be rearranged later is not held.
    mutating func keep(_ question: Question, _ answer: Answer, from source: Source, for use: Use, now: Instant) {
        let isAddress = question.type.isAddress
        let isHeldWhole = !isAddress || answer.records.count <= Bounds.maxHeldAddresses
        let held = isHeldWhole ? answer : answer.with(answer.addresses.atMost(Bounds.maxHeldAddresses))
        let kept = VerifiedQuestion.Kept(
            answer: held, source: source, endsAt: now + .seconds(Int64(answer.ttlSeconds)),
            handedOut: arranged(question, held))
        touchedAt = now
        let index = index(of: question) ?? add(question, now: now)
        if !answer.isLastKnownGood { keepFormerGood(index, before: answer) }
        questions[index].touchedAt = now
        questions[index].kept = isAddress || answer.isHeld ? kept : nil
        questions[index].isDoubted = use.isDoubted
        if use.isInUse { questions[index].isRefreshed() }
    }

    /// Keeps the last known good answer that a new answer replaces, unless the new one denies it.
    private mutating func keepFormerGood(_ index: Int, before answer: Answer) {
        // Without a verdict, no answer was good, and no address fails.
        guard hasVerdict || answer.kind != .records else { return }
        guard !isDenial(answer) else { return questions[index].formerGood = nil }
        guard questions[index].question.type.isAddress, let kept = questions[index].kept,
            kept.answer.addresses != answer.addresses, hasVerified(kept)
        else { return }
        questions[index].formerGood = kept
    }

    /// Lets the addresses of an answer be judged. Records the answer if it differs from the one that arrived, as an
    /// answer of DNS64 does.
    ///
    /// - Parameters:
    ///   - isFinal: as in `SourceAnswer`.
    ///   - isStored: the answer is stored in the cache.
    mutating func judge(
        _ question: Question, _ answer: Answer, from source: Source, isFinal: Bool, isStored: Bool, now: Instant
    ) {
        let addresses = answer.addresses.atMost(Bounds.maxHeldAddresses)
        if let arrived = answers.index(of: question, from: source), answers[arrived].addresses == addresses {
            if isStored { answers[arrived].keptAt = now }
        } else {
            record(
                SourceAnswer(
                    question, answer, usable: answer, by: source, took: nil, isFinal: isFinal,
                    keptAt: isStored ? now : nil, now: now))
        }
        if terms.scope != .nothing { enter(addresses, ttlSeconds: answer.ttlSeconds, now: now) }
    }

    /// - Returns: false if the address or its port is not known any more.
    mutating func found(_ target: ProbeTarget, _ result: ProbeResult, now: Instant) -> Bool {
        let isPreferred = preferred.found(target, result, now: now)
        guard let index = addresses.firstIndex(where: { $0.address == target.address }), target.method == terms.method,
            addresses[index].found(result, port: target.port, now: now)
        else { return isPreferred }
        let verdict = result.verdict
        if verdict != .unprobed, !verdict.isDead { everAlive.insert(target.address.recordType) }
        hasSpokenTLS = hasSpokenTLS || verdict.speaksTLS
        wasVerified = wasVerified || verdict == .verified
        leftAloneUntil = !hasSpokenTLS && isProbed && terms.method == .handshake ? now + Bounds.leftAlonePause : nil
        return true
    }

    /// Postpones a probe for which there was no room.
    mutating func putOff(_ target: ProbeTarget, until instant: Instant) {
        preferred.putOff(target, until: instant)
        guard let index = addresses.firstIndex(where: { $0.address == target.address }) else { return }
        addresses[index].putOff(port: target.port, until: instant)
    }

    /// Allows a lookup at other sources again: the former one did not take place or did not end.
    mutating func allowAskingElsewhere(_ isMeant: (Question) -> Bool) {
        for index in questions.indices where isMeant(questions[index].question) {
            questions[index].askedElsewhereAt = nil
        }
    }

    /// Makes every verdict due again on the return to a network, and allows lookups at all sources. A doubt goes on if
    /// clients got the answer: its denials came from this network. Another one begins anew with the next denial.
    mutating func becomesDue() {
        preferred = PreferredAddresses()
        for index in addresses.indices { addresses[index].becomesDue() }
        for index in questions.indices {
            if questions[index].doubt?.isGiven == false { questions[index].doubt = nil }
            questions[index].noneBetterUntil = nil
            questions[index].askedElsewhereAt = nil
        }
    }

    /// Forgets answers that the cache no longer holds.
    mutating func forget(where isLost: (Question) -> Bool) {
        for index in questions.indices where isLost(questions[index].question) { questions[index].isForgotten() }
    }

    /// Returns whether a probe is skipped because the name has no TLS. Ports never probed are not skipped.
    func leavesAlone(_ check: Check, _ now: Instant) -> Bool {
        check.probedAt != nil && leftAloneUntil.map { now < $0 } ?? false
    }

    /// Whether every address that is handed out has a verdict.
    private var isProbed: Bool {
        let inUse = Set(questions.flatMap { $0.kept?.answer.addresses ?? [] })
        return addresses.allSatisfy { $0.hasVerdict || !inUse.contains($0.address) }
    }

    private mutating func enter(_ given: [Address], ttlSeconds: UInt32, now: Instant) {
        for address in given {
            if let index = addresses.firstIndex(where: { $0.address == address }) {
                addresses[index].named(ttlSeconds: ttlSeconds, now: now)
                continue
            }
            if addresses.count >= Bounds.maxAddressesPerName {
                guard let gone = leastNeeded(for: address, now) else { return }
                addresses.remove(at: gone)
            }
            addresses.append(KnownAddress(address, ports: terms.ports, ttlSeconds: ttlSeconds, now: now))
        }
    }

    /// Returns the address to evict, never one in a cached answer: one that no source gave lately; else, for an address
    /// that clients get, one that they do not get. Of these, mismatched and then verified addresses go last, and the
    /// one given longest ago goes first.
    private func leastNeeded(for address: Address, _ now: Instant) -> Int? {
        let kept = Set(questions.compactMap(\.kept).filter { $0.endsAt > now }.flatMap(\.answer.addresses))
        let given = Set(statements.filter { !$0.isLate(now) }.flatMap(\.addresses))
        let isHandedOut = kept.contains(address)
        let value = { [addresses] (index: Int) in
            let (address, verdict) = (addresses[index].address, addresses[index].judgement.verdict)
            let worth = verdict.isMismatched ? 2 : verdict == .verified ? 1 : 0
            return (given.contains(address) ? 1 : 0, worth, addresses[index].namedAt)
        }
        return addresses.indices.filter {
            !kept.contains(addresses[$0].address) && (isHandedOut || !given.contains(addresses[$0].address))
        }.min { value($0) < value($1) }
    }
}

/// Quality of an answer, the worst first.
enum AnswerQuality: Comparable {
    /// The answer has no address.
    case empty
    /// All addresses of the answer are mismatched.
    case mismatched
    /// No address of the answer is reachable.
    case nobodys
    /// No address is verified, and at least one has no bad verdict.
    case open
    /// At least one address is verified.
    case verified
}

extension [Address] {
    /// Returns the first addresses, itself if there are no more.
    func atMost(_ count: Int) -> [Address] { self.count <= count ? self : Array(prefix(count)) }
}

/// Invariant: `kept` is of this question.
struct VerifiedQuestion {
    struct Kept {
        /// The complete answer as it was received.
        let answer: Answer
        let source: Source
        let endsAt: Instant
        /// The form of the answer in the cache, if it differs from the answer as it was received; else empty.
        private var arranged: [Answer] = []

        init(answer: Answer, source: Source, endsAt: Instant, handedOut: Answer) {
            self.answer = answer
            self.source = source
            self.endsAt = endsAt
            handOut(handedOut)
        }

        /// The form of the answer in the cache.
        var handedOut: Answer { arranged.first ?? answer }

        var isArranged: Bool { !arranged.isEmpty }

        mutating func handOut(_ arranged: Answer) { self.arranged = arranged == answer ? [] : [arranged] }

        /// Returns the answer with its remaining TTL.
        func left(_ now: Instant) -> Answer {
            answer.withTTL(to: UInt32(clamping: now.duration(to: endsAt).wholeSeconds))
        }
    }

    let question: Question
    var touchedAt: Instant
    var kept: Kept?
    /// The last verified answer before `kept`, whose addresses differ; nil: there is none.
    var formerGood: Kept?
    /// The last known good answer is denied.
    var doubt: Doubt?
    private var asks: UInt8 = 0
    var isDoubted = false
    var noneBetterUntil: Instant?
    /// When other sources were asked because of a probe's result.
    var askedElsewhereAt: Instant?
    /// The last answer of the system resolver in place of a provider's.
    var lastSubstitute: LastSubstitute?

    init(_ question: Question, now: Instant) {
        self.question = question
        touchedAt = now
    }

    /// The question was asked at least twice.
    var isInUse: Bool { asks >= 2 }

    mutating func isForgotten() { (kept, formerGood, doubt) = (nil, nil, nil) }

    mutating func asked() { asks = min(asks + 1, 2) }
    mutating func isRefreshed() { asks = 2 }

    func hasNoneBetter(_ now: Instant) -> Bool { noneBetterUntil.map { now < $0 } ?? false }
}

// These members are for callers that would otherwise copy the whole name to call it.
extension [VerifiedQuestion] {
    func index(of question: Question) -> Int? { indices.first { self[$0].question == question } }

    enum Use {
        case none
        /// The addresses of an answer are probed, or will be soon.
        case probed
        /// A last known good answer is denied.
        case denied
    }

    var use: Use {
        var use = Use.none
        for index in indices {
            if self[index].doubt != nil { return .denied }
            if self[index].isInUse || self[index].isDoubted { use = .probed }
        }
        return use
    }

    /// Whether a cached answer may have to be rearranged although no address has a verdict.
    var mayBeOutdated: Bool {
        indices.contains { !self[$0].question.type.isAddress || self[$0].kept?.isArranged ?? false }
    }
}
