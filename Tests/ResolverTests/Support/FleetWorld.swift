// A fleet on virtual time: resolvers with their memberships, one provider, and a model of Redis that can stop, die,
// lose messages and lie. It counts the provider's requests, and compares all answers with the true ones.

import DNSWire
import Fleet
import TestSupport

@testable import Resolver

struct FleetWorld {
    enum RedisState {
        case works
        /// Redis accepts calls and replies once it works again.
        case stopped
        /// Redis accepts no connection.
        case dead
    }

    private final class Member {
        var resolver: Resolver
        var membership: Membership
        var breaker: RedisBreaker
        var cache = ScenarioCache()
        var waiting: [Waiter: (question: Question, at: Instant)] = [:]
        var isAlive = true
        /// The number of the connection; messages of an earlier one are lost.
        var connection = 0
        /// The time of its next planned `wake`.
        var wakesAt: Instant?

        init(_ number: Int, now: Instant) {
            resolver = Resolver(seed: UInt64(number + 1))
            membership = Membership(token: "m\(number)")
            breaker = RedisBreaker(now: now)
        }
    }

    private enum Coming {
        case wake(Int)
        case call(Int, FleetCall, connection: Int)
        case reply(Int, FleetCall, FleetReply, sentAt: Instant, connection: Int)
        case message(Int, ModelRedis.Message, connection: Int)
        case tested(Int, connection: Int)
        /// The provider's answer, which was true when it was requested.
        case answer(Int, FetchID, Question, Answer)
    }

    /// The counts and samples of the world.
    struct Figures {
        var replies = 0
        var failures = 0
        var expired = 0
        var longestWait: Duration = .zero
        /// Answers that were false, or older than their TTL allows.
        var wrong: [String] = []
        /// The times of the provider's requests by question.
        var requests: [Question: [Instant]] = [:]
        var systemRequests = 0
        var moved = 0
        /// The clients' latest answers by question.
        var last: [Question: Answer] = [:]
        /// The number of flush orders that Redis has accepted.
        var flushOrders = 0

        var requestCount: Int { requests.values.reduce(0) { $0 + $1.count } }

        /// The largest number of requests within any `window` from `begin` on.
        func most(from begin: Instant = .testStart, in window: Duration = .seconds(1)) -> Int {
            let times = requests.values.joined().filter { $0 >= begin }.sorted()
            var (first, most) = (0, 0)
            for last in times.indices {
                while times[last] - times[first] >= window { first += 1 }
                most = max(most, last - first + 1)
            }
            return most
        }
    }

    var redis = ModelRedis()
    private(set) var redisState = RedisState.works
    /// The share of lost messages on channels, from 0 to 1.
    var messageLoss = 0.0
    var redisDelay: Duration = .microseconds(300)
    var providerDelay: Duration = .milliseconds(30)
    var ttlSeconds: UInt32 = 30
    private(set) var figures = Figures()
    private(set) var now = Instant.testStart
    private var members: [Member] = []
    /// The members by the channel that they own.
    private var listeners: [String: [Int]] = [:]
    private var chance: SeededRandom
    private var events: [Coming?] = []
    private var free: [Int] = []
    private var due = DeadlineQueue()
    /// The calls that a stopped Redis has accepted.
    private var backlog: [(Int, FleetCall, connection: Int)] = []
    /// The provider's addresses of each name, with the times of their changes.
    private var truths: [Name: [(address: UInt32, at: Instant)]] = [:]
    private var nextWaiter: UInt64 = 0
    private let provider: SharedProvider
    private let keys: FleetKeys

    init(members count: Int, seed: UInt64, questionsPerSecond: Int? = nil, hasSystem: Bool = false) throws {
        chance = SeededRandom(seed: seed)
        keys = try FleetKeys([[UInt8](repeating: 7, count: 32)])
        var provider = SharedProvider(name: "p", identity: "p", account: "p")
        provider.questionsPerSecond = questionsPerSecond
        self.provider = provider
        let traits = ProviderTraits(id: RankedID(0), types: .any, questionsPerSecond: questionsPerSecond)
        for number in 0..<count {
            let member = Member(number, now: now)
            members.append(member)
            member.membership.configure(FleetConfiguration(keys: keys, site: "s", member: "host\(number)"), now: now)
            listeners[member.membership.channel] = [number]
            member.membership.restore([:])
            handle(number, .policyChanged(Policy()))
            handle(number, .upstreamsChanged(providers: [traits], hasSystem: hasSystem))
            settle(number)
        }
    }

