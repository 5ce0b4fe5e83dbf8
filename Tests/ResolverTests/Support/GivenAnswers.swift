// A cache for tests of the resolver alone, with the same answer to every question.

import DNSWire

@testable import Resolver

struct GivenAnswers: KnownAnswers {
    /// The expired answer to the question.
    var expiredAnswer: AgedAnswer?
    /// The answer to the question for the other address family.
    var otherAnswer: AgedAnswer?
    /// The number of hits between two readings.
    var hitCount = 0

    func expired(
        _ question: Question, within limits: @autoclosure () -> Freshness.Limits, now: Instant
    ) -> AgedAnswer? { expiredAnswer }
    func known(_ question: Question, within limits: Freshness.Limits, now: Instant) -> AgedAnswer? { otherAnswer }
    func hits(_ question: Question) -> Int { hitCount }
    func takeHits(_ question: Question) -> Int { hitCount }
}

extension Resolver {
    mutating func handle(
        _ event: Event, now: Instant, given: GivenAnswers = GivenAnswers(), actions: inout [Action]
    ) {
        var cache = given
        handle(event, now: now, cache: &cache, actions: &actions)
    }
}
