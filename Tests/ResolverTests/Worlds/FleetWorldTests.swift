// Simulated fleets of two to fifty members, with a Redis that works, stops, dies, forgets, loses messages and lies.

import DNSWire
import Fleet
import TestSupport
import Testing

@testable import Resolver

@Suite struct FleetWorldTests {
    /// Lets the members ask for names of a Zipf distribution at `perSecond` each.
    private static func load(
        _ world: inout FleetWorld, members: Int, names: Int = 100, perSecond: Double = 4, for duration: Duration,
        seed: UInt64, changes: Bool = true
    ) {
        var chance = SeededRandom(seed: seed)
        let weights = (1...names).map { 1 / Double($0) }
        let sums = weights.reduce(into: [Double]()) { $0.append(($0.last ?? 0) + $1) }
        let step = Duration.seconds(1 / (perSecond * Double(members)))
        for _ in 0..<Int(duration.seconds * perSecond * Double(members)) {
            let point = Double.random(in: 0..<(sums.last ?? 1), using: &chance)
            let question = FleetWorld.question(sums.firstIndex { point < $0 } ?? 0)
            world.ask(Int.random(in: 0..<members, using: &chance), question)
            if changes, Int.random(in: 0..<200, using: &chance) == 0 { world.change(question) }
            world.pass(step)
        }
    }

    @Test(arguments: [(2, 120), (10, 120), (50, 20)])
    func aNameIsAskedForOncePerTTL(members: Int, seconds: Int) throws {
        var world = try FleetWorld(members: members, seed: 1)
        world.ttlSeconds = UInt32(seconds / 4)
        world.pass(.seconds(1))
        Self.load(&world, members: members, for: .seconds(seconds), seed: 2)
        let figures = world.figures
        #expect(figures.wrong == [] && figures.failures == 0 && figures.expired == 0)
        #expect(figures.longestWait <= .milliseconds(34))
        // A name is asked for once per TTL between its first and its last request.
        let due = figures.requests.values.reduce(0.0) { sum, times in
            sum + 1 + ((times.max() ?? .testStart) - (times.min() ?? .testStart)).seconds / Double(world.ttlSeconds)
        }
        let perTTL = Double(figures.requestCount) / due
        #expect(perTTL <= 1.1)
        #expect(world.sizes == [members])
    }

    /// The provider's load is bounded by one request per name and TTL; Redis's load grows with the members.
    @Test func oneMoreMemberCostsRedisCallsAndTheProviderNothing() throws {
        var callsOfMember: [Double] = []
        for members in [1, 10, 50, 200] {
            var world = try FleetWorld(members: members, seed: 1)
            world.ttlSeconds = 5
            world.pass(.seconds(1))
            let before = (calls: world.redis.calls, requests: world.figures.requestCount)
            Self.load(&world, members: members, names: 50, perSecond: 2, for: .seconds(10), seed: 3, changes: false)
            // Two TTLs pass, and the first and the last request of a name may belong to others.
            #expect(Double(world.figures.requestCount - before.requests) <= 50 * 3 * 1.1, "\(members) members")
            callsOfMember.append(Double(world.redis.calls - before.calls) / Double(members))
        }
        // A query costs two calls, besides publications and refreshes, for any number of members.
        #expect(callsOfMember.allSatisfy { 20...50 ~= $0 }, "\(callsOfMember)")
    }

    @Test(arguments: 1...5 as ClosedRange<UInt64>)
    func aStampedeIsOneRequest(seed: UInt64) throws {
        var (world, chance) = (try FleetWorld(members: 50, seed: seed), SeededRandom(seed: seed))
        world.pass(.seconds(1))
        for number in (0..<50).shuffled(using: &chance) {
            world.ask(number, FleetWorld.question(0))
            world.pass(.microseconds(200))
        }
        world.pass(.seconds(1))
        #expect(world.figures.requestCount == 1 && world.figures.replies == 50)
        #expect(world.figures.longestWait <= world.providerDelay + .milliseconds(10))
    }

