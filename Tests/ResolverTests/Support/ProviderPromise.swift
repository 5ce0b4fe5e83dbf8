// A world in which each good name has one provider that always answers it correctly within a second. Everything else
// fails at random: other names, other providers, the network. It finds good names that the system resolver answered.

import DNSWire
import TestSupport

@testable import Resolver

struct ProviderPromise {
    /// The behaviour of one provider for one name.
    private enum Habit: CaseIterable {
        case answers
        case hangs
        case answersLate
        case failsAtServer
        case leavesItOpen
        case failsWithStatus
        case sendsGarbage
        /// The provider replies with HTTP 429 and a pause.
        case throttles
        /// The provider replies with a filter's error and its reason.
        case blocks
        case waitsForPlace
    }

    /// The behaviour of an unreliable provider for every name during some time.
    private enum Outage: CaseIterable {
        case refusesConnections
        case isSilent
        case failsForAll
    }

    private struct Coming {
        let at: Instant
        let id: FetchID
        let result: FetchResult
        /// The provider, if the result concerns it as a whole.
        let provider: Int?
    }

    private(set) var resolver: Resolver
    /// Good names that the system resolver answered, each with its time and question.
    private(set) var broken: [String] = []
    private(set) var goodReplies = 0
    private(set) var systemReplies = 0
    /// Answers of the system resolver without a valid reason, each with its time and question.
    private(set) var unfounded: [String] = []
    private(set) var judged = 0
    private var random: SeededRandom
    private let origin: Instant
    private var now: Instant
    private var cache = SimulatedCache()
    /// The results on their way, earliest last.
    private var coming: [Coming] = []
    private var questionOfWaiter: [Waiter: (question: Question, at: Instant)] = [:]
    private var judge: SubstituteJudge
    private var outages: [Int: (outage: Outage, until: Instant)] = [:]
    /// Requests that wait for a place, by the time at which they get one.
    private var waiting: [(at: Instant, id: FetchID, question: Question, number: Int)] = []
    private var waiters: UInt64 = 0
    private let providers: [ProviderTraits]
    /// The usual latency of each provider in milliseconds.
    private let usualTimes: [Int]
    /// The number of reliable providers, whose connections never fail.
    private let reliable: Int
    /// The provider that answers each good name.
    private var reliableProvider: [Name: Int] = [:]
    private var habits: [Name: [Habit]] = [:]
    private var systemTime = 10
    private var maySubstituteUntil: Instant

    private static let domains = 12
    private static let names = 36
    /// The system resolver's address for every name.
    private static let lie = Address.v4(0xC000_02DE)
    /// The time after a network change in which the system resolver may answer: two seconds, and one in which a
    /// provider then replaces the substitute.
    private static let excuse: Duration = .seconds(3)
    /// The limit of events at one instant; more mean that a deadline stays in the past.
    private static let mostTurns = 10_000

    init(seed: UInt64, origin: Instant) {
        random = SeededRandom(seed: seed)
        resolver = Resolver(seed: seed)
        self.origin = origin
        now = origin
        maySubstituteUntil = origin
        let count = Int.random(in: 1...3, using: &random)
        providers = (0..<count).map { ProviderTraits(id: RankedID($0), types: .any) }
        reliable = Int.random(in: 1...count, using: &random)
        var times: [Int] = []
        for _ in 0..<count { times.append([5, 30, 150, 600].randomElement(using: &random) ?? 5) }
        usualTimes = times
        judge = SubstituteJudge(providers: count)
    }

    mutating func run(steps: Int) throws {
        var policy = Policy()
        policy.stale.maxAgeSeconds = 3600
        handle(.policyChanged(policy))
        handle(.upstreamsChanged(providers: providers, hasSystem: true))
        try meetNames()
        for _ in 0..<steps {
            try advance(to: now + .milliseconds(pause()))
            try happen()
        }
        try advance(to: now + .seconds(10))
    }

    /// Makes the names. Two thirds of them are good; the rest have no reliable provider.
    private mutating func meetNames() throws {
        for number in 0..<ProviderPromise.names {
            let name = try name(number)
            if number % 3 > 0 { reliableProvider[name] = Int.random(in: 0..<reliable, using: &random) }
            drawHabits(of: name)
        }
    }

    private func name(_ number: Int) throws -> Name {
        let text = "n\(number).d\(number % ProviderPromise.domains).example"
        guard let name = Name(text) else { throw SimulationAccount.Broken(description: text) }
        return name
    }

