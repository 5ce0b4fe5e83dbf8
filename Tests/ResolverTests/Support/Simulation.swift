// A world with random faults from one seed, on a virtual clock: questions, answers, failures, silence, outages, late
// and repeated results, sleeps, changes of upstreams, files and settings. `SimulationAccount` checks the resolver's
// actions.

import DNSWire
import TestSupport

@testable import Resolver

struct Simulation {
    private(set) var resolver = Resolver(seed: 1)
    private(set) var actions: [Action] = []
    private(set) var elapsed: Duration = .zero
    private var random: SeededRandom
    private let origin: Instant
    private var providers: [ProviderTraits] = []
    private var account = SimulationAccount()
    private var cache = SimulatedCache()
    private(set) var probes = SimulatedProbes()
    private(set) var networks = SimulatedNetworks()
    private let changesNetworks: Bool
    private let hasFamilies: Bool
    private var policy: Policy
    /// The results on their way, earliest last.
    private var coming: [(at: Instant, id: FetchID, result: FetchResult)] = []
    /// The ends of the upstreams' silence.
    private var silentUntil: [Upstream: Instant] = [:]
    private var waiters: UInt64 = 0

    /// The cache's key while the network changes; nothing is stored there.
    private static let transit = NetworkID(rawValue: .max)
    private static let names = (0..<40).map { "n\($0).example" } + ["localhost", "printer", "nas.local", "x.invalid"]
    private static let types: [RecordType] = [.a, .a, .a, .aaaa, .mx]

    /// - Parameter origin: the begin of the virtual time; it is the same for compared runs.
    init(
        seed: UInt64, probing: Bool = false, changesNetworks: Bool = false, families: Bool = false,
        order: UpstreamOrder = .providersFirst, lastKnownGood: Duration = .zero, origin: Instant
    ) {
        self.changesNetworks = changesNetworks
        random = SeededRandom(seed: seed)
        self.origin = origin
        hasFamilies = families
        policy = Simulation.policy(seed: seed, hasFamilies: families)
        policy.probes.isEnabled = probing
        policy.order = order
        policy.stale.lastKnownGood = lastKnownGood
        account.lastKnownGood = lastKnownGood
        account.isSystemFirst = order == .systemFirst
    }

    private var now: Instant { origin + elapsed }

    /// The policy: n0 to n4 have rules; n2 to n4 are the names without stale, without prefetch, and with addresses of
    /// last resort. With families, n5 to n24 have one.
    private static func policy(seed: UInt64, hasFamilies: Bool) -> Policy {
        var policy = Policy()
        policy.stale.maxAgeSeconds = 600
        policy.stale.clientTimeout = .milliseconds([1800, 1800, 500, 0][Int(seed % 4)])
        var rules = (0..<5).compactMap { Name("n\($0).example") }.map { Rule(match: [$0]) }
        rules[0].terms.minTTL = .seconds(Simulation.lowestOfRule)
        rules[1].terms.staleNegative = true
        rules[2].terms.stale = false
        rules[3].terms.prefetch = false
        rules[4].terms.fallbackAddresses = [.v4(0xC000_0207)]
        let families = hasFamilies ? FamilyPolicy.allCases : []
        for number in 5..<25 where hasFamilies {
            guard let name = Name("n\(number).example") else { continue }
            var rule = Rule(match: [name])
            rule.terms.family = families[number % families.count]
            rules.append(rule)
        }
        policy.rules = RuleTable(rules)
        return policy
    }

    private static let lowestOfRule: UInt32 = 120

    /// Makes `steps` events, and then waits until nothing is in flight.
    mutating func run(steps: Int) throws {
        try handle(.policyChanged(policy))
        try changeUpstreams()
        for _ in 0..<steps {
            try advance(to: now + .milliseconds(chance(8) ? .random(in: 0...900, using: &random) : 3))
            do { try happen() } catch { throw located(error) }
        }
        policy.prefetches = false
        try handle(.policyChanged(policy))
        if !networks.isStable { try changeNetwork() }
        while resolver.lookupsInFlight > 0 || !coming.isEmpty || probes.areRunning, let next = nextInstant {
            try advance(to: max(now, next))
        }
        try account.require(resolver.probeCounts.running == 0, "probes never ended")
        try account.require(account.waiting == 0, "\(account.waiting) clients have no reply")
        try account.require(account.running.isEmpty, "\(account.running.count) fetches never ended")
        try account.require(resolver.lookupsInFlight == 0, "lookups are left")
    }

