// Providers and a system resolver of which some lie, clients that repeat their questions, and probes, on a virtual
// clock. The world notes the forged addresses that clients get, and the sources that the evidence names.

import DNSWire
import TestSupport

@testable import Resolver

struct ForgeryWorld {
    private enum Coming {
        case fetch(FetchID, FetchResult)
        case probe(ProbeID, ProbeResult)
    }

    /// A reply with an address, from the cache or not.
    struct Reply {
        let question: Question
        let at: Instant
        let isForged: Bool
        /// The network seemed to change.
        let isDuringChange: Bool
    }

    /// What happens to the resolver beside the questions.
    enum Disturbance: CaseIterable {
        case nothing
        /// The network seems to change, and does not: lookups wait and begin anew.
        case networkSeemsToChange
        /// The operator removes the name from the cache.
        case flush
    }

    /// The sources that lie, each with the number of its forged address.
    var liars: [Source: UInt32] = [:]
    /// Types for which honest sources have no address.
    var absent: Set<RecordType> = []
    var ttlSeconds: UInt32 = 60
    /// Time until a provider answers, in milliseconds; the value at 0 is the first provider's.
    var latencies: [Int] = []
    /// The providers that do not reply.
    var silent: Set<Int> = []
    private(set) var resolver: Resolver
    private(set) var replies: [Reply] = []
    private(set) var failures = 0
    private(set) var evidence: [ForgeryEvidence] = []
    private(set) var fetches = 0
    private(set) var probes = 0
    /// When a verdict first showed that an address of the question's type is mismatched.
    private(set) var mismatchedAt: [Question: Instant] = [:]
    private(set) var now = Instant.testStart
    private var isChanging = false
    private var random: SeededRandom
    private var cache = ScenarioCache()
    private var coming: [(at: Instant, what: Coming)] = []
    private var questions: [Waiter: Question] = [:]
    private var nextWaiter: UInt64 = 0

    /// - Parameter providers: the number of providers.
    init(providers: Int, hasSystem: Bool = true, seed: UInt64) {
        resolver = Resolver(seed: seed)
        random = SeededRandom(seed: seed)
        latencies = (0..<providers).map { _ in 0 }
        for number in latencies.indices { latencies[number] = Int.random(in: 8...120, using: &random) }
        var policy = Policy()
        policy.probes.isEnabled = true
        let traits = (0..<providers).map { ProviderTraits(id: RankedID($0), types: .any) }
        handle(.policyChanged(policy))
        handle(.upstreamsChanged(providers: traits, hasSystem: hasSystem))
    }

    static func name(_ number: Int) -> Name { Name("www.site\(number).example") ?? .root }

    // MARK: what happens

    mutating func ask(_ question: Question) {
        guard let hit = cache.ask(question, now: now) else {
            nextWaiter += 1
            let waiter = Waiter(nextWaiter)
            questions[waiter] = question
            return handle(.asked(question, waiter))
        }
        given(hit.answer.addresses, to: question)
        if hit.isFirstWhenDue { handle(.prefetchDue(question)) }
        if hit.isAwaited { handle(.servedAgain(question)) }
    }