    var sum: SharedFetches.Counts {
        var sum = SharedFetches.Counts()
        for member in members {
            let counts = member.membership.counts
            sum.answers += counts.answers
            sum.awaited += counts.awaited
            sum.leases += counts.leases
            sum.timeouts += counts.timeouts
            sum.alone += counts.alone
            sum.deferred += counts.deferred
        }
        return sum
    }

    var sizes: Set<Int> { Set(members.map(\.membership.size)) }
    var refusals: UInt64 { members.reduce(0) { $0 + $1.membership.refusals.values.reduce(0, +) } }
    var membersInUse: Int { members.count { $0.breaker.isInUse } }

    static func question(_ number: Int) -> Question { Question(Name("n\(number).example") ?? .root, .a) }

    /// Whether the answer is the provider's current one.
    func isTrue(_ answer: Answer, to question: Question) -> Bool {
        truths[question.name]?.last.map { answer.addresses == [.v4($0.address)] } ?? false
    }

    mutating func resetLongestWait() { figures.longestWait = .zero }

    // MARK: what happens

    mutating func ask(_ number: Int, _ question: Question) {
        let member = members[number]
        guard member.isAlive else { return }
        if let hit = member.cache.ask(question, now: now) {
            given(hit.answer, to: question)
            if hit.isFirstWhenDue { handle(number, .prefetchDue(question)) }
            if hit.isAwaited { handle(number, .servedAgain(question)) }
        } else {
            nextWaiter += 1
            let waiter = Waiter(nextWaiter)
            member.waiting[waiter] = (question, now)
            handle(number, .asked(question, waiter))
        }
        settle(number)
    }

    mutating func change(_ question: Question) {
        let address = UInt32.random(in: 0x1400_0001...0x14FF_FFFE, using: &chance)
        truths[question.name, default: []].append((address, now))
    }

    mutating func flush(by number: Int, _ scope: QuestionScope) {
        members[number].membership.orderFlush(scope, 1, now: now)
        settle(number)
    }

    mutating func kill(_ number: Int) { members[number].isAlive = false }

    mutating func setRedis(_ state: RedisState) {
        let former = redisState
        redisState = state
        if state == .dead {
            redis.lose()
            backlog = []
            for number in members.indices { lost(number) }
        } else if state == .works, former == .stopped {
            let waiting = backlog
            backlog = []
            for (number, call, connection) in waiting { run(number, call, connection) }
        }
    }

    mutating func pass(_ duration: Duration) {
        let end = now + duration
        while let next = due.earliest, next <= end {
            now = max(now, next)
            guard let slot = due.popDue(now), let event = events[slot].take() else { continue }
            free.append(slot)
            carryOut(event)
        }
        now = end
    }

    // MARK: events

    private mutating func plan(_ event: Coming, after delay: Duration) {
        let slot = free.popLast() ?? events.count
        if slot == events.count { events.append(event) } else { events[slot] = event }
        due.set(now + delay, for: slot)
    }