    private var nextInstant: Instant? {
        [resolver.nextDeadline, coming.last?.at, probes.next].compactMap { $0 }.min()
    }

    private func located(_ error: any Error) -> SimulationAccount.Broken {
        SimulationAccount.Broken(description: "at \(elapsed / .milliseconds(1)) ms: \(error)")
    }

    // MARK: what happens

    private mutating func happen() throws {
        switch Int.random(in: 0..<1000, using: &random) {
        case 0..<5: try changeUpstreams()
        case 5..<10:
            let highest = UInt32.random(in: 0...600, using: &random)
            policy.cache = CachePolicy(minTTLSeconds: 0, maxTTLSeconds: highest, negativeMaxTTLSeconds: 9)
            policy.prefetches = !chance(4)
            try handle(.policyChanged(policy))
        case 10..<15:
            let line = "192.0.2.1 n\(Int.random(in: 0..<40, using: &random)).example\n"
            let hosts = HostsFiles([HostsTable(parsing: Array(line.utf8))])
            account.hostsChanged(hosts)
            cache.remove { hosts.speaks(of: $0) }
            try handle(.hostsChanged(hosts))
        case 15..<30:
            if let id = account.spent.randomElement(using: &random) { try handle(.fetchFinished(id, .failure(.reset))) }
        case 30:
            // The burst has more questions than the limit of lookups.
            for number in 0..<1100 { try ask("burst\(number).example", .a) }
        case 31..<36: try remember()
        case 36..<45: silence()
        case 45:
            guard let provider = providers.randomElement(using: &random)?.id else { return }
            account.reset(provider)
            try handle(.providerReset(provider.provider))
        case 46..<50: try advance(to: now + .seconds(chance(3) ? .random(in: 0...900, using: &random) : 20))
        case 50..<52: sleep()
        case 52..<80 where changesNetworks: try changeNetwork()
        default: try ask(Simulation.names.randomElement(using: &random) ?? "", .a)
        }
    }

    private mutating func ask(_ name: String, _ type: RecordType) throws {
        let type = chance(2) ? type : Simulation.types.randomElement(using: &random) ?? type
        let question = try question(name, type)
        switch cache.ask(question, now: now) {
        case .fresh(let hit):
            try account.given(question, hit.answer, ttlSeconds: hit.ttlSeconds, nil, now: now)
            try probes.check(question, hit.answer)
            if changesNetworks { try networks.check(question, hit.answer) }
            try checkFamily(question, hit.answer)
            if hit.isFirstDue { try handle(.prefetchDue(question)) }
            if hit.isAwaited { try handle(.servedAgain(question)) }
        case .none(let expired):
            waiters += 1
            account.asked(question, Waiter(waiters), expired: expired, now: now)
            try handle(.asked(question, Waiter(waiters)))
        }
    }

    /// Checks the rule of the address family: the cache holds no answer of an excluded family, and no address beside a
    /// preferred one. Exempt are preferred addresses that probes may have found dead, and answers of the system
    /// resolver beside a provider's.
    private func checkFamily(_ question: Question, _ answer: Answer) throws {
        switch policy.of(question.name).treatment(of: question.type) {
        case .ordinary: break
        case .excluded: throw SimulationAccount.Broken(description: "\(question) is answered against its rule")
        case .yielding:
            guard answer.kind == .records, !policy.probes.isEnabled, let preferred = question.otherFamily else {
                return
            }
            let limits = Freshness.Limits(maxAgeSeconds: 0)
            let isProviders = cache.known(question, within: limits, now: now)?.sourceRank == .provider
            let hasPreferred = cache.known(preferred, within: limits, now: now).map {
                !$0.answer.isNegative && !(isProviders && $0.sourceRank == .system)
            }
            try account.require(hasPreferred != true, "\(question) has an answer beside the preferred one")
        }
    }

    private func question(_ name: String, _ type: RecordType) throws -> Question {
        guard let name = Name(name) else { throw SimulationAccount.Broken(description: "\(name) is no name") }
        return Question(name, type)
    }

