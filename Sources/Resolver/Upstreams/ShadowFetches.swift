// Background fetches: they measure providers that are not in use, and compare their answers with those in use. Their
// answers are discarded.
//
// Invariant: at most `Bounds.maxShadowFetches` entries, with those that wait for the second answer of a comparison.

import DNSWire

struct ShadowFetches {
    struct Pending {
        let id: FetchID
        let question: Question
        let provider: ProviderID
        let holder: ShareHolder
        let startedAt: Instant
        fileprivate let timeout: Duration
        /// The provider is a shadow.
        fileprivate let isCounted: Bool
        fileprivate var isCompared: Bool
        fileprivate(set) var isRunning = true
        /// The first of the two answers, which waits for the other.
        fileprivate var given: Answer?
        fileprivate var used: (answer: Answer, source: Source)?

        /// The registrable domain of the question's name.
        var domain: Name { holder.domain }

        fileprivate var until: Instant { startedAt + (isRunning ? timeout : Bounds.shadowPatience) }
    }

    /// Two answers to a question at about the same time.
    struct Comparison {
        let question: Question
        let provider: ProviderID
        let given: Answer
        let used: Answer
        /// The source of the answer that clients got.
        let source: Source
    }

    private var pending: [Pending] = []
    private var countsOf: [ProviderID: ShadowCounts] = [:]

    var hasRoom: Bool { pending.count < Bounds.maxShadowFetches }

    /// Returns whether a fetch to the provider is running, even one from before the provider was removed and added
    /// again.
    func areAsking(_ provider: ProviderID) -> Bool { pending.contains { $0.provider == provider && $0.isRunning } }

    /// When `popDue` is due.
    var nextDeadline: Instant? { pending.lazy.map { $0.until }.min() }

    /// Returns the counts of a shadow provider; all 0 for other providers.
    func counts(of provider: ProviderID) -> ShadowCounts { countsOf[provider] ?? ShadowCounts() }

    mutating func keep(_ providers: [ProviderTraits]) {
        countsOf = countsOf.filter { known in providers.contains { $0.id == .provider(known.key) } }
    }

    /// - Parameter isCompared: a lookup asks the question, too.
    mutating func begin(
        _ id: FetchID, _ question: Question, _ provider: ProviderID, _ traits: ProviderTraits, of holder: ShareHolder,
        isCompared: Bool = true, now: Instant
    ) {
        if traits.isShadow { countsOf[provider, default: ShadowCounts()].asked += 1 }
        pending.append(
            Pending(
                id: id, question: question, provider: provider, holder: holder, startedAt: now,
                timeout: traits.timeout, isCounted: traits.isShadow, isCompared: isCompared))
    }

    /// - Returns: the fetch, with the comparison if the other answer is known; nil if it is unknown or has ended.
    mutating func finished(_ id: FetchID, _ result: FetchResult) -> (fetch: Pending, comparison: Comparison?)? {
        guard let index = pending.firstIndex(where: { $0.id == id && $0.isRunning }) else { return nil }
        let ended = pending[index]
        pending[index].isRunning = false
        switch result {
        case .success(let answer) where ended.isCompared:
            pending[index].given = answer
            return (ended, compare(index))
        case .success: pending.remove(at: index)
        case .nameFailed, .notServed, .omitted, .failure: countFailed(pending.remove(at: index))
        }
        return (ended, nil)
    }

    /// Removes a running fetch.
    ///
    /// - Returns: the fetch; nil if it is unknown or has ended before.
    mutating func drop(_ id: FetchID) -> Pending? {
        pending.firstIndex { $0.id == id && $0.isRunning }.map { pending.remove(at: $0) }
    }

    /// Removes the fetches and comparisons of the selected providers.
    ///
    /// - Returns: the running ones among them.
    mutating func drop(where isMeant: (ProviderID) -> Bool) -> [Pending] {
        let dropped = pending.filter { isMeant($0.provider) }
        pending.removeAll { isMeant($0.provider) }
        return dropped.filter(\.isRunning)
    }

    /// Records the answer that the lookup's clients and the cache got.
    mutating func used(_ question: Question, _ answer: Answer, from source: Source) -> [Comparison] {
        var comparisons: [Comparison] = []
        for index in pending.indices.reversed() where pending[index].question == question {
            guard pending[index].isCompared, pending[index].used == nil else { continue }
            pending[index].used = (answer, source)
            if let comparison = compare(index) { comparisons.append(comparison) }
        }
        return comparisons
    }

    /// Ends the comparisons of the question: its clients got an answer that no upstream gave so now.
    mutating func cannotCompare(_ question: Question) {
        pending.removeAll { !$0.isRunning && $0.question == question }
        for index in pending.indices where pending[index].question == question { pending[index].isCompared = false }
    }

    /// Removes the expired fetches and comparisons.
    ///
    /// - Returns: fetches that timed out.
    mutating func popDue(_ now: Instant) -> [Pending] {
        let due = pending.filter { $0.until <= now }
        pending.removeAll { $0.until <= now }
        let timedOut = due.filter(\.isRunning)
        for fetch in timedOut { countFailed(fetch) }
        return timedOut
    }

    private mutating func countFailed(_ fetch: Pending) {
        if fetch.isCounted { countsOf[fetch.provider, default: ShadowCounts()].failed += 1 }
    }

    private mutating func compare(_ index: Int) -> Comparison? {
        guard let given = pending[index].given, let (used, source) = pending[index].used else { return nil }
        let fetch = pending.remove(at: index)
        if fetch.isCounted {
            countsOf[fetch.provider, default: ShadowCounts()].count(given, used, of: fetch.question.type)
        }
        return Comparison(
            question: fetch.question, provider: fetch.provider, given: given, used: used, source: source)
    }
}

/// Results of the questions sent to a shadow provider. Questions that the lookup could not answer count only in
/// `asked`.
package struct ShadowCounts: Equatable, Sendable {
    package fileprivate(set) var asked: UInt64 = 0
    /// Both answers have the same records, or none.
    package fileprivate(set) var same: UInt64 = 0
    package fileprivate(set) var overlapping: UInt64 = 0
    /// The answers have no record in common, or one of them has none.
    package fileprivate(set) var different: UInt64 = 0
    package fileprivate(set) var failed: UInt64 = 0

    fileprivate mutating func count(_ given: Answer, _ used: Answer, of type: RecordType) {
        let (given, used) = (given.contents(of: type), used.contents(of: type))
        if given == used {
            same += 1
        } else if given.isDisjoint(with: used) {
            different += 1
        } else {
            overlapping += 1
        }
    }
}

extension Answer {
    fileprivate func contents(of type: RecordType) -> Set<[UInt8]> {
        Set(records.lazy.filter { $0.type == type }.map(\.data))
    }
}
