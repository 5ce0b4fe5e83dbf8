// The answers that a lookup holds back because another upstream may have a better one, and the sources that it
// replaces.

import DNSWire

/// An answer that is given only if no upstream has a better one. A class, because every lookup has room for three of
/// them, and few hold one.
final class HeldAnswer {
    let answer: Answer
    let source: Source
    let at: Instant
    /// Why the answer is given in a provider's place, if it waits for the other address family's; nil: it is not.
    let substituteReason: SubstituteReason?

    init(answer: Answer, source: Source, at: Instant, substituteReason: SubstituteReason? = nil) {
        self.answer = answer
        self.source = source
        self.at = at
        self.substituteReason = substituteReason
    }

    /// The answer with its remaining TTL.
    func aged(now: Instant) -> Answer { answer.aged(since: at, now: now) }
}

struct HeldAnswers {
    /// The first empty answer that proves nothing.
    private(set) var ambiguousEmpty: HeldAnswer?
    /// The best answer that no verdict proves: with unreachable or mismatched addresses, unverified against another
    /// source's, or without an address.
    private(set) var best: HeldAnswer?
    /// The answers that were worse than `best` when they were compared, at most one of each source.
    private var passedOver: [HeldAnswer] = []
    /// The source whose answer this lookup should replace.
    private(set) var replacedSource: Source?
    /// The replaced source while it is not asked. It is asked as soon as a client waits.
    private(set) var excludedSource: Source?
    /// The cached answer that a refresh renews has records. An ambiguous empty answer must not replace it.
    private(set) var hasGoodAnswer: Bool
    /// The first negative answer that denies a last known good answer.
    private(set) var denial: HeldAnswer?
    /// What was first said against the last known good answer.
    private(set) var denied: Denial?
    /// The sources that deny the last known good answer.
    private(set) var deniers: [Source] = []
    /// A lost reply was asked for again.
    var hasAskedAgain = false
    /// Clients got the last known good answer, which is counted.
    var isLastKnownGoodGiven = false

    init(hasGoodAnswer: Bool) { self.hasGoodAnswer = hasGoodAnswer }

    var isEmpty: Bool { ambiguousEmpty == nil && best == nil && denial == nil }
    /// Two sources deny the last known good answer.
    var isDenialConfirmed: Bool { deniers.count > 1 }
    /// The answers that were compared, the best last.
    var compared: [HeldAnswer] { passedOver + [best].compactMap { $0 } }
    /// The answers without an address.
    var denials: [HeldAnswer] { [denial].compactMap { $0 } + compared.filter { $0.answer.kind != .records } }
    /// Another answer may be better than the upstreams'.
    var hasRival: Bool { best != nil || replacedSource != nil }

    mutating func hold(ambiguousEmpty answer: Answer, _ source: Source, now: Instant) {
        ambiguousEmpty = ambiguousEmpty ?? HeldAnswer(answer: answer, source: source, at: now)
    }

    /// Holds an answer that no verdict proves. The better of two is given, unless a later verdict proves the other one.
    mutating func compare(
        _ answer: Answer, to question: Question, _ source: Source, _ verification: Verification, now: Instant
    ) {
        let new = HeldAnswer(answer: answer, source: source, at: now)
        guard let former = best else { return best = new }
        let isBetter = verification.mayReplace(question, (former.answer, former.source), by: (answer, source))
        let worse = isBetter ? former : new
        passedOver.removeAll { $0.source == worse.source }
        passedOver.append(worse)
        if isBetter { best = new }
    }

    /// Marks the source whose answer caused the lookup.
    ///
    /// - Parameters:
    ///   - forged: the source's answer, if it was removed from the cache. Waiters get it only if no source has a better
    ///     one.
    ///   - mayBeAsked: the source may be asked if a client waits.
    mutating func replace(
        _ source: Source, _ forged: Answer?, to question: Question, mayBeAsked: Bool, _ verification: Verification,
        now: Instant
    ) {
        replacedSource = source
        if let forged {
            compare(forged, to: question, source, verification, now: now)
            hasGoodAnswer = false
            excludedSource = nil
        } else if mayBeAsked {
            excludedSource = source
        }
    }

    /// Holds a negative answer that denies the last known good answer.
    mutating func hold(denial answer: Answer, _ source: Source, now: Instant) {
        denial = denial ?? HeldAnswer(answer: answer, source: source, at: now)
    }

    /// Records that an upstream denies the last known good answer.
    ///
    /// - Parameter source: a source whose denial counts; nil: it does not count.
    mutating func denies(_ denied: Denial, by source: Source?) {
        self.denied = self.denied ?? denied
        if let source, !deniers.contains(source) { deniers.append(source) }
    }

    mutating func takeExcludedSource() -> Source? { excludedSource.take() }

    /// Returns whether the answer is better than the one that caused this lookup, held here or cached.
    func mayBeReplaced(
        by answer: Answer, to question: Question, _ source: Source, _ verification: Verification
    ) -> Bool {
        let kept = replacedSource == nil ? nil : verification.keptAnswer(question)
        guard let doubted = best.map({ ($0.answer, $0.source) }) ?? kept, doubted.1 != source else {
            return true
        }
        return verification.mayReplace(question, doubted, by: (answer, source))
    }

    /// Returns whether the cached answer is better than this one.
    ///
    /// - Parameter expired: the expired answer of this network that clients may get.
    func isCachedBetter(
        than answer: Answer, to question: Question, _ source: Source, _ expired: ExpiredAnswer?, hasWaiters: Bool,
        _ verification: Verification
    ) -> Bool {
        // The source of the cached answer was not asked again.
        if excludedSource != nil {
            return verification.keptAnswer(question).map {
                !verification.mayReplace(question, $0, by: (answer, source))
            } ?? (verification.quality(question, answer) <= .open)
        }
        let (kept, quality) = (verification.keptQuality(question), verification.quality(question, answer))
        let isKept = expired.map { !$0.answer.isNegative } ?? (hasGoodAnswer && !hasWaiters)
        return isKept && kept > quality
    }
}

extension Answer {
    /// An ambiguous empty answer as "no data"; any other itself.
    var withoutAmbiguity: Answer {
        kind == .ambiguousEmpty ? Answer(negative: .noData, ttlSeconds: ttlSeconds).remarked(remark) : self
    }

    /// Returns the answer with its remaining TTL, so that holding it back does not extend its lifetime.
    func aged(since learnedAt: Instant, now: Instant) -> Answer {
        let seconds = UInt32(clamping: learnedAt.duration(to: now).wholeSeconds)
        return seconds == 0 ? self : withTTL(to: ttlSeconds - min(ttlSeconds, seconds))
    }
}