    private mutating func drawHabits(of name: Name) {
        var drawn: [Habit] = []
        for number in providers.indices {
            let habit = Habit.allCases.randomElement(using: &random) ?? .answers
            drawn.append(reliableProvider[name] == number ? .answers : habit)
        }
        habits[name] = drawn
    }

    /// The pause before the next event: mostly short, sometimes minutes in which all answers expire.
    private mutating func pause() -> Int {
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<8: 0
        case 8..<18: .random(in: 0...800, using: &random)
        case 18: .random(in: 1000...8000, using: &random)
        default: .random(in: 1000...90_000, using: &random)
        }
    }

    // MARK: what happens

    private mutating func happen() throws {
        switch Int.random(in: 0..<100, using: &random) {
        case 0: changeNetwork()
        case 1..<5: drawHabits(of: try name(Int.random(in: 0..<ProviderPromise.names, using: &random)))
        case 5: systemTime = [2, 10, 100, 1500].randomElement(using: &random) ?? 2
        case 6..<8: try flood()
        case 8..<11: beginOutage()
        default: try ask(try name(Int.random(in: 0..<ProviderPromise.names, using: &random)))
        }
    }

    private mutating func changeNetwork() {
        let key = NetworkID(rawValue: .random(in: 1...3, using: &random))
        maySubstituteUntil = now + ProviderPromise.excuse
        cache.change(to: key)
        judge.networkChanges()
        handle(.network(.changed(key)))
    }

    private mutating func beginOutage() {
        let number = Int.random(in: 0..<3, using: &random)
        guard number >= reliable, let outage = Outage.allCases.randomElement(using: &random) else { return }
        outages[number] = (outage, now + .seconds(Int.random(in: 2...40, using: &random)))
    }

    /// Asks for names that no provider answers.
    private mutating func flood() throws {
        let habit: Habit = Bool.random(using: &random) ? .hangs : .failsAtServer
        let isOneZone = Bool.random(using: &random)
        for number in 0..<Int.random(in: 1...40, using: &random) {
            let text = "f\(waiters)x\(number).\(isOneZone ? "d0" : "z\(number)").example"
            guard let name = Name(text) else { throw SimulationAccount.Broken(description: text) }
            habits[name] = providers.map { _ in habit }
            try ask(name)
        }
    }

    private mutating func ask(_ name: Name) throws {
        let question = Question(name, .a)
        switch cache.ask(question, now: now) {
        case .fresh(let hit):
            replied(question, by: hit.answer.addresses == [ProviderPromise.lie] ? .system : .provider(ProviderID(0)))
            if hit.isFirstDue { handle(.prefetchDue(question)) }
        case .none:
            waiters += 1
            questionOfWaiter[Waiter(waiters)] = (question, now)
            handle(.asked(question, Waiter(waiters)))
        }
    }

    /// Handles every deadline and every result until `target` at its instant.
    private mutating func advance(to target: Instant) throws {
        var turns = 0
        while let next = [resolver.nextDeadline, coming.last?.at, waiting.first?.at].compactMap({ $0 }).min(),
            next <= target
        {
            turns = next > now ? 0 : turns + 1
            guard turns < ProviderPromise.mostTurns else {
                throw SimulationAccount.Broken(description: "no end of deadlines")
            }
            now = max(now, next)
            if let deadline = resolver.nextDeadline, deadline <= now {
                handle(.timePassed)
            } else if let first = waiting.first, first.at <= now {
                waiting.removeFirst()
                handle(.fetchSent(first.id))
                judge.sent(first.id, now: now)
                reply(first.id, first.question, first.number)
            } else if let result = coming.popLast() {
                judge.finished(result.id, result.result, now: now)
                if case .failure(.throttled) = result.result, let number = result.provider {
                    handle(.throttled(ProviderID(number), for: .seconds(Int.random(in: 1...3600, using: &random))))
                }
                handle(.fetchFinished(result.id, result.result))
            }
        }
        now = target
    }

    // MARK: upstreams

    private mutating func fetch(_ id: FetchID, _ question: Question, _ upstream: Upstream) {
        switch upstream {
        case .system, .nameserver:
            finish(id, .success(answer(question, ProviderPromise.lie, ttl: 300)), after: systemTime)
        case .provider(let provider): fetch(id, question, provider.number)
        }
    }

    private mutating func fetch(_ id: FetchID, _ question: Question, _ number: Int) {
        judge.asked(id, question, number, now: now)
        let outage = outages[number].flatMap { now < $0.until ? $0.outage : nil }
        switch outage {
        case .refusesConnections: return finish(id, .failure(.refused), after: 5, number)
        case .isSilent: return
        case .failsForAll: return finish(id, .failure(.status), after: 20, number)
        case nil: break
        }
        if habits[question.name]?[number] == .waitsForPlace {
            handle(.fetchWaits(id, isOverdue: false))
            judge.waits(id)
            let at = now + .milliseconds(Int.random(in: 50...2000, using: &random))
            let index = waiting.firstIndex { $0.at > at } ?? waiting.endIndex
            return waiting.insert((at, id, question, number), at: index)
        }
        reply(id, question, number)
    }

    private mutating func reply(_ id: FetchID, _ question: Question, _ number: Int) {
        if number >= reliable, Int.random(in: 0..<3, using: &random) == 0 {
            let failures: [FetchFailure] = [.refused, .unreachable, .tls, .reset]
            return finish(id, .failure(failures.randomElement(using: &random) ?? .reset), after: 20)
        }
        let time = usualTimes[number] + Int.random(in: 0...300, using: &random)
        switch habits[question.name]?[number] ?? .answers {
        case .answers, .waitsForPlace:
            let ttl = UInt32.random(in: 1...120, using: &random)
            finish(id, .success(answer(question, .v4(0x0808_0000 + UInt32(number)), ttl: ttl)), after: time)
        case .hangs: break
        case .answersLate:
            let late = Int.random(in: 1200...2900, using: &random)
            finish(id, .success(answer(question, .v4(0x0808_0000 + UInt32(number)), ttl: 60)), after: late)
        case .failsAtServer: finish(id, .nameFailed(NameFailure(.serverFailure)), after: time)
        case .leavesItOpen: finish(id, .success(Answer(negative: .ambiguousEmpty)), after: time)
        case .failsWithStatus: finish(id, .failure(.status), after: time)
        case .sendsGarbage: finish(id, .failure(.garbage), after: time)
        case .throttles: finish(id, .failure(.throttled), after: time, number)
        case .blocks: finish(id, .nameFailed(NameFailure(.refused, .blockedByRule)), after: time)
        }
    }

    private func answer(_ question: Question, _ address: Address, ttl: UInt32) -> Answer {
        Answer(records: [ResourceRecord(owner: question.name, address: address, ttlSeconds: ttl)])
    }

    private mutating func finish(
        _ id: FetchID, _ result: FetchResult, after milliseconds: Int, _ provider: Int? = nil
    ) {
        let at = now + .milliseconds(milliseconds)
        let index = coming.lastIndex { $0.at > at }.map { $0 + 1 } ?? 0
        coming.insert(Coming(at: at, id: id, result: result, provider: provider), at: index)
    }

    // MARK: what is done

    private mutating func handle(_ event: Event) {
        var actions: [Action] = []
        resolver.handle(event, now: now, cache: &cache, actions: &actions)
        for action in actions { perform(action) }
    }

    private mutating func perform(_ action: Action) {
        switch action {
        case .fetch(let id, let question, let upstream, _): fetch(id, question, upstream)
        case .shadow(let id, let question, let provider): fetch(id, question, provider.number)
        case .abandon(let id):
            judge.abandoned(id, now: now)
            coming.removeAll { $0.id == id }
            waiting.removeAll { $0.id == id }
        case .store, .rearrange, .remove, .withdraw, .awaitAsk: cache.carryOut(action, now: now)
        case .reply(let waiter, _, let source): replied(waiter, by: source)
        case .replyExpired(let waiter, _, _), .fail(let waiter, _, _): questionOfWaiter[waiter] = nil
        case .probe, .probeNews, .forged, .contradicted, .portal, .doubt: break
        }
    }

    private mutating func replied(_ waiter: Waiter, by source: Source) {
        guard let (question, askedAt) = questionOfWaiter.removeValue(forKey: waiter) else { return }
        replied(question, by: source)
        guard source == .system, now > maySubstituteUntil else { return }
        judged += 1
        guard let complaint = judge.complaint(question, askedAt: askedAt, now: now) else { return }
        unfounded.append("\(question.name) at \(origin.duration(to: now) / .milliseconds(1)) ms: \(complaint)")
    }

    private mutating func replied(_ question: Question, by source: Source) {
        if source == .system { systemReplies += 1 }
        guard let reliableProvider = reliableProvider[question.name] else { return }
        goodReplies += 1
        // A judged silence counts as an outage: two names hang, and nothing shows that the provider works.
        guard source == .system, now > maySubstituteUntil else { return }
        guard !judge.isSilent(reliableProvider, for: question.name, now: now) else { return }
        broken.append("\(question.name) at \(origin.duration(to: now) / .milliseconds(1)) ms")
    }
}