    @Test func afterTheOwnerDiesOneOtherAsks() throws {
        var world = try FleetWorld(members: 50, seed: 1)
        world.pass(.seconds(1))
        world.providerDelay = .milliseconds(100)
        for number in 0..<50 {
            world.ask(number, FleetWorld.question(0))
            world.pass(.microseconds(200))
        }
        world.kill(0)
        world.pass(.seconds(2))
        #expect(world.figures.requestCount == 2 && world.figures.replies == 49 && world.figures.failures == 0)
        // The first lease is twice 500 ms, because no latency is known.
        #expect(world.figures.longestWait <= .seconds(1) + .milliseconds(110))
    }

    /// A stopped member may hold more leases when the first of them ends.
    @Test func aStoppedMemberIsNotWaitedForTwice() throws {
        var world = try FleetWorld(members: 2, seed: 1)
        world.pass(.seconds(1))
        world.providerDelay = .seconds(2)
        for number in 0..<10 {
            world.ask(0, FleetWorld.question(number))
            world.pass(.milliseconds(100))
        }
        world.kill(0)
        world.providerDelay = .milliseconds(15)
        world.ask(1, FleetWorld.question(1))
        world.pass(.milliseconds(200))
        let first = world.figures.longestWait
        #expect(world.figures.replies == 1 && .milliseconds(15)...(.milliseconds(140)) ~= first)
        // The other leases end within the next 0.8 s.
        world.resetLongestWait()
        for number in 3..<10 { world.ask(1, FleetWorld.question(number)) }
        world.pass(.milliseconds(100))
        #expect(world.figures.replies == 8 && world.figures.longestWait <= .milliseconds(20))
    }

    /// An answer in flight during a flush is as old as its question.
    @Test(arguments: [0, 1]) func anAnswerInFlightDuringAFlushIsDropped(flushing: Int) throws {
        var world = try FleetWorld(members: 3, seed: 1)
        world.pass(.seconds(1))
        world.providerDelay = .milliseconds(500)
        let question = FleetWorld.question(0)
        world.ask(0, question)
        world.ask(2, question)
        world.pass(.milliseconds(200))
        let former = world.figures.requestCount
        world.change(question)
        world.flush(by: flushing, QuestionScope(question.name))
        world.pass(.seconds(2))
        let given = try #require(world.figures.last[question])
        for number in 0..<3 {
            world.ask(number, question)
            world.pass(.seconds(1))
            #expect(world.figures.last[question]?.addresses == given.addresses)
        }
        #expect(former == 1 && world.figures.requestCount == 2 && world.figures.replies == 5)
        #expect(world.isTrue(given, to: question))
    }

    /// Each client gets a true answer in time, whatever happens to Redis.
    @Test(arguments: 1...12 as ClosedRange<UInt64>)
    func whateverHappensToRedisAnswersAreTrueAndInTime(seed: UInt64) throws {
        var chance = SeededRandom(seed: seed)
        let members = Int.random(in: 2...12, using: &chance)
        var world = try FleetWorld(members: members, seed: seed)
        world.messageLoss = seed.isMultiple(of: 2) ? 0 : 0.3
        for round in 0..<12 {
            switch Int.random(in: 0..<4, using: &chance) {
            case 0: world.setRedis(.stopped)
            case 1: world.setRedis(.dead)
            default: world.setRedis(.works)
            }
            world.redisDelay = .microseconds(Int.random(in: 100...4000, using: &chance))
            Self.load(&world, members: members, for: .seconds(4), seed: seed &* 100 &+ UInt64(round))
        }
        let figures = world.figures
        #expect(figures.wrong == [] && figures.failures == 0 && figures.expired == 0, "seed \(seed)")
        // The bound is half of the provider's time-out plus its latency.
        #expect(figures.longestWait <= .milliseconds(1540), "seed \(seed)")
        world.setRedis(.works)
        world.redisDelay = .microseconds(300)
        world.pass(.seconds(3))
        #expect(world.membersInUse == members, "seed \(seed)")
    }