    /// Makes an operator's order, or restores answers of an earlier run.
    private mutating func remember() throws {
        let questions = try Simulation.names.filter { _ in chance(4) }.map { try question($0, .a) }
        switch Int.random(in: 0..<4, using: &random) {
        case 0: try handle(.requested(questions))
        case 1:
            for question in questions {
                // The daemon flushes the cache as well. Runs without probes leave it, as when their seeds failed.
                if policy.probes.isEnabled { cache.remove(question) }
                try handle(.forgotten(QuestionScope(question.name, type: .a)))
            }
        case 2:
            cache.removeAll()
            try handle(.forgotten(.everything))
        default:
            let answers = questions.map {
                RestoredAnswer(
                    $0, demandPerSecond: .random(in: 0...1, using: &random), lifetimeSeconds: 60,
                    expiresAt: now + .seconds(.random(in: -60...60, using: &random)), isNegative: chance(4))
            }
            try handle(.restored(answers))
        }
    }

    private mutating func changeNetwork() throws {
        let news = networks.next(providers.map(\.id), &random)
        switch news {
        case .changed(let key):
            cache.change(to: key)
            try answerFromCache()
            account.networkChanged()
        case .forgotten(let key):
            cache.forget(key)
            probes.forget(key)
        case .unreachable(let providers): account.setUnreachable(providers)
        case .changing:
            cache.change(to: Simulation.transit)
            account.networkChanged()
        case .unchanged:
            cache.change(to: NetworkID(rawValue: networks.present))
            try answerFromCache()
            account.networkUnchanged()
        }
        try handle(.network(news))
        if case .changed(let key) = news { probes.cameBack(key, knowing: resolver.judgedNames) }
    }

    /// Reports the waiting clients that another part of the cache can answer.
    private mutating func answerFromCache() throws {
        let waiting = account.waitingQuestions.filter {
            if case .fresh = cache.ask($0.value, now: now) { true } else { false }
        }
        try handle(.answeredFromCache(account.answeredFromCache(waiting.map(\.key))))
    }

    private mutating func sleep() {
        let slept = Duration.seconds(Int.random(in: 1...3600, using: &random))
        elapsed += slept
        account.slept += slept
    }

    /// Silences some upstreams, and sometimes all.
    private mutating func silence() {
        let until = now + .milliseconds(Int.random(in: 0...20_000, using: &random))
        let all = chance(3)
        for upstream in providers.map({ Upstream($0.id) }) + [.system] where all || chance(3) {
            silentUntil[upstream] = until
        }
    }

    /// The traits of a provider: number 6 is paid by the question, number 7 is a shadow.
    private static func traits(_ number: Int) -> ProviderTraits {
        let kinds: [ProviderTraits.Types] = [.a, .addresses, .any]
        return ProviderTraits(
            id: RankedID(number), types: kinds[number % kinds.count], budgetPerSecond: 5,
            questionsPerSecond: number == 6 ? 3 : nil, shadowShare: number == 7 ? 0.5 : nil)
    }

    private mutating func changeUpstreams() throws {
        providers = (0..<8).filter { _ in Bool.random(using: &random) }.map(Simulation.traits)
        let hasSystem = !chance(4)
        account.upstreamsChanged(providers, hasSystem: hasSystem)
        try handle(.upstreamsChanged(providers: providers, hasSystem: hasSystem))
    }

    /// Handles every deadline and every result until `target` at its instant.
    private mutating func advance(to target: Instant) throws {
        var turns = 0
        while let next = nextInstant, next <= target {
            let isSoonest = next > now
            turns = isSoonest ? 0 : turns + 1
            if isSoonest { elapsed = next - origin }
            do {
                try account.require(turns < Simulation.mostTurns, "no end of deadlines")
                try turn()
            } catch { throw located(error) }
        }
        elapsed = max(elapsed, target - origin)
    }

