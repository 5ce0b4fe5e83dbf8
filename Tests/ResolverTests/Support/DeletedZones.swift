// Two hundred names in use whose zones vanish for ten minutes, at one provider or at both, on a virtual clock. The
// world counts the queries that got a wrong answer, and the requests and probes that were spent.

import DNSWire
import Glibc
import TestSupport

@testable import Resolver

struct DeletedZones {
    /// What happens in the ten minutes.
    enum Trouble: String, CaseIterable, Sendable {
        case nothing
        /// The first provider says that the names do not exist, or have no address.
        case deniedByOne
        case deniedByBoth
        /// The same as `deniedByOne`, and the system resolver says so, too.
        case hijacked
        /// The only provider says so.
        case deniedByOnly
        /// All names move to new servers, and their zones stay.
        case moved
    }

    /// The queries during the ten minutes.
    struct Figures {
        var queries = 0
        /// Queries that got no address, or "no such name" about the other family.
        var denied = 0
        /// The same, of names without TLS.
        var queriesWithoutTLS = 0
        var deniedWithoutTLS = 0
        /// The longest time from the end of the TTL of the last true answer, or from the first lookup with a denial if
        /// it is later, until the last query with the deleted address.
        var longestFollowing: Duration = .zero
        var longestWait: Duration = .zero
        var requests = 0
        var probes = 0
        var systemRequests = 0
    }

    private enum Coming {
        case fetch(FetchID, FetchResult)
        case probe(ProbeID, ProbeResult)
    }

    private struct Site {
        let name: Name
        let ttlSeconds: UInt32
        let hasTLS: Bool
        /// The number of servers, of which each answer has one.
        let servers: UInt32
        let deniesAsNoData: Bool
    }

    private(set) var figures = Figures()
    private(set) var counts = DoubtCounts()
    private let trouble: Trouble
    private var resolver: Resolver
    private var random: SeededRandom
    private var sites: [Site] = []
    private var numbers: [Name: Int] = [:]
    private var now = Instant.testStart
    private var cache = ScenarioCache()
    private var coming: [(at: Instant, what: Coming)] = []
    private var askedAt: [Waiter: (question: Question, at: Instant)] = [:]
    private var nextWaiter: UInt64 = 0
    /// When the TTL of the last true answer ends, by the number of the site.
    private var trueUntil: [Int: Instant] = [:]
    /// When a lookup first asked a provider that denies the site, by the number of the site.
    private var deniedSince: [Int: Instant] = [:]
    private var isNow = false
    private let begin: Instant = .testStart + DeletedZones.warmUp

    static let siteCount = 200
    static let length: Duration = .seconds(600)
    private static let warmUp: Duration = .seconds(900)
    private static let secondsPerQuery = 0.15

    init(_ trouble: Trouble, seed: UInt64) {
        self.trouble = trouble
        resolver = Resolver(seed: seed)
        random = SeededRandom(seed: seed)
        for number in 0..<DeletedZones.siteCount {
            let name = Name("www.s\(number).d\(number % 50).example") ?? .root
            let ttls: [UInt32] = [5, 20, 30, 60, 60, 120, 300, 600]
            sites.append(
                Site(
                    name: name, ttlSeconds: ttls.randomElement(using: &random) ?? 60,
                    hasTLS: number % 20 > 0, servers: number % 5 == 1 ? 4 : 1,
                    deniesAsNoData: Bool.random(using: &random)))
            numbers[name] = number
        }
        var policy = Policy()
        policy.probes.isEnabled = true
        let providers = (0..<(trouble == .deniedByOnly ? 1 : 2)).map { ProviderTraits(id: RankedID($0), types: .any) }
        handle(.policyChanged(policy))
        handle(.upstreamsChanged(providers: providers, hasSystem: true))
    }

    mutating func run() {
        pass(until: begin)
        isNow = true
        figures = Figures()
        pass(until: begin + DeletedZones.length)
        isNow = false
        counts = resolver.doubtCounts
        wait(until: now + Bounds.answerWithin)
    }

    /// The queries without a reply.
    var unanswered: Int { askedAt.count }

    // MARK: events

    private mutating func pass(until end: Instant) {
        while now < end {
            let gap = -log(Double.random(in: .leastNonzeroMagnitude..<1, using: &random)) * DeletedZones.secondsPerQuery
            let next = min(end, now + .microseconds(Int64(gap * 1_000_000)))
            wait(until: next)
            let site = sites[Int.random(in: 0..<sites.count, using: &random)]
            ask(Question(site.name, .a))
            if Int.random(in: 0..<4, using: &random) == 0 { ask(Question(site.name, .aaaa)) }
        }
    }

    private mutating func wait(until end: Instant) {
        while let next = [resolver.nextDeadline, coming.last?.at].compactMap({ $0 }).min(), next <= end {
            now = max(now, next)
            if let deadline = resolver.nextDeadline, deadline <= now { handle(.timePassed) }
            while let due = coming.last, due.at <= now {
                coming.removeLast()
                switch due.what {
                case .fetch(let id, let result): handle(.fetchFinished(id, result))
                case .probe(let id, let result): handle(.probeFinished(id, result))
                }
            }
        }
        now = end
    }

