// Order `system-first` with many names: the providers' requests with an honest system resolver, and the harm of a
// forging one beside hanging probes and floods. The scenarios in `Scenarios/system-first` show the steps for one name.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("The system resolver first")
struct SystemFirstTests {
    private typealias World = SystemFirstWorld

    @Test("with an honest system resolver no provider is asked: not by clients, hedges, refreshes or measurements")
    func honest() {
        var world = World()
        for _ in 0..<360 {
            for number in 0..<100 { world.ask(World.name(number)) }
            world.pass(.seconds(10))
        }
        #expect(world.allProviderQuestions == 0 && world.failures == 0 && world.replies == 36_000)
        #expect(world.longestWait <= .milliseconds(20))
        #expect(world.resolver.refreshes.started > 3000, "no refreshes, so that nothing is shown")
        // As a control, the same world without the setting asks the providers.
        var other = World(order: .providersFirst)
        for number in 0..<100 { other.ask(World.name(number)) }
        other.pass(.seconds(10))
        #expect(other.allProviderQuestions >= 100)
    }

    @Test("forged answers are given until their first verdict, beside hanging probes and a flood of names")
    func forging() {
        var world = World()
        // Forged answers for two domains do not discredit the system resolver.
        world.forged = Set((0..<2).map(World.name))
        world.hanging = Set((10..<20).map(World.name))
        for round in 0..<360 {
            for number in 0..<30 { world.ask(World.name(number)) }
            if round % 30 == 0 {
                for number in 0..<300 { world.ask(Name("r\(number)-\(round).example") ?? .root) }
            }
            world.pass(.seconds(10))
        }
        #expect(world.forgedReplies.isEmpty, "\(world.forgedReplies)")
        #expect(world.failures == 0)
        for number in 0..<2 { #expect(world.providerQuestions[World.name(number)] ?? 0 > 30, "name \(number)") }
        for number in 2..<30 { #expect(world.providerQuestions[World.name(number)] == nil, "name \(number)") }
    }

    @Test(
        "after ten minutes one question shows whether the system resolver still forges; an honest one is first again"
    )
    func honestAgain() {
        var world = World()
        world.forged = [World.name(0)]
        for _ in 0..<60 {
            world.ask(World.name(0))
            world.pass(.seconds(10))
        }
        let asked = world.systemQuestions[World.name(0)] ?? 0
        #expect(asked <= 3, "\(asked) questions while it forges")
        world.forged = []
        for _ in 0..<120 {
            world.ask(World.name(0))
            world.pass(.seconds(10))
        }
        let before = world.providerQuestions[World.name(0)] ?? 0
        for _ in 0..<60 {
            world.ask(World.name(0))
            world.pass(.seconds(10))
        }
        #expect(world.providerQuestions[World.name(0)] == before && world.forgedReplies.isEmpty)
    }

    @Test("a system resolver that forged three domains follows the providers for names that it has not proved")
    func mistrusted() {
        var world = World()
        world.ask(World.name(9))
        world.pass(.seconds(5))
        world.forged = Set((0..<4).map(World.name))
        for number in 0..<4 { world.ask(World.name(number)) }
        world.pass(.seconds(10))
        #expect(world.resolver.systemCredibility(now: world.now) < 0.5)
        world.ask(World.name(5))
        world.pass(.seconds(1))
        #expect(world.providerQuestions[World.name(5)] != nil && world.systemQuestions[World.name(5)] == nil)
        world.pass(.seconds(30))
        world.ask(World.name(9))
        world.pass(.seconds(1))
        #expect(world.providerQuestions[World.name(9)] == nil)
    }

    @Test("a silent system resolver costs the names of two domains a second, and later ones 30 ms")
    func silent() {
        var world = World()
        world.systemDelay = nil
        for number in 0..<2 {
            world.ask(World.name(number))
            world.pass(.seconds(2))
        }
        #expect(world.longestWait == .milliseconds(1030) && world.failures == 0)
        var later = world
        for number in 2..<101 { later.ask(World.name(number)) }
        later.pass(.milliseconds(70))
        #expect(later.replies == 101)
    }

    @Test(
        "a request because the system resolver is late is billed as a hedge, and one in its place as the client's",
        arguments: [true, false])
    func cause(_ mayHedge: Bool) throws {
        var resolver = Resolver(seed: 1)
        var policy = Policy()
        policy.order = .systemFirst
        var actions: [Action] = []
        func handle(_ event: Event, after elapsed: Duration) -> [RequestCause] {
            resolver.handle(event, now: .testStart + elapsed, actions: &actions)
            defer { actions = [] }
            return actions.compactMap { action in
                if case .fetch(_, _, .provider, let purpose) = action { purpose.cause } else { nil }
            }
        }
        _ = handle(.policyChanged(policy), after: .zero)
        let account = ProviderTraits(id: RankedID(0), types: .any, mayHedge: mayHedge)
        _ = handle(.upstreamsChanged(providers: [account], hasSystem: true), after: .zero)
        #expect(handle(.asked(Question(World.name(1), .a), Waiter(1)), after: .zero).isEmpty)
        #expect(handle(.timePassed, after: .seconds(1)) == (mayHedge ? [.hedge] : []))
        #expect(handle(.timePassed, after: policy.systemPatience) == (mayHedge ? [] : [.client]))
    }
}
