// Bounded table of each source's last answer and last failure per question, for reports. No decision reads it.
//
// Invariants: `index` has every entry once. An entry has at most one answer and one failure per source.

package import DNSWire

/// A source's answer before filtering and truncation.
package struct SourceAnswer: Equatable, Sendable {
    package let source: Source
    package let kind: Answer.Kind
    /// The addresses of the answer, as far as they are stored.
    package let addresses: [Address]
    /// Addresses among them that no public name may have, filtered from replies.
    package let filtered: [Address]
    package let ttlSeconds: UInt32
    /// Time until the answer; nil for an unsolicited answer.
    package let took: Duration?
    package let answeredAt: Instant
    /// How the answer contradicts the rule for its name; nil if it does not.
    package let contradiction: Contradiction?
    /// When the answer was stored in the cache; nil if it was not stored.
    package fileprivate(set) var keptAt: Instant?
}

package struct SourceFailure: Equatable, Sendable {
    package enum Cause: Equatable, Sendable {
        /// The fetch failed without a reply about the name.
        case fetch(FetchFailure)
        /// The provider does not serve the name.
        case notServed
        /// The reply had an error code instead of an answer.
        case name(NameFailure)
    }

    package let source: Source
    package let cause: Cause
    package let failedAt: Instant
}

struct SourceHistory {
    private struct Entry {
        let question: Question
        /// The answers, the latest last.
        var answers: [SourceAnswer] = []
        var failures: [SourceFailure] = []
        var lastSubstitute: LastSubstitute?
    }

    private var entries: [Entry] = []
    private var index = HashIndex()
    /// The entry to replace next.
    private var oldest = 0

    /// - Parameters:
    ///   - answer: the answer as received.
    ///   - usable: the answer without addresses that no public name may have; nil: nothing is left.
    mutating func answered(
        _ question: Question, _ answer: Answer, usable: Answer?, _ contradiction: consuming Contradiction? = nil,
        by source: Source, took: Duration?, now: Instant
    ) {
        let addresses = answer.addresses.atMost(Bounds.maxHeldAddresses)
        let isWhole = usable.map { $0.records.count == answer.records.count } ?? false
        let left = isWhole ? addresses : usable?.addresses ?? []
        let found = SourceAnswer(
            source: source, kind: answer.kind, addresses: addresses,
            filtered: isWhole ? [] : addresses.filter { !left.contains($0) },
            ttlSeconds: answer.ttlSeconds, took: took, answeredAt: now, contradiction: contradiction)
        let number = enter(question)
        if let former = entries[number].answers.firstIndex(where: { $0.source == source }) {
            entries[number].answers.remove(at: former)
        }
        if let failure = entries[number].failures.firstIndex(where: { $0.source == source }) {
            entries[number].failures.remove(at: failure)
        }
        entries[number].answers.appendToShort(found)
        if entries[number].answers.count > Bounds.maxSourcesPerName { entries[number].answers.removeFirst() }
    }

    /// Records a failure of a source. Its next answer removes it.
    mutating func failed(_ question: Question, _ cause: SourceFailure.Cause, by source: Source, now: Instant) {
        let number = enter(question)
        entries[number].failures.removeAll { $0.source == source }
        entries[number].failures.append(SourceFailure(source: source, cause: cause, failedAt: now))
        if entries[number].failures.count > Bounds.maxSourcesPerName { entries[number].failures.removeFirst() }
    }

    /// Records that the system resolver's answer was given in place of a provider's.
    mutating func substituteGiven(_ question: Question, _ reason: SubstituteReason, now: Instant) {
        entries[enter(question)].lastSubstitute = LastSubstitute(reason: reason, at: now)
    }

    func lastSubstitute(on question: Question) -> LastSubstitute? {
        number(of: question).flatMap { entries[$0].lastSubstitute }
    }

    /// Records that the source's last answer was stored in the cache. Ignored if that answer is forgotten.
    mutating func kept(_ question: Question, from source: Source, now: Instant) {
        guard let number = number(of: question),
            let index = entries[number].answers.firstIndex(where: { $0.source == source })
        else { return }
        entries[number].answers[index].keptAt = now
    }

    /// Returns the answers to the question, the latest last.
    func answers(to question: Question) -> [SourceAnswer] { number(of: question).map { entries[$0].answers } ?? [] }

    func failures(on question: Question) -> [SourceFailure] { number(of: question).map { entries[$0].failures } ?? [] }

    private func number(of question: Question) -> Int? {
        index.number(question.indexHash) { entries.span[$0].question == question }
    }

    /// Returns the place of the question's entry, and adds one if there is none.
    private mutating func enter(_ question: Question) -> Int {
        if let number = number(of: question) { return number }
        let number: Int
        if entries.count < Bounds.maxHistoryQuestions {
            number = entries.count
            entries.append(Entry(question: question))
        } else {
            number = oldest
            index.remove(number, hash: entries[number].question.indexHash)
            entries[number] = Entry(question: question)
            oldest = (oldest + 1) % entries.count
        }
        index.add(number, hash: question.indexHash)
        return number
    }
}
