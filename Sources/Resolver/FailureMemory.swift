// Questions that no upstream could answer, and until when they are not asked again (RFC 9520): a name that fails must
// not cost every client the full wait, nor the upstreams a request each time. Never a word about good answers: those
// stay.

import DNSWire

struct FailureMemory {
    struct Failure: Equatable {
        let reason: LookupFailure
        fileprivate(set) var until: Instant
        /// The same where an expired answer stands in.
        fileprivate(set) var recheckAt: Instant
        /// Without an answer in between.
        fileprivate let times: Int
        /// A provider has recovered since the first of these failures.
        fileprivate var isExcused = false
    }

    private var failures: [Question: Failure] = [:]
    /// The same questions, the oldest first; those forgotten meanwhile leave when it is their turn.
    private var order: [Question] = []
    /// Those among them that failed since a provider last recovered: a flapping provider must not cost a walk through
    /// all of them each time.
    private var unexcused: [Question] = []

    /// Nil when the question may be asked.
    ///
    /// - Parameter hasExpired: there is an expired answer to give instead.
    func failure(of question: Question, hasExpired: Bool, now: Instant) -> Failure? {
        failures[question].flatMap { (hasExpired ? $0.recheckAt : $0.until) > now ? $0 : nil }
    }

    /// - Parameter recheck: how long there is an expired answer to give instead; nil: there is none, and the time
    ///   doubles from 5 to 30 s with each failure in a row.
    /// - Returns: when the question may be asked again.
    mutating func failed(_ question: Question, _ reason: LookupFailure, recheck: Duration?, now: Instant) -> Instant {
        let earlier = failures[question]
        let isInARow = earlier.map { now - $0.until < Bounds.failureCeiling } ?? false
        let times = isInARow ? (earlier?.times ?? 0) + 1 : 1
        let pause = min(Bounds.failureFloor * (1 << min(times - 1, 10)), Bounds.failureCeiling)
        let recheckAt = now + (recheck ?? pause)
        let isExcused = isInARow && earlier?.isExcused == true
        failures[question] = Failure(
            reason: reason, until: now + pause, recheckAt: recheckAt, times: times, isExcused: isExcused)
        if earlier == nil { enter(question) }
        if !isExcused, earlier?.isExcused != false { unexcused.append(question) }
        return recheckAt
    }

    mutating func answered(_ question: Question) { failures[question] = nil }

    mutating func forget(_ scope: QuestionScope) {
        for question in order where scope.contains(question) { failures[question] = nil }
    }

    /// A provider that had failed has answered a question: what failed is worth asking again at once. But only once
    /// in a row: what fails all the same is at fault itself, and the provider recovers from it with each other
    /// question.
    ///
    /// - Returns: what may be asked now, the oldest first.
    mutating func providerRecovered(now: Instant) -> [Question] {
        defer { unexcused = [] }
        return unexcused.filter { question in
            guard let failure = failures[question], !failure.isExcused else { return false }
            failures[question]?.until = min(failure.until, now)
            failures[question]?.recheckAt = min(failure.recheckAt, now)
            failures[question]?.isExcused = true
            return true
        }
    }

    /// - Returns: what was remembered, the oldest first.
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
        // A quarter at once, so that moving the rest is rare.
        let leaving = order.prefix(Bounds.maxFailures / 4)
        for question in leaving { failures[question] = nil }
        order.removeFirst(leaving.count)
        unexcused.removeAll { failures[$0] == nil }
    }
}