    private mutating func carryOut(_ event: Coming) {
        switch event {
        case .wake(let number):
            let member = members[number]
            member.wakesAt = nil
            guard member.isAlive else { return }
            if let deadline = member.resolver.nextDeadline, deadline <= now { handle(number, .timePassed) }
            for _ in 0..<member.membership.timePassed(now: now) { timedOut(number) }
            if member.membership.isPresenceDue(now) { member.membership.announce([1], now: now) }
            if let testAt = member.breaker.testAt, testAt <= now { test(number) }
            settle(number)
        case .call(let number, let call, let connection): run(number, call, connection)
        case .reply(let number, let call, let reply, let sentAt, let connection):
            let member = members[number]
            guard member.isAlive, member.connection == connection else { return }
            if member.breaker.isInUse, now - sentAt <= .milliseconds(5) { member.breaker.answered() }
            member.membership.replied(to: call, reply, sentAt: sentAt, now: now)
            settle(number)
        case .message(let number, let message, let connection):
            let member = members[number]
            guard member.isAlive, member.connection == connection else { return }
            member.membership.heard(message.bytes, on: message.channel, now: now)
            settle(number)
        case .tested(let number, let connection):
            let member = members[number]
            guard member.isAlive, member.connection == connection, redisState == .works else { return timedOut(number) }
            let wasInUse = member.breaker.isInUse
            member.breaker.answered()
            if !wasInUse { member.membership.switchedOn("redis", now: now) }
            settle(number)
        case .answer(let number, let id, let question, let answer): answered(number, id, question, answer)
        }
    }

    private mutating func test(_ number: Int) {
        members[number].breaker.testBegan()
        guard redisState != .dead else { return members[number].breaker.lost(now: now) }
        plan(.tested(number, connection: members[number].connection), after: redisDelay * 2)
    }

    private mutating func timedOut(_ number: Int) {
        let member = members[number]
        let wasInUse = member.breaker.isInUse
        member.breaker.timedOut(now: now)
        if wasInUse, !member.breaker.isInUse { member.membership.switchedOff(now: now) }
    }

    private mutating func lost(_ number: Int) {
        let member = members[number]
        member.connection += 1
        let wasInUse = member.breaker.isInUse
        member.breaker.lost(now: now)
        if wasInUse { member.membership.switchedOff(now: now) }
        settle(number)
    }

    private mutating func run(_ number: Int, _ call: FleetCall, _ connection: Int) {
        guard members[number].connection == connection, redisState != .dead else { return }
        guard redisState == .works else { return backlog.append((number, call, connection)) }
        let (reply, messages) = redis.run(call, now: now)
        figures.moved += call.keys.reduce(0) { $0 + $1.utf8.count } + call.arguments.reduce(0) { $0 + $1.count } + 120
        plan(
            .reply(number, call, reply, sentAt: now - redisDelay, connection: connection), after: redisDelay)
        for message in messages {
            for other in listeners[message.channel] ?? Array(members.indices) {
                let member = members[other]
                guard Double.random(in: 0..<1, using: &chance) >= messageLoss else { continue }
                figures.moved += message.bytes.count
                plan(.message(other, message, connection: member.connection), after: redisDelay)
            }
        }
    }

    private mutating func answered(_ number: Int, _ id: FetchID, _ question: Question, _ answer: Answer) {
        let member = members[number]
        guard member.isAlive, member.resolver.number(of: id) != nil else { return }
        if let shareable = member.resolver.shareable(question, answer, from: ProviderID(0)) {
            member.membership.answered(id.number, shareable, now: now)
        }
        handle(number, .fetchFinished(id, .success(answer)))
        settle(number)
    }

    /// Carries out the consequences in a member, and plans its next wake.
    private mutating func settle(_ number: Int) {
        let member = members[number]
        var hasMore = true
        while hasMore {
            for call in member.membership.takeCalls() {
                if member.breaker.isInUse {
                    plan(.call(number, call, connection: member.connection), after: redisDelay)
                } else {
                    member.membership.callFailed(call, now: now)
                }
            }
            let outcomes = member.membership.takeOutcomes()
            for outcome in outcomes { carryOut(number, outcome) }
            hasMore = !outcomes.isEmpty
        }
        member.membership.releaseLeases()
        for call in member.membership.takeCalls() where member.breaker.isInUse {
            plan(.call(number, call, connection: member.connection), after: redisDelay)
        }
        let deadlines = [member.resolver.nextDeadline, member.membership.nextDeadline, member.breaker.testAt]
        guard let next = deadlines.compactMap({ $0 }).min(), member.wakesAt.map({ next < $0 }) ?? true else { return }
        member.wakesAt = next
        plan(.wake(number), after: max(.zero, now.duration(to: next)))
    }