    mutating func disturb(_ disturbance: Disturbance, _ question: Question) {
        switch disturbance {
        case .nothing: break
        case .networkSeemsToChange:
            for news in [NetworkEvent.changing, .unchanged] {
                cache.heard(news)
                isChanging = news == .changing
                handle(.network(news))
                pass(.milliseconds(50))
            }
        case .flush:
            cache.forget(question)
            handle(.forgotten(QuestionScope(question.name, type: question.type)))
        }
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

    /// The share of domains in which the source gave no forged address, as the resolver counts it.
    func credibility(of source: Source) -> Double? {
        source == .system
            ? resolver.systemCredibility(now: now)
            : source.ranked.flatMap { resolver.estimate(of: $0, now: now)?.credibility }
    }

    private mutating func handle(_ event: Event) {
        var actions: [Action] = []
        resolver.handle(event, now: now, cache: &cache, actions: &actions)
        for action in actions { perform(action) }
    }

    private mutating func perform(_ action: Action) {
        switch action {
        case .fetch(let id, let question, let upstream, _): fetch(id, question, Source(upstream))
        case .shadow(let id, let question, let provider): fetch(id, question, .provider(provider))
        case .abandon(let id):
            coming.removeAll { if case .fetch(id, _) = $0.what { true } else { false } }
        case .store, .rearrange, .remove, .withdraw, .awaitAsk: cache.carryOut(action, now: now)
        case .reply(let waiter, let answer, _):
            if let question = questions.removeValue(forKey: waiter) { given(answer.addresses, to: question) }
        case .replyExpired(let waiter, let expired, _):
            if let question = questions.removeValue(forKey: waiter) {
                let records = (try? expired.answer.records(of: question)) ?? []
                given(records.compactMap(\.address), to: question)
            }
        case .fail(let waiter, _, _):
            failures += 1
            questions[waiter] = nil
        case .probe(let id, let target): probe(id, target)
        case .forged(let found): evidence.append(found)
        case .probeNews(.found(let target, let result)): learned(target, result.verdict)
        case .probeNews, .contradicted, .portal, .doubt: break
        }
    }

    private mutating func fetch(_ id: FetchID, _ question: Question, _ source: Source) {
        fetches += 1
        var latency = Int.random(in: 5...60, using: &random)
        if case .provider(let provider) = source {
            guard !silent.contains(provider.number) else { return }
            latency = latencies[provider.number] + Int.random(in: 0...10, using: &random)
        }
        coming.append((now + .milliseconds(latency), .fetch(id, .success(answer(question, from: source)))))
    }

    private mutating func probe(_ id: ProbeID, _ target: ProbeTarget) {
        probes += 1
        let isGenuine = !Self.isForged(target.address)
        var result = ProbeResult(isGenuine ? .verified : .nameMismatch)
        let time = Duration.milliseconds(Int.random(in: 20...150, using: &random))
        result.handshakeTime = time
        coming.append((now + time, .probe(id, result)))
    }

    private mutating func learned(_ target: ProbeTarget, _ verdict: Verdict) {
        let question = Question(target.name, target.address.recordType)
        if verdict.isMismatched { mismatchedAt[question] = mismatchedAt[question] ?? now }
    }

    private mutating func given(_ addresses: [Address], to question: Question) {
        let isForged = addresses.contains(where: Self.isForged)
        replies.append(Reply(question: question, at: now, isForged: isForged, isDuringChange: isChanging))
    }

    // MARK: answers

    private func answer(_ question: Question, from source: Source) -> Answer {
        let liar = liars[source]
        guard liar != nil || !absent.contains(question.type) else { return Answer(negative: .noData) }
        let number = liar.map { $0 | Self.forgedBit } ?? Self.number(of: question.name)
        let address =
            question.type == .a
            ? Address.v4(0x0800_0001 | number << 8)
            : .v6(high: 0x2A00_0000_0000_0000 | UInt64(number) << 8, low: 1)
        return Answer(records: [ResourceRecord(owner: question.name, address: address, ttlSeconds: ttlSeconds)])
    }

    /// Set in the numbers of forged addresses.
    private static let forgedBit: UInt32 = 0x1_0000

    static func isForged(_ address: Address) -> Bool {
        switch address {
        case .v4(let bits): bits >> 8 & forgedBit != 0
        case .v6(let high, _): high >> 8 & UInt64(forgedBit) != 0
        }
    }

    /// Each name has a network of its own, so that probes of one do not wait for those of another.
    private static func number(of name: Name) -> UInt32 {
        name.wire.reduce(5381) { $0 &* 33 &+ UInt32($1) } & 0xFFFF
    }
}
