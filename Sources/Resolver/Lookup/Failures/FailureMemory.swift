// Negative cache of resolution failures (RFC 9520): a failing name must not cost every client the full wait, nor the
// upstreams a request each time. Cached answers are not affected.

package import DNSWire

/// A question whose lookup failed.
package struct FailedQuestion: Equatable, Sendable {
    package let question: Question
    package let reason: ExtendedError
    package let failedAt: Instant
    /// Consecutive failures without an answer.
    package let times: Int
    /// The question was answered after the failure.
    package fileprivate(set) var isOver = false
}

struct FailureMemory {
    struct Failure: Equatable {
        let reason: LookupFailure
        fileprivate(set) var until: Instant
        /// When the question may be asked again if an expired answer is served instead.
        fileprivate(set) var recheckAt: Instant
        /// Consecutive failures without an answer.
        fileprivate let times: Int
        /// The recovery of a provider that ended the pause, since the first of these failures.
        fileprivate var excusedAt: Instant?
    }

    private var failures: [Question: Failure] = [:]
    /// The failed questions, the oldest first. Forgotten ones are removed when their turn comes.
    private var order: [Question] = []
    /// Questions that failed since a provider last recovered. A flapping provider must not cause a scan of all
    /// questions each time.
    private var unexcused: [Question] = []
    private var recoveredAt: Instant?
    /// The latest failures of clients' questions, also of questions that were answered since. The latest last.
    private var latest: [FailedQuestion] = []

    /// Returns the remembered failure; nil if the question may be asked.
    ///
    /// - Parameter hasExpired: an expired answer can be served instead.
    func failure(of question: Question, hasExpired: Bool, now: Instant) -> Failure? {
        // A look-up in an empty table hashes the name, too.
        failures.isEmpty ? nil : failures[question].flatMap { (hasExpired ? $0.recheckAt : $0.until) > now ? $0 : nil }
    }

    /// - Parameters:
    ///   - startedAt: when the lookup began. If a provider has recovered since, the failure is one of the outage.
    ///   - isRefresh: no client waited, so operators do not see it among the latest failures.
    ///   - recheck: time for which an expired answer is served instead; nil: there is none, and the pause doubles from
    ///     5 to 30 s with each consecutive failure. A refresh waits for the shorter of both.
    /// - Returns: when the question may be asked again.
    mutating func failed(
        _ question: Question, _ reason: LookupFailure, startedAt: Instant, isRefresh: Bool = false, recheck: Duration?,
        now: Instant
    ) -> Instant {
        let earlier = failures[question]
        let isInARow = earlier.map { now - $0.until < Bounds.failureCeiling } ?? false
        let times = isInARow ? (earlier?.times ?? 0) + 1 : 1
        if !isRefresh {
            note(FailedQuestion(question: question, reason: reason.extendedError, failedAt: now, times: times))
        }
        let pause = min(Bounds.failureFloor * (1 << min(times - 1, 10)), Bounds.failureCeiling)
        let recheckAt = now + (recheck.map { isRefresh ? min($0, pause) : $0 } ?? pause)
        let excusedAt = isInARow ? earlier?.excusedAt : nil
        if earlier == nil { enter(question) }
        if let recovery = excusedAt ?? recoveredAt, startedAt < recovery {
            failures[question] = Failure(reason: reason, until: now, recheckAt: now, times: times, excusedAt: recovery)
            return now
        }
        failures[question] = Failure(
            reason: reason, until: now + pause, recheckAt: recheckAt, times: times, excusedAt: excusedAt)
        if excusedAt == nil, earlier == nil || earlier?.excusedAt != nil { unexcused.append(question) }
        return recheckAt
    }

    /// Records that a refresh was put off, as no provider replies. Until the returned time, an expired answer is served
    /// at once. A question without an expired answer may be asked.
    ///
    /// - Returns: when the question should be asked, unless a provider recovers before.
    mutating func deferred(_ question: Question, now: Instant) -> Instant {
        let earlier = failures[question]
        if earlier == nil { enter(question) }
        let recheckAt = now + Bounds.trialSpacing
        failures[question] = Failure(
            reason: earlier?.reason ?? LookupFailure(.networkError), until: now, recheckAt: recheckAt,
            times: earlier?.times ?? 0, excusedAt: nil)
        if earlier == nil || earlier?.excusedAt != nil { unexcused.append(question) }
        return recheckAt
    }

    /// The latest failures, the latest first.
    var latestFailures: [FailedQuestion] { latest.reversed() }

    private mutating func note(_ failed: FailedQuestion) {
        latest.removeAll { $0.question == failed.question }
        latest.append(failed)
        if latest.count > Bounds.maxShownFailures { latest.removeFirst() }
    }

    mutating func answered(_ question: Question) {
        if !failures.isEmpty { failures[question] = nil }
        if let index = latest.firstIndex(where: { $0.question == question }) { latest[index].isOver = true }
    }

    mutating func forget(_ scope: QuestionScope) {
        for question in order where scope.contains(question) { failures[question] = nil }
    }

    /// Allows failed questions to be asked again at once after a provider recovers, but only once in a row. A name that
    /// fails again is broken itself, and the provider recovers with every other question.
    ///
    /// - Returns: the questions that may be asked now, the oldest first.
    mutating func providerRecovered(now: Instant) -> [Question] {
        defer { unexcused = [] }
        recoveredAt = now
        return unexcused.filter { question in
            guard let failure = failures[question], failure.excusedAt == nil else { return false }
            failures[question]?.until = min(failure.until, now)
            failures[question]?.recheckAt = min(failure.recheckAt, now)
            failures[question]?.excusedAt = now
            return true
        }
    }

    /// - Returns: the remembered questions, the oldest first.
    mutating func removeAll() -> [Question] {
        let remembered = order.filter { failures[$0] != nil }
        failures = [:]
        order = []
        unexcused = []
        return remembered
    }

    private mutating func enter(_ question: Question) {
        order.append(question)
        guard order.count > Bounds.maxFailures else { return }
        // Removes a quarter at once, so that the array is rarely shifted.
        let leaving = order.prefix(Bounds.maxFailures / 4)
        for question in leaving { failures[question] = nil }
        order.removeFirst(leaving.count)
        unexcused.removeAll { failures[$0] == nil }
    }
}
