// A simulated day of the daemon on a virtual clock: real packets into the real fast path, over the real cache, with the
// real resolver and the daemon's glue. Clients, upstreams and time come from one seed.

import DNSWire
import LinuxIO
import Serving
import TestSupport

@testable import Daemon
@testable import Resolver

struct Day: ~Copyable {
    struct Plan {
        let seed: UInt64
        let queries: Int
        /// The average.
        var queriesPerSecond = 100.0
        /// Whether clients ask at the same rate all the time, each for one IPv4 address.
        var isSteady = false
        var world = World.Plan.day
        var lengthMilliseconds: Int64 { Int64(Double(queries) * 1000 / queriesPerSecond) }
    }

    private let plan: Plan
    private var random: SeededRandom
    private var world: World
    private var upstreams: [DayUpstream]
    private var resolver: Resolver
    private let cache = AnswerCache(limitBytes: Day.cacheBytes, seed: (1, 2))
    private var path: FastPath
    private var answers: CachedAnswers
    private(set) var account: DayAccount

    private var now: Instant = Day.epoch
    private var nowMilliseconds: Int64 { account.now }
    private var clients: [Waiter: Client] = [:]
    private var nextWaiter: UInt64 = 0
    private var running: [UInt64: Fetch] = [:]
    private var coming = Arrivals()

    struct Client {
        let subject: Subject
        let query: Query
        let packet: [UInt8]
        let question: Question
        let askedAwakeAt: Int64
        /// The question was asked lately.
        let isRepeated: Bool
    }

    private struct Fetch {
        let id: FetchID
        let subject: Subject
        let upstream: Int
        let fate: DayUpstream.Fate?
        /// Whether the fetch is a background measurement, which belongs to no lookup.
        let isBeside: Bool
    }

    private static let epoch = Instant(nanoseconds: 0)
    /// The cache's limit, too small for a day's questions, so that entries are evicted.
    private static let cacheBytes = 4 << 20
    private static let upstreamManners = [
        DayUpstream.Manners(medianMilliseconds: 25, countsDown: true, perSecond: nil),
        DayUpstream.Manners(medianMilliseconds: 60, countsDown: false, perSecond: 40),
        DayUpstream.Manners(medianMilliseconds: 15, countsDown: true, perSecond: nil),
    ]

    /// - Parameter upstreams: the providers, and last the system resolver; nil: the usual ones with the troubles of a
    ///   day.
    init(_ plan: Plan, upstreams own: [DayUpstream]? = nil) {
        self.plan = plan
        var random = SeededRandom(seed: plan.seed)
        world = World(plan.world, random: &random)
        let troubles = DayTroubles(length: plan.lengthMilliseconds, random: &random)
        upstreams =
            own ?? Day.upstreamManners.enumerated().map { DayUpstream($1, spells: troubles.spells(of: $0)) }
        resolver = Resolver(seed: plan.seed)
        let serving = ServingState(Partition(rawValue: 1), seed: 1)
        path = FastPath(cache: cache, access: AccessList(Prefix.everywhere), serving: serving, version: "1")
        answers = CachedAnswers(cache, serving)
        account = DayAccount(policy: Day.policy, subjects: world.subjectCount, upstreams: upstreams.count)
        self.random = random
    }

    static let policy = {
        var policy = Policy()
        policy.stale.maxAgeSeconds = 7200
        return policy
    }()

    var counts: (cache: AnswerCache.Counts, refreshes: RefreshCounts, left: Int) {
        (cache.counts(), resolver.refreshes, resolver.lookupsInFlight + clients.count + running.count)
    }

    // MARK: the course of the day

    mutating func run() throws {
        try handle(.policyChanged(Day.policy))
        try handle(
            .upstreamsChanged(
                providers: upstreams.indices.dropLast().map {
                    ProviderTraits(id: .provider(ProviderID($0)), types: .addresses, budgetPerSecond: 400)
                },
                hasSystem: true))
        var traffic = Traffic(plan, random: &random)
        while let visit = traffic.next(world, random: &random) {
            try advance(to: visit.sleepsAt ?? visit.at)
            if visit.sleepsAt != nil { sleep() }
            try advance(to: visit.at)
            for subject in visit.subjects { try ask(subject) }
            if visit.drifts { world.drift(random: &random) }
        }
        try end()
    }

    /// Ends the day: clients ask no more, and all lookups end.
    private mutating func end() throws {
        var unplanned = Day.policy
        unplanned.prefetches = false
        try handle(.policyChanged(unplanned))
        try advance(to: nowMilliseconds + 10_000)
        try account.require(clients.isEmpty, "\(clients.count) clients have no reply")
        try account.require(running.isEmpty && resolver.lookupsInFlight == 0, "something never ended")
    }

    /// Lets time pass without handling any event.
    private mutating func sleep() {
        for index in upstreams.indices {
            upstreams[index].sleeps(from: nowMilliseconds, milliseconds: Traffic.sleepMilliseconds)
        }
        setTime(nowMilliseconds + Traffic.sleepMilliseconds)
        account.asleep += Traffic.sleepMilliseconds
    }

    private mutating func setTime(_ milliseconds: Int64) {
        now = Day.epoch + .milliseconds(milliseconds)
        account.now = milliseconds
        for index in upstreams.indices { upstreams[index].timePassed(milliseconds) }
    }

    /// Handles deadlines before arrivals, as the daemon's loop does.
    private mutating func advance(to target: Int64) throws {
        let end = Day.epoch + .milliseconds(target)
        while true {
            let deadline = resolver.nextDeadline
            guard let next = earliest(deadline, coming.earliest.map { Day.epoch + .milliseconds($0) }), next <= end
            else { break }
            now = max(now, next)
            account.now = Clock.millisecondsSinceBoot(now)
            if let deadline, deadline <= now { try handle(.timePassed) }
            while let number = coming.popDue(nowMilliseconds) { try deliver(number) }
        }
        setTime(target)
    }

