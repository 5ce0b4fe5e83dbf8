// A day on the virtual clock with a paid account for 20 names, two public providers and 2,000 names. Counts the
// questions that the account gets, by name.

import DNSWire
import TestSupport

@testable import Resolver

struct AccountDay {
    /// The trouble of a part of the day.
    enum Trouble: CaseIterable {
        case accountFails
        case accountHangs
        case accountThrottles
        case accountForges
        case accountRefuses
        case overQuota
        case reload
        case publicFails
        case portal
        case flood
        case networkChanges
    }

    struct Figures {
        var queries = 0
        /// The number of questions to the account.
        var billed = 0
        var billedOutside: [Name: Int] = [:]
        var billedOverQuota = 0
        var publicQuestions = 0
        /// The billed questions per TTL period of the day: the mean over all names and both address families; below,
        /// the maximum.
        var perPeriod = 0.0
        var worstPerPeriod = 0.0
    }

    private(set) var figures = Figures()
    private var resolver: Resolver
    private var cache = SimulatedCache()
    private var random: SeededRandom
    private var now = Instant.testStart
    /// The time of the next query.
    private var askedAt = Instant.testStart
    private var waiters: UInt64 = 0
    /// The results on their way, earliest last.
    private var coming: [(at: Instant, id: FetchID, result: FetchResult)] = []
    private var names: [Name] = []
    private var owned: [Name: UInt32] = [:]
    private var billedOf: [Question: Int] = [:]
    private var policy = Policy()
    private var trouble: Trouble?
    private let troubles: [Trouble]

    private let lengthSeconds: Int
    /// The limit of events at one instant; more mean that a deadline stays in the past.
    private static let mostTurns = 10_000
    private static let ownedNames = 20
    private static let keptNames = 4
    private static let loopback: UInt32 = 0x7F00_0001
    private static let allNames = 2000
    private static let account = ProviderID(0)
    /// The mean interval of queries for an owned name. The other names together get a quarter as many queries.
    private static let ownedPauseSeconds = 60
    private static let troubleSeconds = 600

    /// - Parameter troubles: each lasts ten minutes; they come one after the other, with pauses of the same length.
    init(seed: UInt64, hours: Int = 24, troubles: [Trouble] = []) {
        lengthSeconds = hours * 3600
        random = SeededRandom(seed: seed)
        resolver = Resolver(seed: seed)
        self.troubles = troubles
    }

    mutating func run() throws {
        names = try (0..<AccountDay.allNames).map { try name("n\($0).d\($0 % 300).example") }
        let trees = try (0..<4).map { try name("tree\($0).paid.example") }
        var scopes = trees.map { QuestionScope($0, includesDescendants: true) }
        for number in 0..<AccountDay.ownedNames {
            let name = try number < 12 ? name("n\(number).tree\(number % 4).paid.example") : name("n\(number).example")
            if number >= 12 { scopes.append(QuestionScope(name)) }
            owned[name] = [120, 300, 600, 1200][number % 4]
            names[number] = name
        }
        policy.accounts = AccountTable([AccountNames(AccountDay.account, scopes)])
        policy.kept = Array(names.prefix(AccountDay.keptNames))
        load()
        for second in 0..<lengthSeconds { try pass(second) }
        let ratios = owned.flatMap { name, ttl in
            [Question(name, .a), Question(name, .aaaa)].map {
                Double((billedOf[$0] ?? 0) * Int(ttl)) / Double(lengthSeconds)
            }
        }
        let periods = owned.values.map { 2 * Double(lengthSeconds) / Double($0) }
        figures.perPeriod = Double(figures.billed) / periods.reduce(0, +)
        figures.worstPerPeriod = ratios.max() ?? 0
    }

    /// Loads the settings, as a start or a reload does. The account is billed, so it does not hedge.
    private mutating func load() {
        let providers = (0..<3).map {
            ProviderTraits(id: RankedID($0), types: .addresses, hasOwnNames: $0 == 0, mayHedge: $0 != 0)
        }
        handle(.upstreamsChanged(providers: providers, hasSystem: true))
        handle(.policyChanged(policy))
    }

    private func name(_ text: String) throws -> Name {
        guard let name = Name(text) else { throw SimulationAccount.Broken(description: text) }
        return name
    }

    /// Passes one second: queries for the owned names, and fewer for other names by popularity.
    private mutating func pass(_ second: Int) throws {
        setTrouble(second)
        askedAt = Instant.testStart + .seconds(second)
        for number in 0..<AccountDay.ownedNames where chance(AccountDay.ownedPauseSeconds) {
            try ask(names[number])
            guard chance(4) else { continue }
            let rank = Int(Double.random(in: 0..<1, using: &random) * Double.random(in: 0..<1, using: &random) * 1980)
            try ask(names[AccountDay.ownedNames + rank])
        }
        if trouble == .flood {
            for number in 0..<5 { try ask(name("f\(second)x\(number).flood\(number % 2).example")) }
            // The names are siblings, children and parents of the account's names.
            for text in ["paid.example", "x.n12.example", "tree4.paid.example", "xn0.example"] { try ask(name(text)) }
        }
        guard second % 60 == 0 else { return }
        try advance(to: askedAt)
        switch trouble {
        case .networkChanges: handle(.network(.changed(NetworkID(rawValue: .random(in: 1...3, using: &random)))))
        case .reload: load()
        default: break
        }
    }