    /// Handles one event: a deadline before a result, as the daemon's loop does.
    private mutating func turn() throws {
        if let deadline = resolver.nextDeadline, deadline <= now { return try handle(.timePassed) }
        if let probe = probes.takeNext(now: now) {
            account.probeEnded()
            return try handle(.probeFinished(probe.id, probe.result))
        }
        guard let result = coming.popLast() else { return }
        var answer: Answer?
        if case .notServed = result.result { account.refused(result.id) }
        switch result.result {
        case .success(let said): answer = said
        case .failure(.throttled) where chance(2):
            if let ranked = account.provider(of: result.id), let provider = ranked.provider {
                let pause = Duration.seconds(Int.random(in: 1...30, using: &random))
                account.throttled(ranked, until: now + min(pause, Bounds.throttleCeiling))
                try handle(.throttled(provider, for: pause))
            }
        case .nameFailed, .notServed, .omitted, .failure(.timeout): account.reached(result.id)
        case .failure(.overload):
            account.reached(result.id)
            account.foundNoPlace(result.id)
        case .failure: break
        }
        switch result.result {
        case .success, .nameFailed, .notServed, .omitted: account.replied(result.id, now: now)
        case .failure: break
        }
        let lowest = Simulation.lowest(account.running[result.id]?.question)
        account.delivered(result.id, answer, lowest: lowest, now: now)
        try handle(.fetchFinished(result.id, result.result))
    }

    private static func lowest(_ question: Question?) -> UInt32 {
        question?.name == Name("n0.example") ? lowestOfRule : 0
    }

    /// The limit of events at one instant, more than can be due at once.
    private static let mostTurns = 5000

    private mutating func fate(of question: Question, _ upstream: Upstream, _ id: FetchID) -> SimulationAccount.Fate {
        guard !chance(20), (silentUntil[upstream] ?? now) <= now else { return .fails }
        let result = result(of: question, upstream)
        let longest = chance(10) ? 6000 : 300
        var first: Instant?
        for _ in 0..<(chance(10) ? 2 : 1) {
            let at = now + .milliseconds(Int.random(in: 0...longest, using: &random))
            let index = coming.lastIndex { $0.at > at }.map { $0 + 1 } ?? 0
            coming.insert((at, id, result), at: index)
            first = min(first ?? at, at)
        }
        guard case .success(let answer) = result, answer.kind != .ambiguousEmpty, let first else { return .fails }
        // A denial of a last known good answer is not believed at once.
        if policy.stale.lastKnownGood > .zero, answer.kind != .records { return .misleads }
        // An answer may go unused if its addresses are known to be dead or mismatched, or if it has none.
        if policy.probes.isEnabled, SimulatedProbes.leadsNowhere(question.name, answer) { return .misleads }
        return .answers(first)
    }

    private mutating func result(of question: Question, _ upstream: Upstream) -> FetchResult {
        let failures = FetchFailure.allCases.filter { $0 != .account }
        switch Int.random(in: 0..<20, using: &random) {
        case 0 where chance(3):
            let codes = [ResponseCode.serverFailure, .refused, .nameShouldNotExist, .notImplemented]
            return .nameFailed(NameFailure(codes.randomElement(using: &random) ?? .refused))
        // A failure that pauses a provider for an hour is rare.
        case 0..<3: return .failure(chance(50) ? .account : failures.randomElement(using: &random) ?? .timeout)
        // Nameservers always prove whether a name exists.
        case 3 where upstream != .system: return .success(Answer(negative: .ambiguousEmpty))
        case 4..<6: return .success(Answer(negative: .noSuchName, ttlSeconds: .random(in: 0...900, using: &random)))
        default:
            let ttl = UInt32.random(in: 0...(chance(2) ? 10 : 900), using: &random)
            let number = UInt32.random(in: 0x0100_0000...0x09FF_FFFF, using: &random)
            let tagged = changesNetworks ? networks.tagged(number) : number
            let isSix = hasFamilies && question.type == .aaaa
            var addresses = [isSix ? Address.v6(high: 0x2A00 << 48, low: UInt64(tagged)) : .v4(tagged)]
            if policy.probes.isEnabled {
                addresses = (0...number / 4 % 3).map {
                    SimulatedProbes.address(question, number + $0, on: networks.present)
                }
            }
            return .success(
                Answer(
                    records: addresses.map {
                        ResourceRecord(owner: question.name, address: $0, ttlSeconds: ttl)
                    }))
        }
    }

