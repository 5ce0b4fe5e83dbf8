// One question in flight: who waits, whom we asked, what is still to be tried.
//
//     asked ──> asking providers ──────────── a provider answers ──> finished
//                 │ hedge: second provider         │
//                 │ all failed, or 1 s gone        │ (also after the clients were settled)
//                 ▼                                │
//               asking the system resolver too ────┘
//                 │ it answers; providers get until 1.8 s (both sooner while all of them are backed off)
//                 ▼
//               settled: clients have the system resolver's answer, a late provider's still goes to the cache
//
// Every path ends: each fetch by its time-out, the whole by `giveUpAt`.

import DNSWire

struct Lookup {
    let question: Question
    private var waiters: [Waiter] = []
    private(set) var isFinished = false
    /// True when the system resolver is the proper source for this name and not a substitute.
    private let isSystemName: Bool
    private let giveUpAt: Instant
    /// So long the system resolver's answer waits for a provider's.
    private let holdUntil: Instant
    /// Providers not asked yet, best first.
    private var untried: ArraySlice<ProviderID>
    /// When the first of them is asked: at once after a failure, else as a hedge.
    private var nextProviderAt: Instant?
    private var system: SystemStep
    private var running: [Attempt] = []
    /// Nothing came back from a source that cannot tell; believed when nobody knows better.
    private var unproven: (answer: Answer, source: Source)?
    /// An upstream did more than to keep silent.
    private var someoneFailed = false

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
        case answered(Answer)
        case settled(Answer)
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

    /// - Parameters:
    ///   - providers: in the order to ask them; empty for what only the system resolver can be asked.
    ///   - inTrouble: every one of them failed lately.
    init(_ question: Question, providers: [ProviderID], inTrouble: Bool, hasSystem: Bool, now: Instant) {
        self.question = question
        isSystemName = providers.isEmpty
        giveUpAt = now + Bounds.answerWithin
        holdUntil = now + (inTrouble ? Bounds.systemPatienceInTrouble : Bounds.systemPatience)
        untried = providers.prefix(Bounds.maxProviderAttempts)
        nextProviderAt = now
        let systemAt = now + (inTrouble ? Bounds.systemHedgeInTrouble : Bounds.systemHedge)
        system = hasSystem ? .waiting(until: systemAt) : .absent
    }

    var nextDeadline: Instant {
        let firstTimeout = running.map(\.until).min() ?? giveUpAt
        let systemAt: Instant
        switch system {
        case .settled: return firstTimeout
        case .waiting(let until): systemAt = until
        case .answered: systemAt = holdUntil
        case .absent, .running, .failed: systemAt = giveUpAt
        }
        return min(giveUpAt, firstTimeout, systemAt, nextProviderAt ?? giveUpAt)
    }

    // MARK: what happens

    mutating func start(now: Instant, _ around: inout Surroundings) {
        proceed(now: now, &around)
    }

    mutating func join(_ waiter: Waiter, _ around: inout Surroundings) {
        if case .settled(let answer) = system {
            around.actions.append(.reply(waiter, answer, .system))
        } else if waiters.count < Bounds.maxWaiters {
            waiters.append(waiter)
        } else {
            around.actions.append(.fail(waiter, .notReady))
        }
    }

    mutating func fetchFinished(
        _ id: FetchID, _ result: Result<Answer, FetchFailure>, now: Instant, _ around: inout Surroundings
    ) {
        guard let index = running.firstIndex(where: { $0.id == id }) else { return }
        let attempt = running.remove(at: index)
        around.ended.append(id)
        switch result {
        case .success(let answer): answered(attempt, answer, now: now, &around)
        case .failure(let failure): failed(attempt, failure, now: now, &around)
        }
        proceed(now: now, &around)
    }

    mutating func timePassed(now: Instant, _ around: inout Surroundings) {
        for attempt in running where attempt.until <= now {
            around.actions.append(.abandon(attempt.id))
            around.ended.append(attempt.id)
            failed(attempt, .timeout, now: now, &around)
        }
        running.removeAll { $0.until <= now }
        proceed(now: now, &around)
    }

    private mutating func answered(
        _ attempt: Attempt, _ answer: Answer, now: Instant, _ around: inout Surroundings
    ) {
        switch attempt.upstream {
        case .provider(let provider):
            around.ranking.answered(provider, after: attempt.startedAt.duration(to: now))
            if answer.kind == .unprovenEmpty {
                unproven = unproven ?? (answer, .provider(provider))
                nextProviderAt = now
            } else {
                finish(with: around.policy.applied(to: answer), from: .provider(provider), now: now, &around)
            }
        case .system where isSystemName:
            finish(with: around.policy.applied(to: answer), from: .system, now: now, &around)
        case .system:
            system = .answered(around.policy.applied(to: answer).withTTL(to: Bounds.systemSubstituteTTLSeconds))
        }
    }

    private mutating func failed(
        _ attempt: Attempt, _ failure: FetchFailure, now: Instant, _ around: inout Surroundings
    ) {
        if failure != .timeout { someoneFailed = true }
        switch attempt.upstream {
        case .provider(let provider):
            if failure.isUpstreams { around.ranking.failed(provider, now: now) }
            nextProviderAt = now
        case .system: system = .failed
        }
    }

    // MARK: decisions

    /// What follows from the state alone, after every event.
    private mutating func proceed(now: Instant, _ around: inout Surroundings) {
        guard !isFinished else { return }
        if case .settled = system {
            isFinished = running.isEmpty
            return
        }
        if now < giveUpAt { askFurther(now: now, &around) }
        if case .answered(let answer) = system, providersAreDone || holdUntil <= now {
            settle(with: answer, &around)
        } else if running.isEmpty || giveUpAt <= now {
            conclude(now: now, &around)
        }
    }

    private var providersAreDone: Bool {
        untried.isEmpty && !running.contains { $0.upstream != .system }
    }

    private mutating func askFurther(now: Instant, _ around: inout Surroundings) {
        if let due = nextProviderAt, due <= now {
            nextProviderAt = nil
            untried.removeAll { !around.ranking.knows($0) }
            if let provider = untried.popFirst() {
                begin(.provider(provider), until: now + Bounds.providerTimeout, now: now, &around)
                if !untried.isEmpty { nextProviderAt = now + around.ranking.hedgeDelay(provider) }
            }
        }
        if case .waiting(let until) = system, providersAreDone || until <= now {
            system = .running
            begin(.system, until: giveUpAt, now: now, &around)
        }
    }

    /// Clients get the system resolver's answer; providers that are still running may fill the cache.
    private mutating func settle(with answer: Answer, _ around: inout Surroundings) {
        keep(answer, from: .system, &around)
        replyToAll(answer, from: .system, &around)
        system = .settled(answer)
        isFinished = running.isEmpty
    }

    /// Nothing more will come, or not in time.
    private mutating func conclude(now: Instant, _ around: inout Surroundings) {
        if let unproven {
            let answer = around.policy.applied(to: Answer(negative: .noData, ttlSeconds: unproven.answer.ttlSeconds))
            finish(with: answer, from: unproven.source, now: now, &around)
            return
        }
        around.actions += waiters.map { .fail($0, someoneFailed ? .networkError : .noReachableAuthority) }
        waiters = []
        abandonAll(now: now, &around)
        isFinished = true
    }

    private mutating func finish(with answer: Answer, from source: Source, now: Instant, _ around: inout Surroundings) {
        keep(answer, from: source, &around)
        replyToAll(answer, from: source, &around)
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