    private mutating func setTrouble(_ second: Int) {
        let (turn, rest) = (second / AccountDay.troubleSeconds, second % AccountDay.troubleSeconds)
        guard rest == 0 else { return }
        if trouble == .overQuota { handle(.overQuota(AccountDay.account, until: nil)) }
        trouble = turn.isMultiple(of: 2) && !troubles.isEmpty ? troubles[turn / 2 % troubles.count] : nil
        if trouble == .overQuota {
            handle(.overQuota(AccountDay.account, until: now + .seconds(AccountDay.troubleSeconds)))
        }
    }

    private mutating func chance(_ oneIn: Int) -> Bool { Int.random(in: 0..<oneIn, using: &random) == 0 }

    /// Asks for both address families, as clients do.
    private mutating func ask(_ name: Name) throws {
        for type in [RecordType.a, .aaaa] { try ask(Question(name, type)) }
    }

    private mutating func ask(_ question: Question) throws {
        try advance(to: askedAt)
        figures.queries += 1
        switch cache.ask(question, now: now) {
        case .fresh(let hit):
            if hit.isFirstDue { handle(.prefetchDue(question)) }
        case .none:
            waiters += 1
            handle(.asked(question, Waiter(waiters)))
        }
    }

    private mutating func advance(to target: Instant) throws {
        var turns = 0
        while true {
            // The deadline is read once, because a debug build copies the resolver for it.
            let deadline = resolver.nextDeadline
            guard let next = [deadline, coming.last?.at].compactMap({ $0 }).min(), next <= target else { break }
            turns = next > now ? 0 : turns + 1
            guard turns < AccountDay.mostTurns else {
                throw SimulationAccount.Broken(description: "no end of deadlines")
            }
            now = max(now, next)
            if let deadline, deadline <= now {
                handle(.timePassed)
            } else if let result = coming.popLast() {
                handle(.fetchFinished(result.id, result.result))
            }
        }
        now = target
    }

    // MARK: upstreams

    private mutating func begin(_ id: FetchID, _ question: Question, _ upstream: Upstream) {
        let milliseconds = Int.random(in: 10...60, using: &random)
        guard case .provider(let provider) = upstream else {
            return finish(id, answer(question, ttl: 60, number: 0xC000_0200), after: 5)
        }
        if provider == AccountDay.account {
            figures.billed += 1
            billedOf[question, default: 0] += 1
            if trouble == .overQuota { figures.billedOverQuota += 1 }
            if owned[question.name] == nil { figures.billedOutside[question.name, default: 0] += 1 }
        } else {
            figures.publicQuestions += 1
        }
        switch (trouble, provider == AccountDay.account) {
        case (.accountFails, true), (.publicFails, false): finish(id, .failure(.refused), after: 1)
        case (.accountHangs, true): break
        case (.accountRefuses, true): finish(id, .notServed, after: milliseconds)
        case (.accountThrottles, true): finish(id, .failure(.throttled), after: 20)
        case (.accountForges, true):
            finish(id, answer(question, ttl: 60, number: AccountDay.loopback), after: milliseconds)
        case (.portal, _): finish(id, .failure(.tls), after: 30)
        default:
            let ttl = owned[question.name] ?? 60 + UInt32(question.name.wire.count) * 20
            finish(id, answer(question, ttl: ttl, number: 0x0808_0000 + UInt32(provider.number)), after: milliseconds)
        }
    }

    private func answer(_ question: Question, ttl: UInt32, number: UInt32) -> FetchResult {
        let isLoopback = number == AccountDay.loopback
        let v6 = Address.v6(high: isLoopback ? 0 : 0x2001_4860_4860_0000, low: isLoopback ? 1 : UInt64(number))
        let address = question.type == .a ? .v4(number) : v6
        return .success(Answer(records: [ResourceRecord(owner: question.name, address: address, ttlSeconds: ttl)]))
    }

    private mutating func finish(_ id: FetchID, _ result: FetchResult, after milliseconds: Int) {
        let at = now + .milliseconds(milliseconds)
        let index = coming.lastIndex { $0.at > at }.map { $0 + 1 } ?? 0
        coming.insert((at, id, result), at: index)
    }

    // MARK: what is done

    private mutating func handle(_ event: Event) {
        var actions: [Action] = []
        resolver.handle(event, now: now, cache: &cache, actions: &actions)
        for action in actions { perform(action) }
    }

    private mutating func perform(_ action: Action) {
        switch action {
        case .fetch(let id, let question, let upstream, _): begin(id, question, upstream)
        case .shadow(let id, let question, let provider): begin(id, question, .provider(provider))
        case .abandon(let id): coming.removeAll { $0.id == id }
        case .store, .rearrange, .remove, .withdraw, .awaitAsk: cache.carryOut(action, now: now)
        case .reply, .replyExpired, .fail, .probe, .probeNews, .forged, .contradicted, .portal, .doubt: break
        }
    }
}
