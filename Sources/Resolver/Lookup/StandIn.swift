// When the system resolver may answer in place of the providers, why it did, and for which cached answers.

package import DNSWire

/// Setting `stands-in`.
package enum StandInPolicy: String, Sendable, CaseIterable {
    /// No provider could be reached.
    case unreachable
    /// No provider had an answer, whatever the providers replied.
    case anyFailure = "any-failure"
    case never
}

/// Setting `when-used-up` of a provider: what a question does when the provider's budget or quota is used up.
package enum WhenUsedUp: String, Sendable, CaseIterable {
    /// It waits for its turn.
    case wait
    /// Another provider is asked. Without one, it waits for its turn or gets an expired answer.
    case next
    /// The system resolver may answer.
    case system
}

/// The last time that the system resolver stood in for a question.
package struct StandIn: Equatable, Sendable {
    package let reason: StandInReason
    package let at: Instant
}

/// Reason why the system resolver's answer was given in the providers' place. The raw values appear in statistics.
package enum StandInReason: String, Sendable, CaseIterable {
    /// Every provider of the name is unreachable: no connection, no TLS handshake, or no reply to any question.
    case unreachable
    /// Every provider of the name fails for every name, and failed for this one.
    case failing
    /// Every answer of a provider was disproved by a TLS handshake or by a rule.
    case disproved
    /// An account replied with nothing, which may mean that the name is not registered for it, and no other provider
    /// knows the name.
    case notServed = "not-served"
    /// A provider's budget or quota is used up, and its `when-used-up` names the system resolver.
    case usedUp = "used-up"
    /// The settings allow it after any failure (`stands-in = "any-failure"`, `order = "system-first"`).
    case setting

    var extendedError: ExtendedError {
        switch self {
        case .unreachable: .stoodIn(for: "providers unreachable")
        case .failing: .stoodIn(for: "providers fail for every name")
        case .disproved: .stoodIn(for: "providers' answers disproved")
        case .notServed: .stoodIn(for: "the name may not be registered for the account")
        case .usedUp: .stoodIn(for: "budget or quota used up")
        case .setting: .stoodIn(for: "providers failed")
        }
    }
}

extension Lookup {
    /// The gate to plain DNS: decides whether the system resolver may answer in the providers' place now.
    ///
    /// - Parameter isAsking: the question is whether to ask it, so that its answer is there in time; silence of a
    ///   provider is then suspected earlier.
    /// - Returns: why it may; nil: it may not.
    func standIn(_ ranking: UpstreamRanking, isAsking: Bool = false, now: Instant) -> StandInReason? {
        guard !failures.lacksRoom else { return nil }
        guard policy.standsIn == .unreachable, !isSystemFirst else {
            let isTime = isAsking || areProvidersDone || isHoldOver(now)
            return isTime && (isSystemFirst || policy.standsIn == .anyFailure) ? .setting : nil
        }
        guard !failures.isAboutName else { return nil }
        let isUnreached = { ranking.isUnreached($0, by: holder.parent, now) }
        var reason = StandInReason.unreachable
        // A provider without an outcome is in flight or not asked yet: see below. A repeat in flight keeps the outcome.
        for (provider, outcome) in failures.outcomes where !providers.includes(provider) {
            let isRunning = running.contains { $0.provider == provider }
            switch outcome {
            case .isAboutName, .isEmpty(mayBeUnregistered: false): return nil
            case .isEmpty: reason = .notServed
            case .noReply(let instant):
                guard isUnreached(provider) || !ranking.hasReplied(provider, since: instant) else { return nil }
            case .serviceFailed:
                guard ranking.isFailingForAll(provider, now) else { return nil }
                reason = .failing
            case .disproved where isRunning, .usedUp where isRunning: break
            case .disproved: reason = .disproved
            case .usedUp:
                guard ranking.traits(of: provider)?.whenUsedUp == .system else { return nil }
                reason = .usedUp
            }
        }
        for attempt in running {
            guard let provider = attempt.provider, !isUnreached(provider) else { continue }
            let isSilent = attempt.isSent && !ranking.hasReplied(provider, since: attempt.startedAt)
            guard isSilent, (isAsking ? silenceSuspectedAt(attempt) : silenceProvenAt(attempt)) <= now else {
                return nil
            }
        }
        for provider in providers.askedBeforeExpired {
            guard isUnreached(provider) else { return nil }
        }
        if providers.hasBlocked { reason = .failing }
        return reason
    }