    private mutating func chance(_ oneIn: Int) -> Bool { Int.random(in: 0..<oneIn, using: &random) == 0 }

    // MARK: what is done

    private mutating func handle(_ event: Event) throws {
        let first = actions.count
        let displaced = resolver.displacedLookups
        resolver.handle(event, now: now, cache: &cache, actions: &actions)
        account.hasDisplaced = resolver.displacedLookups > displaced
        let new = actions[first...]
        for case .probeNews(.found(let target, let result)) in new { probes.ended(target, result) }
        for action in new { try perform(action) }
        let notAsked: [ProviderState?] = [.throttled, .blocked, .overBudget, .overQuota]
        account.eventEnded(
            without: providers.map(\.id).filter {
                notAsked.contains(resolver.state(of: $0, now: now)) || networks.unreachable.contains($0)
            }, now: now)
        let refreshes = resolver.refreshes
        try account.require(resolver.lookupsInFlight <= Bounds.maxLookups, "too many lookups")
        try account.require(
            refreshes.started - refreshes.succeeded - refreshes.failed <= Bounds.maxRefreshes, "too many refreshes")
    }

    private mutating func perform(_ action: Action) throws {
        switch action {
        case .fetch(let id, let question, let upstream, let purpose):
            try account.require(
                policy.of(question.name).treatment(of: question.type) != .excluded, "\(question) is asked")
            let fate = fate(of: question, upstream, id)
            try account.fetch(id, question, upstream, fate, isRefresh: purpose.isRefresh, now: now)
        case .shadow(let id, let question, let provider):
            _ = fate(of: question, .provider(provider), id)
            try account.shadow(id, question, .provider(provider), now: now)
        case .abandon(let id): try account.abandon(id)
        case .store(let question, let answer, let source, _):
            try account.require(answer.ttlSeconds > 0, "an answer for no time is stored for \(question)")
            try account.require(
                source != .local && source != .fallback && answer.kind != .ambiguousEmpty,
                "\(question): not to be stored")
            try account.given(question, answer, ttlSeconds: answer.ttlSeconds, source, now: now)
            account.stored(question, from: source)
            try probes.check(question, answer)
            if changesNetworks { try networks.checkStored(question, answer) }
            cache.store(question, answer, isSystems: source == .system, now: now)
        case .reply(let waiter, let answer, let source):
            try account.require(answer.kind != .ambiguousEmpty, "an ambiguous answer is handed out")
            let question = try account.replied(waiter, now: now)
            try account.given(question, answer, ttlSeconds: answer.ttlSeconds, source, now: now)
            guard source != .fallback, source != .local else { return }
            try probes.check(question, answer)
            if changesNetworks { try networks.check(question, answer) }
        case .replyExpired(let waiter, let expired, let cause):
            let question = try account.repliedExpired(waiter, expired.sourceRank, cause, policy.of, now: now)
            if changesNetworks { try networks.check(question, expired, cause) }
            let mayBeNegative = question.name == Name("n1.example")
            try account.require(
                !expired.answer.isNegative || mayBeNegative || cause == .denied,
                "\(question): a negative answer after its time")
        case .fail(let waiter, _, _): _ = try account.replied(waiter, now: now)
        case .portal, .doubt: break
        case .withdraw(let question, let source): cache.withdraw(question, isSystems: source == .system)
        case .remove(let question) where policy.of(question.name).treatment(of: question.type) == .yielding:
            cache.remove(question)
        case .rearrange, .remove, .awaitAsk, .probe, .probeNews, .forged, .contradicted:
            try account.require(policy.probes.isEnabled, "\(action) without probes")
            try performOfProbes(action)
        }
    }

    private mutating func performOfProbes(_ action: Action) throws {
        switch action {
        case .rearrange(let question, let answer, let source, _):
            try probes.check(question, answer, isRearranged: true)
            if changesNetworks { try networks.checkStored(question, answer) }
            cache.rearrange(question, answer, isSystems: source == .system)
        case .remove(let question): cache.remove(question)
        case .awaitAsk(let question, let source): cache.awaitHit(question, isSystems: source == .system)
        case .probe(let id, let target): try probes.begin(id, target, now: now, &random)
        default: break
        }
    }
}
