// A source's answer to a question, and its last failure. Verdicts judge the answers, and reports show both.

package import DNSWire

/// A source's answer to a question, before truncation.
package struct SourceAnswer: Equatable, Sendable {
    package let source: Source
    package let question: Question
    package let kind: Answer.Kind
    /// The addresses of the answer, as far as they are stored, without those of `filtered`.
    package let addresses: [Address]
    /// Addresses of the answer that no public name may have, filtered from replies.
    package let filtered: [Address]
    package let ttlSeconds: UInt32
    /// Time until the answer; nil for an unsolicited answer.
    package let took: Duration?
    package let answeredAt: Instant
    /// When the answer was stored in the cache; nil if it was not stored.
    package internal(set) var keptAt: Instant?
    /// The verdicts on its addresses count for or against the source. False for signed answers, which are not verified,
    /// for answers that a rule has refused, and for those that arrived during a network change.
    let isJudged: Bool
    /// The answer is a filter's: its addresses prove no forgery.
    let isFinal: Bool
    /// The answer was counted as true by `takeTruths`, or as expired by `takeExpired`.
    var isProven = false
    /// The source has given another answer since. This one is kept because it may become evidence.
    var isFormer = false
    /// What makes the answer no ordinary one; nil for most.
    private let special: Special?

    private indirect enum Special: Equatable {
        case block(String)
        case contradiction(Contradiction)
    }

    /// - Parameters:
    ///   - answer: the answer as received.
    ///   - usable: the answer without addresses that no public name may have; nil: nothing is left.
    ///   - isStable: the network does not change just now.
    init(
        _ question: Question, _ answer: Answer, usable: Answer?, _ contradiction: Contradiction? = nil,
        by source: Source, took: Duration?, isFinal: Bool, isStable: Bool = true, keptAt: Instant? = nil,
        now: Instant
    ) {
        let all = answer.addresses.atMost(Bounds.maxHeldAddresses)
        let isWhole = usable.map { $0.records.count == answer.records.count } ?? false
        let block = usable.flatMap { $0.isBlock ? $0.remark?.text : nil }
        let left = isWhole || block != nil ? all : usable?.addresses.atMost(Bounds.maxHeldAddresses) ?? []
        self.source = source
        self.question = question
        kind = answer.kind
        addresses = left
        filtered = isWhole ? [] : all.filter { !left.contains($0) }
        ttlSeconds = answer.ttlSeconds
        self.took = took
        answeredAt = now
        isJudged = isStable && question.type.isAddress && usable != nil && !answer.isSigned && contradiction == nil
        self.isFinal = isFinal
        special = contradiction.map { .contradiction($0) } ?? block.map { .block($0) }
        self.keptAt = keptAt
    }

    /// The text of the block that the answer is; nil: it is none.
    package var block: String? {
        if case .block(let text)? = special { text } else { nil }
    }

    /// How the answer contradicts the rule for its name; nil if it does not.
    package var contradiction: Contradiction? {
        if case .contradiction(let contradiction)? = special { contradiction } else { nil }
    }

    /// The addresses of the answer as received, the filtered ones last.
    package var allAddresses: [Address] { addresses + filtered }

    func isLate(_ now: Instant) -> Bool { now - answeredAt > Bounds.recentAnswerAge }

    func isAnswer(_ question: Question, from source: Source) -> Bool {
        self.source == source && self.question == question
    }
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
    package let question: Question
    package let cause: Cause
    package let failedAt: Instant
}
