// An hour on the virtual clock with six providers, one of each kind that the audit has to tell apart. Each provider
// gives other addresses of a name, as content networks do.

import DNSWire
import TestSupport

@testable import Resolver

struct AuditWorld {
    /// The kinds of providers, in the order in which the audit should rank them.
    enum Kind: CaseIterable {
        /// One name's server has a broken certificate at the address that this provider gives.
        case honest
        case dear
        /// Takes 30 % longer.
        case slow
        /// Gives dead addresses for a fifth of the names, and TTL 0 for another fifth.
        case expired
        /// Says that a tenth of the names do not exist.
        case denies
        /// Gives addresses of another server for 5 % of the names.
        case forges
    }

    /// The kinds by the provider's number.
    let kinds: [Kind]
    private(set) var resolver: Resolver
    /// Questions to providers.
    private(set) var requests = 0
    private let areCompared: Bool
    private var cache = SimulatedCache()
    private var random: SeededRandom
    private(set) var now = Instant.testStart
    private var waiters: UInt64 = 0
    private var coming: [(at: Instant, event: Event, id: FetchID?)] = []
    private var names: [Name] = []

    private static let nameCount = 200
    private static let ttlSeconds: UInt32 = 60
    private static let queries = 9000
    private static let pauseMilliseconds = 400

    /// - Parameter areCompared: comparison questions are allowed, except to the dear provider.
    init(seed: UInt64, areCompared: Bool = true) throws {
        random = SeededRandom(seed: seed)
        resolver = Resolver(seed: seed)
        self.areCompared = areCompared
        kinds = Kind.allCases.shuffled(using: &random)
        for number in 0..<AuditWorld.nameCount {
            guard let name = Name("www.n\(number)s\(seed).example") else {
                throw SimulationAccount.Broken(description: "name \(number)")
            }
            names.append(name)
        }
    }

    mutating func run() throws {
        let providers = kinds.enumerated().map { number, kind in
            ProviderTraits(
                id: RankedID(number), types: .addresses, price: kind == .dear ? 1 : nil,
                mayCompare: areCompared && kind != .dear)
        }
        var policy = Policy()
        policy.probes.isEnabled = true
        handle(.policyChanged(policy))
        handle(.upstreamsChanged(providers: providers, hasSystem: true))
        for _ in 0..<AuditWorld.queries {
            try advance(to: now + .milliseconds(Int.random(in: 0...2 * AuditWorld.pauseMilliseconds, using: &random)))
            ask(Question(names[Int.random(in: 0..<names.count, using: &random)], .a))
        }
    }

    /// The kinds of the providers in the order of the audit.
    var ranked: [Kind] { resolver.audit(now: now).compactMap { $0.id.map { kinds[$0.number] } } }

    var comparisons: Int { kinds.indices.reduce(0) { $0 + resolver.state.ranking.audit.comparisons(RankedID($1)) } }

    private mutating func ask(_ question: Question) {
        switch cache.ask(question, now: now) {
        case .fresh(let hit):
            if hit.isAwaited { handle(.servedAgain(question)) }
            if hit.isFirstDue { handle(.prefetchDue(question)) }
        case .none:
            waiters += 1
            handle(.asked(question, Waiter(waiters)))
        }
    }

    private mutating func advance(to target: Instant) throws {
        while true {
            // The deadline is read once, because a debug build copies the resolver for it.
            let deadline = resolver.nextDeadline
            guard let next = Instant.earliest(deadline, coming.last?.at), next <= target else { break }
            now = max(now, next)
            if let deadline, deadline <= now {
                handle(.timePassed)
            } else if let last = coming.popLast() {
                handle(last.event)
            }
        }
        now = target
    }

    // MARK: upstreams

    private mutating func fetch(_ id: FetchID, _ question: Question, _ upstream: Upstream) {
        guard case .provider(let provider) = upstream else {
            return come(.fetchFinished(id, .failure(.refused)), id, after: 5)
        }
        requests += 1
        var time = Double.random(in: 30...50, using: &random)
        if Int.random(in: 0..<20, using: &random) == 0 { time *= 3 }
        if kinds[provider.number] == .slow { time *= 1.3 }
        come(.fetchFinished(id, .success(answer(question, provider.number))), id, after: time)
    }

    private func answer(_ question: Question, _ provider: Int) -> Answer {
        let place = names.firstIndex(of: question.name) ?? 0
        var (network, ttl) = (UInt32(0x14), AuditWorld.ttlSeconds)
        switch kinds[provider] {
        case .honest: if place == 7 { network = 0x15 }
        case .forges: if place % 20 == 3 { network = 0x15 }
        case .denies: if place % 10 == 6 { return Answer(negative: .noSuchName, ttlSeconds: ttl) }
        case .expired:
            if place % 5 == 1 { network = 0x16 }
            if place % 5 == 4 { ttl = 0 }
        case .dear, .slow: break
        }
        let address = Address.v4(network << 24 | UInt32(place) << 12 | UInt32(provider) << 8 | 1)
        return Answer(records: [ResourceRecord(owner: question.name, address: address, ttlSeconds: ttl)])
    }

    private mutating func probe(_ id: ProbeID, _ target: ProbeTarget) {
        guard case .v4(let value) = target.address else { return }
        let verdicts: [UInt32: Verdict] = [0x14: .verified, 0x15: .nameMismatch, 0x16: .timeout]
        var result = ProbeResult(verdicts[value >> 24] ?? .refused)
        if !result.verdict.isDead { result.connectTime = .milliseconds(15) }
        if result.verdict == .verified { result.handshakeTime = .milliseconds(30) }
        come(.probeFinished(id, result), nil, after: result.verdict.isDead ? 2000 : 45)
    }

    private mutating func come(_ event: Event, _ id: FetchID?, after milliseconds: Double) {
        let at = now + .milliseconds(milliseconds)
        coming.insert((at, event, id), at: coming.lastIndex { $0.at > at }.map { $0 + 1 } ?? 0)
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
        case .shadow(let id, let question, let provider): fetch(id, question, .provider(provider))
        case .abandon(let id): coming.removeAll { $0.id == id }
        case .store, .rearrange, .remove, .withdraw, .awaitAsk: cache.carryOut(action, now: now)
        case .probe(let id, let target): probe(id, target)
        case .reply, .replyExpired, .fail, .probeNews, .forged, .contradicted, .portal, .doubt: break
        }
    }
}
