// Questions that no upstream could answer, and until when they are not asked again (RFC 9520): a name that fails must
// not cost every client the full wait, nor the upstreams a request each time. Never a word about good answers: those
// stay.

import DNSWire

struct FailureMemory {
    struct Failure: Equatable {
        let reason: ExtendedError
        let until: Instant
        /// Without an answer in between.
        fileprivate let times: Int
    }

    private var failures: [Question: Failure] = [:]
    /// The same questions, the oldest first; those forgotten meanwhile leave when it is their turn.
    private var order: [Question] = []

    /// Nil when the question may be asked.
    func failure(of question: Question, now: Instant) -> Failure? {
        failures[question].flatMap { $0.until > now ? $0 : nil }
    }

    /// - Parameter recheck: how long there is an expired answer to give instead; nil: there is none, and the time
    ///   doubles from 5 to 30 s with each failure in a row.
    /// - Returns: when the question may be asked again.
    mutating func failed(_ question: Question, _ reason: ExtendedError, recheck: Duration?, now: Instant) -> Instant {
        let earlier = failures[question]
        let isInARow = earlier.map { now - $0.until < Bounds.failureCeiling } ?? false
        let times = isInARow ? (earlier?.times ?? 0) + 1 : 1
        let pause = min(Bounds.failureFloor * (1 << min(times - 1, 10)), Bounds.failureCeiling)
        let until = now + (recheck ?? pause)
        failures[question] = Failure(reason: reason, until: until, times: times)
        if earlier == nil { enter(question) }
        return until
    }

    mutating func answered(_ question: Question) { failures[question] = nil }

    /// - Returns: what was remembered, the oldest first.
    @discardableResult mutating func removeAll() -> [Question] {
        let remembered = order.filter { failures[$0] != nil }
        failures = [:]
        order = []
        return remembered
    }

    private mutating func enter(_ question: Question) {
        order.append(question)
        guard order.count > Bounds.maxFailures else { return }
        // A quarter at once, so that moving the rest is rare.
        let leaving = order.prefix(Bounds.maxFailures / 4)
        for question in leaving { failures[question] = nil }
        order.removeFirst(leaving.count)
    }
}