    private mutating func come(after milliseconds: Int, _ what: Coming) {
        let at = now + .milliseconds(milliseconds)
        let index = coming.lastIndex { $0.at >= at }.map { $0 + 1 } ?? 0
        coming.insert((at, what), at: index)
    }

    private mutating func ask(_ question: Question) {
        guard let hit = cache.ask(question, now: now) else {
            nextWaiter += 1
            let waiter = Waiter(nextWaiter)
            askedAt[waiter] = (question, now)
            return handle(.asked(question, waiter))
        }
        given(hit.answer.addresses, hit.answer.kind == .noSuchName, to: question)
        if hit.isFirstWhenDue { handle(.prefetchDue(question)) }
        if hit.isAwaited { handle(.servedAgain(question)) }
    }

    private mutating func handle(_ event: Event) {
        var actions: [Action] = []
        resolver.handle(event, now: now, cache: &cache, actions: &actions)
        for action in actions { perform(action) }
    }

    private mutating func perform(_ action: Action) {
        switch action {
        case .fetch(let id, let question, let upstream, _): fetch(id, question, upstream)
        case .shadow(let id, let question, let provider): fetch(id, question, .provider(provider), isShadow: true)
        case .abandon(let id):
            coming.removeAll { if case .fetch(id, _) = $0.what { true } else { false } }
        case .store, .rearrange, .remove, .withdraw, .awaitAsk: cache.carryOut(action, now: now)
        case .reply(let waiter, let answer, _): replied(waiter, answer.addresses, answer.kind == .noSuchName)
        case .replyExpired(let waiter, let expired, _):
            guard let question = askedAt[waiter]?.question else { return }
            let addresses = (try? expired.answer.records(of: question))?.compactMap(\.address) ?? []
            replied(waiter, addresses, expired.answer.responseCode == .noSuchName)
        case .fail(let waiter, _, _): replied(waiter, [], true)
        case .probe(let id, let target): probe(id, target)
        case .probeNews, .forged, .contradicted, .portal, .doubt: break
        }
    }

    private mutating func fetch(_ id: FetchID, _ question: Question, _ upstream: Upstream, isShadow: Bool = false) {
        let isDenied: Bool
        switch upstream {
        case .system:
            figures.systemRequests += 1
            isDenied = isNow && trouble == .hijacked
        case .provider(let provider):
            figures.requests += 1
            let isFirst = RankedID.provider(provider) == RankedID(0)
            isDenied =
                switch trouble {
                case .nothing, .moved: false
                case .deniedByOne, .hijacked, .deniedByOnly: isNow && isFirst
                case .deniedByBoth: isNow
                }
            // One request in a hundred gets no reply.
            guard Int.random(in: 0..<100, using: &random) > 0 else { return }
        case .nameserver: return
        }
        if isDenied, !isShadow, question.type == .a, let number = numbers[question.name] {
            deniedSince[number] = deniedSince[number] ?? now
        }
        let answer = answer(question, isDenied: isDenied)
        come(after: Int.random(in: 15...60, using: &random), .fetch(id, .success(answer)))
    }

    private mutating func probe(_ id: ProbeID, _ target: ProbeTarget) {
        figures.probes += 1
        guard let number = numbers[target.name] else { return }
        var result = ProbeResult(sites[number].hasTLS ? .verified : .refused)
        if sites[number].hasTLS { result.handshakeTime = .milliseconds(40) }
        come(after: 40, .probe(id, result))
    }

    // MARK: answers

    private mutating func answer(_ question: Question, isDenied: Bool) -> Answer {
        guard let number = numbers[question.name] else { return Answer(negative: .noSuchName) }
        let site = sites[number]
        if isDenied { return Answer(negative: site.deniesAsNoData ? .noData : .noSuchName, ttlSeconds: 300) }
        guard question.type == .a else { return Answer(negative: .noData, ttlSeconds: 60) }
        trueUntil[number] = now + .seconds(Int64(site.ttlSeconds))
        let server = UInt32.random(in: 0..<site.servers, using: &random)
        let isMoved = isNow && trouble == .moved
        let address = Address.v4(0x1400_0000 | UInt32(number) << 8 | server | (isMoved ? 0x80 : 0))
        return Answer(records: [ResourceRecord(owner: site.name, address: address, ttlSeconds: site.ttlSeconds)])
    }

    private mutating func replied(_ waiter: Waiter, _ addresses: [Address], _ isNoSuchName: Bool) {
        guard let (question, at) = askedAt.removeValue(forKey: waiter) else { return }
        figures.longestWait = max(figures.longestWait, now - at)
        given(addresses, isNoSuchName, to: question)
    }

    private mutating func given(_ addresses: [Address], _ isNoSuchName: Bool, to question: Question) {
        guard let number = numbers[question.name], isNow else { return }
        let isDenied = question.type == .a ? addresses.isEmpty : isNoSuchName
        figures.queries += 1
        if isDenied { figures.denied += 1 }
        if !sites[number].hasTLS {
            figures.queriesWithoutTLS += 1
            if isDenied { figures.deniedWithoutTLS += 1 }
        }
        guard !addresses.isEmpty, let end = trueUntil[number], let since = deniedSince[number] else { return }
        figures.longestFollowing = max(figures.longestFollowing, now - max(since, end))
    }
}
