// A system resolver that is asked first, honest providers, and probes, for many names on a virtual clock. Clients
// repeat their questions. The world counts the providers' requests, and the forged addresses that clients got after a
// verdict.

import DNSWire
import TestSupport

@testable import Resolver

struct SystemFirstWorld {
    private enum Coming {
        case fetch(FetchID, FetchResult)
        case probe(ProbeID, ProbeResult)
    }

    /// Names for which the system resolver forges answers, each with a new address.
    var forged: Set<Name> = []
    /// Names whose probes never end.
    var hanging: Set<Name> = []
    /// The latency of the system resolver; nil: it does not reply.
    var systemDelay: Duration? = .milliseconds(20)
    private(set) var resolver = Resolver(seed: 1)
    /// The questions to providers, with background measurements.
    private(set) var providerQuestions: [Name: Int] = [:]
    private(set) var systemQuestions: [Name: Int] = [:]
    /// The forged addresses that clients got after the first verdict on the name.
    private(set) var forgedReplies: [Name: Int] = [:]
    private(set) var replies = 0
    private(set) var failures = 0
    private(set) var longestWait: Duration = .zero
    private(set) var now = Instant.testStart
    private var cache = ScenarioCache()
    private var coming: [(at: Instant, what: Coming)] = []
    private var askedAt: [Waiter: (question: Question, at: Instant)] = [:]
    private var forgeries: UInt32 = 0
    private var nextWaiter: UInt64 = 0

    init(order: UpstreamOrder = .systemFirst) {
        var policy = Policy()
        policy.order = order
        policy.probes.isEnabled = true
        let provider = ProviderTraits(id: RankedID(0), types: .any)
        let other = ProviderTraits(id: RankedID(1), types: .any)
        handle(.policyChanged(policy))
        handle(.upstreamsChanged(providers: [provider, other], hasSystem: true))
    }

    static func name(_ number: Int) -> Name { Name("www.site\(number).example") ?? .root }

    var allProviderQuestions: Int { providerQuestions.values.reduce(0, +) }

    mutating func ask(_ name: Name) {
        let question = Question(name, .a)
        guard let hit = cache.ask(question, now: now) else {
            nextWaiter += 1
            let waiter = Waiter(nextWaiter)
            askedAt[waiter] = (question, now)
            return handle(.asked(question, waiter))
        }
        given(hit.answer, to: question)
        if hit.isFirstWhenDue { handle(.prefetchDue(question)) }
        if hit.isAwaited { handle(.servedAgain(question)) }
    }

    mutating func pass(_ duration: Duration) {
        let end = now + duration
        while let next = [resolver.nextDeadline, coming.map(\.at).min()].compactMap({ $0 }).min(), next <= end {
            now = max(now, next)
            if let deadline = resolver.nextDeadline, deadline <= now { handle(.timePassed) }
            let due = coming.filter { $0.at <= now }
            coming.removeAll { $0.at <= now }
            for (_, what) in due {
                switch what {
                case .fetch(let id, let result): handle(.fetchFinished(id, result))
                case .probe(let id, let result): handle(.probeFinished(id, result))
                }
            }
        }
        now = end
    }

    private mutating func handle(_ event: Event) {
        var actions: [Action] = []
        resolver.handle(event, now: now, cache: &cache, actions: &actions)
        for action in actions { perform(action) }
    }

    private mutating func perform(_ action: Action) {
        switch action {
        case .fetch(let id, let question, .system, _), .fetch(let id, let question, .nameserver, _):
            systemQuestions[question.name, default: 0] += 1
            guard let systemDelay else { return }
            coming.append((now + systemDelay, .fetch(id, .success(systemAnswer(question)))))
        case .fetch(let id, let question, .provider, _), .shadow(let id, let question, _):
            providerQuestions[question.name, default: 0] += 1
            let answer = Self.answer(question, Self.genuine(question.name))
            coming.append((now + .milliseconds(30), .fetch(id, .success(answer))))
        case .abandon(let id):
            coming.removeAll { if case .fetch(id, _) = $0.what { true } else { false } }
        case .store, .rearrange, .remove, .withdraw, .awaitAsk: cache.carryOut(action, now: now)
        case .reply(let waiter, let answer, _): replied(waiter, answer)
        case .replyExpired(let waiter, _, _): replied(waiter, nil)
        case .fail(let waiter, _, _):
            failures += 1
            replied(waiter, nil)
        case .probe(let id, let target): probe(id, target)
        case .probeNews, .forged, .contradicted, .portal, .doubt: break
        }
    }

    private mutating func probe(_ id: ProbeID, _ target: ProbeTarget) {
        guard !hanging.contains(target.name) else { return }
        let isGenuine = target.address == Self.genuine(target.name)
        var result = ProbeResult(isGenuine ? .verified : .nameMismatch)
        result.handshakeTime = .milliseconds(40)
        coming.append((now + .milliseconds(40), .probe(id, result)))
    }

    private mutating func replied(_ waiter: Waiter, _ answer: Answer?) {
        guard let (question, at) = askedAt.removeValue(forKey: waiter) else { return }
        longestWait = max(longestWait, now - at)
        if let answer { given(answer, to: question) }
    }

    private mutating func given(_ answer: Answer, to question: Question) {
        replies += 1
        let isKnown = resolver.judged(question.name).contains { $0.result.verdict.isMismatched }
        if isKnown, answer.addresses != [Self.genuine(question.name)] { forgedReplies[question.name, default: 0] += 1 }
    }

    // MARK: answers

    private mutating func systemAnswer(_ question: Question) -> Answer {
        guard forged.contains(question.name) else { return Self.answer(question, Self.genuine(question.name)) }
        forgeries += 1
        return Self.answer(question, .v4(0x0A00_0000 &+ 0x1000_0000 &+ forgeries << 8))
    }

    /// Each name has a neighbourhood of its own, so that probes of one do not wait for those of another.
    static func genuine(_ name: Name) -> Address {
        .v4(0x1400_0001 | (name.wire.reduce(5381) { $0 &* 33 &+ UInt32($1) } & 0xFFFF) << 8)
    }

    private static func answer(_ question: Question, _ address: Address) -> Answer {
        Answer(records: [ResourceRecord(owner: question.name, address: address, ttlSeconds: 60)])
    }
}