    /// Whether the answer that it gave in the providers' place may be given no longer: a provider that it still waits
    /// for has replied to others since.
    func isWithdrawn(_ ranking: UpstreamRanking, now: Instant) -> Bool {
        guard case .settled(_, .some, let settledAt) = phase else { return false }
        let hasRecovered = running.contains { attempt in
            attempt.provider.map { ranking.hasReplied($0, since: settledAt) } ?? false
        }
        return hasRecovered && standIn(ranking, now: now) == nil
    }

    /// When the absence of any reply since the request proves that its provider is silent.
    private func silenceProvenAt(_ attempt: Attempt) -> Instant {
        guard attempt.startedAt > startedAt else { return holdUntil }
        // Just after a change of the network, the first answer is wanted soon.
        let isAtFirst = systemHedge == .zero && !attempt.hasWaited
        let hold = startedAt.duration(to: holdUntil)
        return max(holdUntil, attempt.startedAt + (isAtFirst ? min(hold, attempt.silentAfter) : attempt.silentAfter))
    }

    /// When the system resolver is asked, so that its answer is there when silence is proven.
    private func silenceSuspectedAt(_ attempt: Attempt) -> Instant {
        if case .waiting(let until) = system, attempt.startedAt < until || until <= startedAt { return until }
        return attempt.startedAt + min(systemHedge, Bounds.silentFloor)
    }

    /// When the system resolver may be asked because no reply has arrived; nil: no request is in flight.
    var silenceSuspicionDueAt: Instant? {
        running.lazy.filter { $0.provider != nil && $0.isSent }.map(silenceSuspectedAt).max()
    }

    /// When silence may open the gate, if no reply arrives before; nil: no request is in flight.
    var silenceDueAt: Instant? {
        var latest: Instant?
        for attempt in running where attempt.provider != nil && attempt.isSent {
            latest = max(latest ?? holdUntil, silenceProvenAt(attempt))
        }
        return latest
    }

    /// Records proven silence of providers, so that later questions need not wait for its proof.
    func noteSilence(_ ranking: inout UpstreamRanking, now: Instant) {
        for attempt in running {
            guard let provider = attempt.provider, attempt.isSent, silenceProvenAt(attempt) <= now,
                ranking.isOverdue(provider, since: attempt.startedAt, now), !ranking.isUnreached(provider, now),
                !ranking.hasReplied(provider, since: attempt.startedAt)
            else { continue }
            ranking.waitedInVain(
                provider, question.name, parent: holder.parent, of: domain, startedAt: attempt.startedAt, now: now)
        }
    }
}

extension Resolver {
    /// Applies the terms of an outage to lookups that began before the silence of their providers was known.
    mutating func noticeSilence(now: Instant) {
        guard state.ranking.hasNewSilence else { return }
        state.ranking.hasNewSilence = false
        for number in lookups.indices
        where lookups[number]?.standIn(state.ranking, isAsking: true, now: now) == .unreachable {
            change(number, now: now) { $0.shortenDeadlines(.inTrouble, now: now, &$1) }
        }
    }
}

/// Tracks cached answers of the system resolver that stand in for a provider's. They are withdrawn as soon as a
/// provider recovers.
struct Substitutes {
    private var endOf: [Question: Instant] = [:]
    /// Answers that were not tracked for want of room. They stay until they expire, after at most 30 s.
    private(set) var overflows: UInt64 = 0

    /// - Parameter end: expiry of the answer in the cache.
    mutating func stoodIn(_ question: Question, until end: Instant, now: Instant) {
        if endOf.count >= Bounds.maxSubstitutes, endOf[question] == nil {
            endOf = endOf.filter { $0.value > now }
            guard endOf.count < Bounds.maxSubstitutes else {
                overflows += 1
                return
            }
        }
        endOf[question] = end
    }

    /// Stops tracking a question that a provider or the daemon itself has answered.
    mutating func answered(_ question: Question) { if !endOf.isEmpty { endOf[question] = nil } }

    /// Takes the questions with unexpired answers, sorted by their text: the same events give the same actions.
    mutating func takeAll(now: Instant) -> [Question] {
        defer { endOf = [:] }
        guard !endOf.isEmpty else { return [] }
        return endOf.filter { $0.value > now }.map { ($0.key, "\($0.key)") }.sorted { $0.1 < $1.1 }.map(\.0)
    }

    /// Stops tracking all of them after a network change.
    mutating func removeAll() { endOf = [:] }
}