    /// A stopped Redis delays three questions of each member by 5 ms.
    @Test func aStoppedRedisCostsThreeQuestionsALittle() throws {
        var world = try FleetWorld(members: 3, seed: 1)
        world.pass(.seconds(1))
        world.setRedis(.stopped)
        for number in 0..<20 {
            world.ask(0, FleetWorld.question(number))
            world.pass(.milliseconds(50))
        }
        #expect(world.sum.timeouts == 3 && world.figures.longestWait <= .milliseconds(35))
        world.pass(.seconds(60))
        world.setRedis(.works)
        world.pass(.milliseconds(1010))
        #expect(world.membersInUse == 3)
    }

    @Test(arguments: ModelRedis.Lie.allCases)
    func aLyingRedisMakesNoAnswerWrong(_ lie: ModelRedis.Lie) throws {
        var world = try FleetWorld(members: 5, seed: 3)
        world.pass(.seconds(1))
        Self.load(&world, members: 5, names: 20, for: .seconds(30), seed: 4)
        world.redis.lie = lie
        Self.load(&world, members: 5, names: 20, for: .seconds(60), seed: 5)
        let figures = world.figures
        #expect(figures.wrong == [] && figures.failures == 0)
        // Foreign leases cost time; some clients get an expired answer meanwhile.
        #expect(lie == .foreignLeases || figures.expired == 0)
        #expect(figures.longestWait <= .milliseconds(1540))
        switch lie {
        case .exchangedValues, .oldValues: #expect(world.refusals > 0)
        case .foreignLeases, .freeLeases, .deferred, .garbage: break
        }
    }

    @Test func theBudgetHoldsForAllTogether() throws {
        var world = try FleetWorld(members: 20, seed: 1, questionsPerSecond: 50, hasSystem: true)
        world.pass(.seconds(1))
        var name = 0
        func press(_ world: inout FleetWorld, for duration: Duration) {
            for step in 0..<Int(duration / .milliseconds(5)) {
                name += 1
                world.ask(step % 20, FleetWorld.question(name))
                world.pass(.milliseconds(5))
            }
        }
        press(&world, for: .seconds(20))
        let together = world.figures
        #expect(together.most() <= 52 && together.requestCount >= 19 * 50)
        // A used-up budget does not lead to plain DNS.
        #expect(together.failures > 2000 && together.systemRequests == 0)
        let end = world.now
        world.setRedis(.dead)
        press(&world, for: .seconds(5))
        // Turns that Redis granted are used in addition to the members' own shares.
        #expect(world.figures.most(from: end) <= 110)
    }

    /// Without another upstream, a client waits for its turn as long as it can.
    @Test func withoutAnotherUpstreamTheBudgetRefusesNoClient() throws {
        var world = try FleetWorld(members: 5, seed: 1, questionsPerSecond: 10)
        world.pass(.seconds(1))
        for number in 0..<80 {
            world.ask(number % 5, FleetWorld.question(number))
            world.pass(.milliseconds(50))
        }
        world.pass(.seconds(5))
        #expect(world.figures.failures == 0 && world.figures.replies == 80)
        #expect(world.figures.most() <= 11 && world.figures.requestCount == 80)
    }

    @Test func aFlushReachesAll() throws {
        var world = try FleetWorld(members: 10, seed: 1)
        world.pass(.seconds(1))
        let question = FleetWorld.question(0)
        for number in 0..<10 { world.ask(number, question) }
        world.pass(.seconds(1))
        world.change(question)
        world.flush(by: 0, QuestionScope(question.name))
        world.pass(.milliseconds(10))
        #expect(world.figures.flushOrders == 1)
        let before = world.figures.requestCount
        for number in 0..<10 { world.ask(number, question) }
        world.pass(.seconds(1))
        #expect(world.figures.requestCount == before + 1 && world.figures.wrong == [])
    }
}
