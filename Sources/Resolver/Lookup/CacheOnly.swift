// Queries with RD=0 (RFC 1035 section 4.1.1): the client asks for cached data, so no upstream is asked.

import DNSWire

extension ResolverState {
    /// Replies with the expired answer, as the cache had no fresh one. Without an expired answer, the query is refused.
    /// A refused RD=0 query does not count as demand.
    mutating func replyFromCache(_ waiter: Waiter, _ expired: ExpiredAnswer?) {
        if let expired {
            actions.append(.replyExpired(waiter, expired.ofCacheOnly, .cacheOnly))
        } else {
            actions.append(.fail(waiter, .notInCache, .refused))
        }
    }
}

extension ExpiredAnswer {
    fileprivate var ofCacheOnly: ExpiredAnswer {
        ExpiredAnswer(
            answer: answer, extendedError: extendedError.ofCacheOnly, usableUntil: usableUntil, sourceRank: sourceRank
        )
    }
}
