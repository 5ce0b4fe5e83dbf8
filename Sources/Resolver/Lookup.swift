// One question in flight: who waits, whom we asked, what is still to be tried.
//
//     asked ──> asking providers ──────────── a provider answers ──> finished
//                 │ hedge: second provider         │
//                 │ all failed, or 1 s gone        │ (also after the clients were settled)
//                 ▼                                │
//               asking the system resolver too ────┘
//                 │ it answers; providers get until 1.8 s
//                 ▼
//               settled: clients have the system resolver's answer, a late provider's still goes to the cache
//
// Every path ends: each fetch by its time-out, the whole by `giveUpAt`.

import DNSWire

struct Lookup {
    let question: Question
    let askedAt: Instant
    private(set) var waiters: [Waiter] = []
    /// Providers not asked yet, best first.
    private var untried: ArraySlice<ProviderID>
    private var running: [Attempt] = []
    private var hedgeAt: Instant?
    private var systemStep: SystemStep
    /// Nothing came back from a source that cannot tell; believed when nobody knows better.
    private var unproven: (answer: Answer, source: Source)?
    private var isSettled = false
    private(set) var isFinished = false
    /// True when the system resolver is the proper source for this name and not a substitute.
    private let isSystemName: Bool

    private struct Attempt {
        let id: FetchID
        let upstream: Upstream
        let startedAt: Instant
        let until: Instant
    }

    private enum SystemStep {
        case absent
        case waiting(until: Instant)
        case running
        case answered(Answer, holdUntil: Instant)
        case failed
    }

    /// What a lookup reads and writes outside itself.
    struct Surroundings {
        var ranking = UpstreamRanking()
        var policy = CachePolicy(minTTLSeconds: 0, maxTTLSeconds: 86_400, negativeMaxTTLSeconds: 600)
        var nextFetch: UInt64 = 0
        var actions: [Action] = []
        /// Fetches begun and ended by the event in hand, for the resolver's table.
        var begun: [FetchID] = []
        var ended: [FetchID] = []
    }

    /// - Parameter providers: in the order to ask them; empty for names that only the system resolver may see.
    init(_ question: Question, providers: [ProviderID], hasSystem: Bool, isSystemName: Bool, now: Instant) {
        self.question = question
        self.isSystemName = isSystemName
        askedAt = now
        untried = providers.prefix(Bounds.maxProviderAttempts)
        let systemAt = providers.isEmpty ? now : now + Bounds.systemHedge
        systemStep = hasSystem ? .waiting(until: systemAt) : .absent
    }

    private var giveUpAt: Instant { askedAt + Bounds.answerWithin }

    var nextDeadline: Instant {
        var earliest = isSettled ? nil : Optional(giveUpAt)
        let consider = { (instant: Instant?) in
            if let instant { earliest = min(instant, earliest ?? instant) }
        }
        running.forEach { consider($0.until) }
        if !isSettled {
            consider(hedgeAt)
            switch systemStep {
            case .waiting(let until): consider(until)
            case .answered(_, let holdUntil): consider(holdUntil)
            case .absent, .running, .failed: break
            }
        }
        return earliest ?? giveUpAt
    }

    // MARK: what happens

    mutating func start(now: Instant, _ around: inout Surroundings) {
        askNextProvider(now: now, &around)
        proceed(now: now, &around)
    }

    mutating func join(_ waiter: Waiter, _ around: inout Surroundings) {
        if isSettled, case .answered(let answer, _) = systemStep {
            around.actions.append(.reply(waiter, answer, .system))
        } else {
            waiters.append(waiter)
        }
    }

    mutating func fetchFinished(
        _ id: FetchID, _ result: Result<Answer, FetchFailure>, now: Instant, _ around: inout Surroundings
    ) {
        guard let index = running.firstIndex(where: { $0.id == id }) else { return }
        let attempt = running.remove(at: index)
        around.ended.append(id)
        switch (attempt.upstream, result) {
        case (.provider(let provider), .success(let answer)):
            around.ranking.answered(provider, after: attempt.startedAt.duration(to: now))
            providerAnswered(provider, answer, now: now, &around)
        case (.provider(let provider), .failure(let failure)):
            if failure.isUpstreams { around.ranking.failed(provider, now: now) }
            if !isSettled { askNextProvider(now: now, &around) }
        case (.system, .success(let answer)): systemAnswered(answer, now: now, &around)
        case (.system, .failure): systemStep = .failed
        }
        proceed(now: now, &around)
    }

    mutating func timePassed(now: Instant, _ around: inout Surroundings) {
        for attempt in running where attempt.until <= now {
            around.actions.append(.abandon(attempt.id))
            fetchFinished(attempt.id, .failure(.timeout), now: now, &around)
            if isFinished { return }
        }
        if let hedge = hedgeAt, hedge <= now, !isSettled { askNextProvider(now: now, &around) }
        proceed(now: now, &around)
    }

