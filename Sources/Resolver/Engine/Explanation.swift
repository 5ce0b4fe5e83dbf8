// Explains the reply to a question: stored state, past decisions, and the effect of the next query. It calls the
// deciding functions themselves, and tries the next query on a copy of the resolver.

package import DNSWire

package struct Explanation: Sendable {
    package struct RememberedFailure: Equatable, Sendable {
        package let reason: ExtendedError
        package let until: Instant
    }

    /// The outcome for a client if the cache cannot answer its question now.
    package enum Prospect: Equatable, Sendable {
        /// The answer comes from local data.
        case here(Answer)
        /// The expired answer, at once.
        case expired(StaleCause, ExtendedError)
        /// A rule's addresses of last resort, at once.
        case fallback
        /// REFUSED by a rule, at once.
        case refused(ExtendedError)
        /// SERVFAIL, at once.
        case fails(ExtendedError)
        /// The system resolver's answer, which a lookup in flight has already.
        case substitute
        /// - Parameter isJoining: the lookup is in flight already.
        case waits(LookupView, isJoining: Bool)
    }

    package struct Refresh: Equatable, Sendable {
        /// The question is refreshed before each expiry, in use or not.
        package let isKept: Bool
        /// Number of queries in about the last ten minutes.
        package let recentQueries: Double
        /// The estimated rate. With few queries, an assumption determines most of it (`Demand`).
        package let demandPerSecond: Double
        /// When the question's hits are counted, and it is refreshed if it is in use; nil: not scheduled.
        package let plannedAt: Instant?
        /// The result of a count at this moment.
        package let isInUse: Bool
        /// The settings allow the refresh.
        package let isAllowed: Bool
    }

    package let question: Question
    /// The view of the clients; nil: they are in none.
    package let view: String?
    /// The rules that match, the longest name first, and their combined settings.
    package let matches: [RuleMatch]
    package let rule: Rule?
    /// The origin of a local answer; nil: upstreams are asked, or a rule's `family` leaves out the type.
    package let localOrigin: LocalOrigin?
    package let upstreams: NameUpstreams
    /// The link that announces the name's domain, present or ended; nil if none does, or if the rule names no link.
    package let link: (domain: Name, owner: LinkRoutes.Owner)?
    package let grounds: RouteGrounds
    /// The names of an account that the name belongs to; nil: none, or a rule precedes it.
    package let account: QuestionScope?
    /// When the first provider is asked again, if every one that may be asked does not serve the name; else nil.
    package let unservedUntil: Instant?
    /// The name that is switched off, the question's own or one above it.
    package let switchedOff: (name: Name, until: Instant?)?
    package let limits: Freshness.Limits
    package let stale: StalePolicy
    /// Answers of the sources, the latest last.
    package let answers: [SourceAnswer]
    package let failures: [SourceFailure]
    /// The last substitute; nil if the system resolver did not answer in place of a provider, or that is forgotten.
    package let lastSubstitute: LastSubstitute?
    /// The doubt about denials of the last known good answer; nil: there is none.
    package let doubt: Doubt?
    package let standsIn: StandInPolicy
    package let order: OrderInForce
    package let probes: ProbeTerms
    /// Addresses of the requested family.
    package let addresses: [JudgedAddress]
    package let failure: RememberedFailure?
    /// The state in the refresh plan; nil if the plan does not know the question.
    package let refresh: Refresh?
    package let prospect: Prospect
    /// The settings allow a refresh of the question, or the operator requested it.
    package let mayBeRefreshed: Bool
    /// A first cache hit near the expiry would start a lookup now.
    package let isRefreshedWhenDue: Bool
    package let isBeingRefreshed: Bool
}

