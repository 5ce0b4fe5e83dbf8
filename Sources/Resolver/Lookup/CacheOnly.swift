// Queries with RD=0 (RFC 1035 section 4.1.1): the client asks for what is known, so no upstream is asked.

import DNSWire

extension Resolver {
    /// Replies with local knowledge or the expired answer; the cache had no fresh one. Otherwise the query is refused.
    /// A query in vain is no demand.
    mutating func askedCacheOnly(
        _ question: Question, _ waiter: Waiter, _ aged: AgedAnswer?, _ preferred: AgedAnswer?, now: Instant
    ) {
        let policy = routing.policy.of(question.name)
        if let answer = ownAnswer(question, policy, preferred, now: now) {
            state.actions.append(.reply(waiter, answer, .local))
            return
        }
        let expired = aged.flatMap { policy.usable($0, now: now) }.flatMap { state.arranged($0, question, now: now) }
        if let expired {
            state.actions.append(.replyExpired(waiter, expired.ofCacheOnly, .cacheOnly))
        } else {
            state.actions.append(.fail(waiter, .notInCache, .refused))
        }
    }
}

extension ExpiredAnswer {
    fileprivate var ofCacheOnly: ExpiredAnswer {
        ExpiredAnswer(
            answer: answer, extendedError: extendedError.ofCacheOnly, usableUntil: usableUntil, origin: origin)
    }
}