    // MARK: decisions

    private mutating func providerAnswered(
        _ provider: ProviderID, _ answer: Answer, now: Instant, _ around: inout Surroundings
    ) {
        guard answer.kind != .unprovenEmpty else {
            unproven = unproven ?? (answer, .provider(provider))
            if !isSettled { askNextProvider(now: now, &around) }
            return
        }
        finish(with: around.policy.applied(to: answer), from: .provider(provider), now: now, &around)
    }

    private mutating func systemAnswered(_ answer: Answer, now: Instant, _ around: inout Surroundings) {
        guard !isSystemName else {
            finish(with: around.policy.applied(to: answer), from: .system, now: now, &around)
            return
        }
        let substitute = around.policy.applied(to: answer).withTTL(to: Bounds.systemSubstituteTTLSeconds)
        systemStep = .answered(substitute, holdUntil: askedAt + Bounds.systemPatience)
    }

    /// What follows from the state alone, after every event.
    private mutating func proceed(now: Instant, _ around: inout Surroundings) {
        guard !isFinished else { return }
        let providersAreDone = !running.contains { $0.upstream != .system } && untried.isEmpty
        if case .waiting(let until) = systemStep, !isSettled, providersAreDone || until <= now {
            systemStep = .running
            begin(.system, until: giveUpAt, now: now, &around)
        }
        if case .answered(let answer, let holdUntil) = systemStep, !isSettled, providersAreDone || holdUntil <= now {
            settle(with: answer, &around)
        }
        if running.isEmpty, untried.isEmpty || isSettled {
            conclude(now: now, &around)
        } else if giveUpAt <= now, !isSettled {
            conclude(now: now, &around)
        }
    }

    /// Clients get the system resolver's answer; providers that are still running may fill the cache.
    private mutating func settle(with answer: Answer, _ around: inout Surroundings) {
        isSettled = true
        hedgeAt = nil
        keep(answer, from: .system, &around)
        replyToAll(answer, from: .system, &around)
    }

    /// Nothing more will come.
    private mutating func conclude(now: Instant, _ around: inout Surroundings) {
        if isSettled {
            isFinished = true
        } else if case .answered(let answer, _) = systemStep {
            settle(with: answer, &around)
            abandonAll(now: now, &around)
            isFinished = true
        } else if let unproven {
            let answer = around.policy.applied(to: Answer(negative: .noData, ttlSeconds: unproven.answer.ttlSeconds))
            finish(with: answer, from: unproven.source, now: now, &around)
        } else {
            let isLate = giveUpAt <= now
            around.actions += waiters.map { .fail($0, isLate ? .noReachableAuthority : .networkError) }
            waiters = []
            abandonAll(now: now, &around)
            isFinished = true
        }
    }

    private mutating func finish(with answer: Answer, from source: Source, now: Instant, _ around: inout Surroundings) {
        keep(answer, from: source, &around)
        if !isSettled { replyToAll(answer, from: source, &around) }
        abandonAll(now: now, &around)
        isFinished = true
    }

    /// TTL 0 is for those who asked, and is not kept (RFC 1035 section 3.2.1).
    private func keep(_ answer: Answer, from source: Source, _ around: inout Surroundings) {
        if answer.ttlSeconds > 0 { around.actions.append(.store(question, answer, source)) }
    }

    private mutating func replyToAll(_ answer: Answer, from source: Source, _ around: inout Surroundings) {
        around.actions += waiters.map { .reply($0, answer, source) }
        waiters = []
    }

    private mutating func askNextProvider(now: Instant, _ around: inout Surroundings) {
        hedgeAt = nil
        guard let provider = untried.popFirst() else { return }
        begin(.provider(provider), until: now + Bounds.providerTimeout, now: now, &around)
        if !untried.isEmpty { hedgeAt = now + around.ranking.hedgeDelay(provider) }
    }

    private mutating func begin(_ upstream: Upstream, until: Instant, now: Instant, _ around: inout Surroundings) {
        let id = FetchID(number: around.nextFetch)
        around.nextFetch += 1
        running.append(Attempt(id: id, upstream: upstream, startedAt: now, until: until))
        around.begun.append(id)
        around.actions.append(.fetch(id, question, upstream))
    }

    private mutating func abandonAll(now: Instant, _ around: inout Surroundings) {
        for attempt in running {
            around.actions.append(.abandon(attempt.id))
            around.ended.append(attempt.id)
            if case .provider(let provider) = attempt.upstream {
                around.ranking.overtaken(provider, after: attempt.startedAt.duration(to: now))
            }
        }
        running = []
    }
}