    private func earliest(_ one: Instant?, _ other: Instant?) -> Instant? {
        guard let one, let other else { return one ?? other }
        return min(one, other)
    }

    private mutating func deliver(_ number: UInt64) throws {
        guard let fetch = running.removeValue(forKey: number), let fate = fetch.fate else { return }
        if !fetch.isBeside { account.fetchEnded(fetch.subject) }
        try handle(.fetchFinished(fetch.id, fate.result))
    }

    // MARK: clients

    private mutating func ask(_ subject: Subject) throws {
        var packet = world.packet(subject)
        packet[0] = UInt8(truncatingIfNeeded: account.queries >> 8)
        packet[1] = UInt8(truncatingIfNeeded: account.queries)
        var outcome = FastPath.Outcome.dropped(.short)
        let reply = [UInt8](capacity: EDNS.ourPayloadBytes) { output in
            outcome = path.respond(
                to: packet.span, from: ServingStand.loopback, over: .udp, nowMilliseconds: nowMilliseconds,
                into: &output)
        }
        let isRepeated = account.asked(subject, isMissed: reply.isEmpty)
        switch outcome {
        case .answered: try account.given(reply, to: packet, subject, .cache, in: world)
        case .answeredAndDue(_, let question):
            try account.given(reply, to: packet, subject, .cache, in: world)
            try handle(.prefetchDue(question))
        case .answeredAwaited(_, let question):
            try account.given(reply, to: packet, subject, .cache, in: world)
            try handle(.servedAgain(question))
        case .miss(let query):
            let question = Question(query.name(in: packet.span), query.type)
            let waiter = Waiter(nextWaiter)
            nextWaiter += 1
            clients[waiter] = Client(
                subject: subject, query: query, packet: packet, question: question, askedAwakeAt: account.awake,
                isRepeated: isRepeated)
            try handle(.asked(question, waiter))
        case .local, .refused, .limited, .dropped: throw account.broken("the fast path says \(outcome)")
        }
    }

    // MARK: the resolver

    private mutating func handle(_ event: Event) throws {
        var actions: [Action] = []
        resolver.handle(event, now: now, cache: &answers, actions: &actions)
        for action in actions { try perform(action) }
        account.actionsDone(waiting: clients.values)
        try account.require(resolver.lookupsInFlight <= Bounds.maxLookups, "too many lookups")
    }

    /// Carries out an action as the daemon's loop does.
    private mutating func perform(_ action: Action) throws {
        switch action {
        case .fetch(let id, let question, .provider(let provider), _): try begin(id, question, provider.number)
        case .fetch(let id, let question, .system, _), .fetch(let id, let question, .nameserver, _):
            try begin(id, question, upstreams.count - 1)
        case .shadow(let id, let question, let provider):
            try begin(id, question, provider.number, isBeside: true)
        case .abandon(let id):
            guard let fetch = running.removeValue(forKey: id.number) else { throw account.broken("abandoned twice") }
            if !fetch.isBeside { account.fetchEnded(fetch.subject) }
        case .store(let question, let answer, let source, _):
            if let sourceClass = source.sourceClass { answers.store(question, answer, sourceClass, now: now) }
        case .withdraw(let question, let source):
            if let sourceClass = source.sourceClass { answers.remove(question, sourceClass) }
        case .portal: throw account.broken("\(action) without a portal")
        case .doubt: break
        case .rearrange, .remove, .awaitAsk, .probe, .probeNews, .forged, .contradicted:
            throw account.broken("\(action) without probes")
        case .reply(let waiter, let answer, _):
            let client = try take(waiter)
            try give(answers.rendered(answer, client.question).answer, nil, to: client, .upstream)
        case .replyExpired(let waiter, let expired, let cause):
            let client = try take(waiter)
            try give(expired.answer, expired.extendedError, to: client, .expired(cause))
            // The last upstream is the system resolver. A provider's expired answer is used before the system
            // resolver's.
            account.checkNeed(client.subject, cause.rawValue, upstreams.dropLast())
        case .fail(let waiter, let reason, _):
            let client = try take(waiter)
            try account.require(reason != .notReady, "a client is turned away")
            account.failed(client, upstreams)
        }
    }

    private mutating func begin(
        _ id: FetchID, _ question: Question, _ upstream: Int, isBeside: Bool = false
    ) throws {
        let subject = Subject(question)
        let fate = upstreams[upstream].fate(of: subject, at: nowMilliseconds, in: world, random: &random)
        running[id.number] = Fetch(id: id, subject: subject, upstream: upstream, fate: fate, isBeside: isBeside)
        if let fate { coming.add(id.number, at: fate.at) }
        if !isBeside { try account.fetchBegun(subject, upstream, fate) }
    }

    private mutating func take(_ waiter: Waiter) throws -> Client {
        guard let client = clients.removeValue(forKey: waiter) else { throw account.broken("a second reply") }
        account.clientAnswered(client.subject)
        return client
    }

    private mutating func give(
        _ answer: RenderedAnswer, _ extendedError: ExtendedError?, to client: Client, _ source: DayAccount.GivenBy
    ) throws {
        let reply = [UInt8](capacity: EDNS.ourPayloadBytes) { output in
            Reply.write(
                Reply.Body(answer), to: client.query, in: client.packet.span, ageSeconds: 0,
                limit: client.query.replyLimitBytes, extendedError: extendedError, into: &output)
        }
        try account.waited(client)
        try account.given(reply, to: client.packet, client.subject, source, in: world)
    }
}
