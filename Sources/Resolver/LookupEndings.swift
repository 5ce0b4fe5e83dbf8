// How a lookup ends: who is told what, what is kept, and what is left in the air.

import DNSWire

extension Lookup {
    /// Clients get the system resolver's answer; providers that are still running may fill the cache.
    mutating func settle(with answer: Answer, now: Instant, _ around: inout Surroundings) {
        keep(answer, from: .system, isSubstitute: true, &around)
        replyToAll(answer, from: .system, &around)
        system = .settled(answer, at: now)
        isFinished = running.isEmpty
    }

    /// Nothing more will come, or not in time.
    mutating func conclude(now: Instant, _ around: inout Surroundings) {
        // Nothing proven hides nothing good: no more than a failure would.
        let isHeld = expired.map { !$0.answer.isNegative } ?? hasGoodAnswer
        if let unproven, !isHeld {
            let left = unproven.answer.aged(since: unproven.at, now: now).ttlSeconds
            let answer = policy.cache.applied(to: Answer(negative: .noData, ttlSeconds: left))
            finish(with: answer, from: unproven.source, now: now, &around)
            return
        }
        let failure = someoneFailed ? ExtendedError.networkError : .noReachableAuthority
        replyExpired(.failure, &around)
        if let fallback = policy.fallback(for: question) { replyToAll(fallback, from: .fallback, &around) }
        around.actions += waiters.map { .fail($0, failure) }
        waiters = []
        abandonAll(now: now, &around)
        self.failure = failure
        isFinished = true
    }

    mutating func finish(with answer: Answer, from source: Source, now: Instant, _ around: inout Surroundings) {
        keep(answer, from: source, isSubstitute: false, &around)
        replyToAll(answer, from: source, &around)
        abandonAll(now: now, &around)
        isFinished = true
    }

    /// TTL 0 is for those who asked, and is not kept (RFC 1035 section 3.2.1).
    private mutating func keep(_ answer: Answer, from source: Source, isSubstitute: Bool, _ around: inout Surroundings)
    {
        if answer.ttlSeconds > 0, keepsAnswers { around.actions.append(.store(question, answer, source)) }
        around.learned = Learned(
            ttlSeconds: answer.ttlSeconds, isNegative: answer.kind != .records, isSubstitute: isSubstitute)
        around.shadows.used(question, answer)
        hasLearned = true
    }

    private mutating func replyToAll(_ answer: Answer, from source: Source, _ around: inout Surroundings) {
        around.actions += waiters.map { .reply($0, answer, source) }
        waiters = []
    }

    mutating func replyExpired(_ cause: StaleCause, _ around: inout Surroundings) {
        guard let expired else { return }
        around.actions += waiters.map { .replyExpired($0, expired, cause) }
        waiters = []
    }

    private mutating func abandonAll(now: Instant, _ around: inout Surroundings) {
        for attempt in running {
            around.actions.append(.abandon(attempt.id))
            around.end(attempt.id, attempt.upstream, isHeard: false, now: now)
            if case .provider(let provider) = attempt.upstream {
                around.ranking.overtaken(provider, after: attempt.startedAt.duration(to: now))
            }
        }
        running = []
    }
}