    private mutating func carryOut(_ number: Int, _ outcome: Membership.Outcome) {
        switch outcome {
        case .ask(let id):
            handle(number, .fetchSent(FetchID(number: id)))
            request(number, FetchID(number: id), members[number].membership.question(of: id))
        case .deferred(let id, let end): handle(number, .fetchDeferred(FetchID(number: id), until: end))
        case .answered(let id, let answer), .late(let id, let answer):
            handle(number, .fetchShared(FetchID(number: id), answer))
        case .demandElsewhere(let question, let perSecond):
            handle(number, .demandElsewhere(question, perSecond: perSecond))
        case .flush(let scope):
            members[number].cache.forget(scope.name == .root ? nil : Question(scope.name, .a))
            handle(number, .flushed(scope))
        case .evidence(let evidence): handle(number, .evidence(evidence.name, evidence.address))
        case .flushOrdered(_, let fault): if fault == nil { figures.flushOrders += 1 }
        case .note, .billed: break
        }
    }

    private mutating func request(_ number: Int, _ id: FetchID, _ question: Question?) {
        guard let question else { return }
        figures.requests[question, default: []].append(now)
        plan(.answer(number, id, question, truth(question)), after: providerDelay)
    }

    // MARK: the resolver

    private mutating func handle(_ number: Int, _ event: Event) {
        let member = members[number]
        var actions: [Action] = []
        member.resolver.handle(event, now: now, cache: &member.cache, actions: &actions)
        for action in actions { perform(number, action) }
    }

    private mutating func perform(_ number: Int, _ action: Action) {
        let member = members[number]
        switch action {
        case .fetch(let id, let question, .system, _), .fetch(let id, let question, .nameserver, _):
            figures.systemRequests += 1
            plan(.answer(number, id, question, truth(question)), after: providerDelay)
        case .fetch(let id, let question, .provider, let purpose):
            var fetch = Membership.Fetch(question, at: provider)
            fetch.isForClient = !purpose.isRefresh
            fetch.isLastResort = purpose.isLastResort
            fetch.perSecond = member.resolver.demand(for: question, now: now)
            if purpose.isRefresh { fetch.life = member.cache.life(of: question, now: now) }
            guard member.membership.begin(id.number, fetch, now: now) else { return request(number, id, question) }
            handle(number, .fetchAwaitsFleet(id))
        case .shadow(let id, let question, _):
            plan(.answer(number, id, question, truth(question)), after: providerDelay)
        case .abandon(let id): member.membership.abandon(id.number)
        case .store, .rearrange, .remove, .withdraw, .awaitAsk: member.cache.carryOut(action, now: now)
        case .reply(let waiter, let answer, _):
            guard let (question, at) = member.waiting.removeValue(forKey: waiter) else { return }
            figures.longestWait = max(figures.longestWait, now - at)
            given(answer, to: question)
        case .replyExpired(let waiter, _, _):
            member.waiting[waiter] = nil
            figures.expired += 1
        case .fail(let waiter, _, _):
            member.waiting[waiter] = nil
            figures.failures += 1
        case .probe, .probeNews, .forged, .contradicted, .portal, .doubt: break
        }
    }

    // MARK: the truth

    private mutating func truth(_ question: Question) -> Answer {
        if truths[question.name] == nil { change(question) }
        let address = truths[question.name]?.last?.address ?? 0
        return Answer(records: [ResourceRecord(owner: question.name, address: .v4(address), ttlSeconds: ttlSeconds)])
    }

    /// Records the answer. It must have been true until at most its TTL ago, with a second for rounding.
    private mutating func given(_ answer: Answer, to question: Question) {
        figures.replies += 1
        figures.last[question] = answer
        let known = truths[question.name] ?? []
        guard let index = known.lastIndex(where: { .v4($0.address) == answer.addresses.first }) else {
            return figures.wrong.append("\(question.name): \(answer.addresses), never true")
        }
        guard index + 1 < known.count else { return }
        let left = now - known[index + 1].at + .seconds(Int64(answer.ttlSeconds))
        if left > .seconds(Int64(ttlSeconds)) + .seconds(1.5) + providerDelay {
            figures.wrong.append("\(question.name): \(left.seconds) s after it was true, TTL \(answer.ttlSeconds) s")
        }
    }
}