extension Resolver {
    /// - Parameter cache: as for `handle`; no hits are taken.
    package func explanation(of question: Question, _ cache: some KnownAnswers, now: Instant) -> Explanation {
        let expired = cache.expired(question, within: limits(for: question), now: now)
        let view = routing.policy.view(of: question)
        let (routed, settings) = (routing.routed(question, now: now), view?.policy ?? routing.policy)
        let policy = routed.policy
        let direction = routing.direction(of: routed, state.ranking, now: now)
        let hasExpired = isOwn(expired.flatMap { policy.usable($0, now: now) })
        let failure = failures.failure(of: question, hasExpired: hasExpired, now: now)
        let refresh = refresh(of: question, policy, hits: cache.hits(question), now: now)
        return Explanation(
            question: question, view: view?.name,
            matches: settings.rules.matches(of: question.name), rule: settings.rules.rule(for: question.name),
            localOrigin: routed.localOrigin,
            upstreams: direction.upstreams, link: settings.link(of: question.name),
            grounds: direction.grounds, account: settings.account(of: question.name)?.scope,
            unservedUntil: state.ranking.unservedUntil(question, among: direction.upstreams, now: now),
            switchedOff: routing.switchedOff.covering(question.name, now: now),
            limits: policy.limits, stale: policy.stale, answers: state.verification.answers(to: question),
            failures: state.verification.failures(on: question),
            lastSubstitute: state.verification.lastSubstitute(on: question),
            doubt: state.verification.doubt(about: question),
            standsIn: policy.standsIn, order: state.orderInForce(for: question, policy, now: now),
            probes: policy.probes,
            addresses: state.verification.judged(for: question).filter { judged in
                judged.target.address.recordType == question.type
            },
            failure: failure.map {
                Explanation.RememberedFailure(
                    reason: $0.reason.extendedError, until: hasExpired ? $0.recheckAt : $0.until)
            },
            refresh: refresh, prospect: prospect(of: question, cache, now: now),
            mayBeRefreshed: policy.prefetches || refresh?.isAllowed == true,
            isRefreshedWhenDue: isRefreshedWhenDue(question, cache, now: now),
            isBeingRefreshed: number(of: question) != nil)
    }

    /// The latest questions that failed, the latest first, at most ten.
    package var latestFailures: [FailedQuestion] { failures.latestFailures }

    /// Returns how the sources last failed on the question.
    package func failures(on question: Question) -> [SourceFailure] { state.verification.failures(on: question) }

    /// Returns what the sources last answered, the latest last.
    package func answers(to question: Question) -> [SourceAnswer] { state.verification.answers(to: question) }

    private func refresh(of question: Question, _ policy: NamePolicy, hits: Int, now: Instant) -> Explanation.Refresh? {
        guard let outlook = state.plan.outlook(of: question, hits: hits, now: now) else { return nil }
        var demand = state.plan.demand(for: question)
        demand?.count(hits, now: now)
        return Explanation.Refresh(
            isKept: state.plan.isKept(question),
            recentQueries: demand?.recentQueries ?? 0, demandPerSecond: demand?.perSecond ?? 0,
            plannedAt: outlook.plannedAt,
            isInUse: outlook.prospect.isInUse || outlook.prospect.isRequested,
            isAllowed: policy.prefetches || outlook.prospect.isRequested)
    }

    private func isRefreshedWhenDue(_ question: Question, _ cache: some KnownAnswers, now: Instant) -> Bool {
        var tried = copy()
        var (cache, actions) = (ReadAnswers(cache), [Action]())
        tried.handle(.prefetchDue(question), now: now, cache: &cache, actions: &actions)
        return tried.number(of: question) != nil
    }

    private func prospect(
        of question: Question, _ cache: some KnownAnswers, now: Instant
    ) -> Explanation.Prospect {
        var tried = copy()
        var (cache, actions) = (ReadAnswers(cache), [Action]())
        tried.handle(.asked(question, Resolver.trialWaiter), now: now, cache: &cache, actions: &actions)
        for action in actions {
            switch action {
            case .reply(Resolver.trialWaiter, let answer, .local): return .here(answer)
            case .reply(Resolver.trialWaiter, _, .fallback): return .fallback
            case .reply(Resolver.trialWaiter, _, _): return .substitute
            case .replyExpired(Resolver.trialWaiter, let answer, let cause):
                return .expired(cause, answer.extendedError)
            case .fail(Resolver.trialWaiter, let reason, .refused): return .refused(reason)
            case .fail(Resolver.trialWaiter, let reason, _): return .fails(reason)
            default: continue
            }
        }
        guard let lookup = tried.number(of: question).flatMap({ tried.lookups[$0] }) else {
            return .fails(.noReachableAuthority)
        }
        return .waits(LookupView(lookup), isJoining: number(of: question) != nil)
    }

    /// The waiter of trial queries. Client numbers count from the bottom up and never reach it.
    private static let trialWaiter = Waiter(UInt64.max / 2)
}
