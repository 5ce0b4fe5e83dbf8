// What is learned about providers, and the order that follows from it.

import DNSWire
import Testing

@testable import Resolver

@Suite("Ranking of providers")
struct UpstreamRankingTests {
    private let start = ContinuousClock.now
    private static let (a, b, c) = (ProviderID(0), ProviderID(1), ProviderID(2))

    private func ranking(_ types: ProviderTraits.Types...) -> UpstreamRanking {
        var ranking = UpstreamRanking()
        ranking.setProviders(types.enumerated().map { ProviderTraits(id: ProviderID($0.offset), types: $0.element) })
        return ranking
    }

    private func order(_ ranking: UpstreamRanking, after: Duration = .zero, _ type: RecordType = .a) -> [Int] {
        ranking.order(for: type, now: start + after).map(\.number)
    }

    @Test("without measurements the order is that of the settings")
    func orderOfSettings() {
        #expect(order(ranking(.any, .any, .any)) == [0, 1, 2])
    }

    @Test("each type goes to those that take it, in the same order")
    func types() {
        let ranking = ranking(.a, .addresses, .any)
        #expect(order(ranking, .a) == [0, 1, 2])
        #expect(order(ranking, .aaaa) == [1, 2])
        #expect(order(ranking, .txt) == [2])
        #expect(order(self.ranking(.a), .aaaa).isEmpty)
    }

    @Test("the quick come before the slow, and the unmeasured before both")
    func byLatency() {
        var ranking = ranking(.any, .any, .any)
        ranking.answered(Self.a, after: .milliseconds(90))
        ranking.answered(Self.b, after: .milliseconds(30))
        #expect(order(ranking) == [2, 1, 0])
        ranking.answered(Self.c, after: .milliseconds(60))
        #expect(order(ranking) == [1, 2, 0])
    }

    @Test("one slow answer does not outweigh many quick ones, several do")
    func smoothing() {
        var ranking = ranking(.any, .any)
        for _ in 0..<20 { ranking.answered(Self.a, after: .milliseconds(20)) }
        for _ in 0..<20 { ranking.answered(Self.b, after: .milliseconds(50)) }
        ranking.answered(Self.a, after: .milliseconds(200))
        #expect(order(ranking) == [0, 1])
        for _ in 0..<3 { ranking.answered(Self.a, after: .milliseconds(200)) }
        #expect(order(ranking) == [1, 0])
    }

    @Test("the hedge delay is the latency and four deviations, as TCP reckons its time-out (RFC 6298 section 2)")
    func hedgeDelay() {
        var ranking = ranking(.any)
        #expect(ranking.hedgeDelay(Self.a) == .milliseconds(400))
        ranking.answered(Self.a, after: .milliseconds(40))
        // 40 + 4 * 20
        #expect(ranking.hedgeDelay(Self.a) == .milliseconds(120))
        ranking.answered(Self.a, after: .milliseconds(80))
        // Deviation 20 + (40 - 20) / 4, latency 40 + 40 / 8.
        #expect(ranking.hedgeDelay(Self.a) == .milliseconds(45 + 4 * 25))
        for _ in 0..<60 { ranking.answered(Self.a, after: .milliseconds(2)) }
        #expect(ranking.hedgeDelay(Self.a) == .milliseconds(30))
        for _ in 0..<60 { ranking.answered(Self.a, after: .milliseconds(2500)) }
        #expect(ranking.hedgeDelay(Self.a) == .milliseconds(800))
        #expect(ranking.hedgeDelay(Self.b) == .milliseconds(400))
    }

    @Test("an answer after a sleep counts as a time-out's length at most")
    func sleep() {
        var ranking = ranking(.any, .any)
        ranking.answered(Self.a, after: .seconds(86_400))
        ranking.answered(Self.b, after: .milliseconds(600))
        #expect(order(ranking) == [1, 0])
        for _ in 0..<20 { ranking.answered(Self.a, after: .milliseconds(20)) }
        #expect(order(ranking) == [0, 1])
    }

    @Test("being overtaken makes a provider slower, never quicker")
    func overtaken() {
        var ranking = ranking(.any, .any)
        ranking.answered(Self.a, after: .milliseconds(50))
        ranking.answered(Self.b, after: .milliseconds(60))
        ranking.overtaken(Self.b, after: .milliseconds(1))
        #expect(order(ranking) == [0, 1])
        for _ in 0..<3 { ranking.overtaken(Self.a, after: .milliseconds(110)) }
        #expect(order(ranking) == [1, 0])
    }

    @Test("a provider that was never measured is judged by being overtaken only after the time it was granted")
    func overtakenUnmeasured() {
        var ranking = ranking(.any, .any)
        ranking.answered(Self.b, after: .milliseconds(60))
        ranking.overtaken(Self.a, after: .milliseconds(5))
        #expect(order(ranking) == [0, 1])
        #expect(ranking.hedgeDelay(Self.a) == .milliseconds(400))
        ranking.overtaken(Self.a, after: .milliseconds(420))
        #expect(order(ranking) == [1, 0])
    }

    @Test("the back-off doubles from 1 s to 30 s with each failure after it, and one answer ends it")
    func backOff() {
        var ranking = ranking(.any, .any)
        var now = Duration.zero
        for seconds in [1, 2, 4, 8, 16, 30, 30, 30] {
            ranking.failed(Self.a, now: start + now)
            #expect(order(ranking, after: now + .seconds(seconds) - .milliseconds(1)) == [1, 0])
            now += .seconds(seconds)
            #expect(order(ranking, after: now) == [0, 1])
        }
        ranking.failed(Self.a, now: start + now)
        ranking.answered(Self.a, after: .milliseconds(20))
        ranking.answered(Self.b, after: .milliseconds(40))
        #expect(order(ranking, after: now) == [0, 1])
        ranking.failed(Self.a, now: start + now)
        #expect(order(ranking, after: now + .seconds(1)) == [0, 1])
    }

    @Test("failures during a back-off do not lengthen it")
    func failuresTogether() {
        var ranking = ranking(.any, .any)
        for offset in 0..<50 { ranking.failed(Self.a, now: start + .milliseconds(offset)) }
        #expect(order(ranking, after: .milliseconds(999)) == [1, 0])
        #expect(order(ranking, after: .seconds(1)) == [0, 1])
    }

    @Test("of those that failed, the one that returns first is asked first")
    func byReturn() {
        var ranking = ranking(.any, .any, .any)
        ranking.failed(Self.b, now: start)
        ranking.failed(Self.a, now: start + .milliseconds(10))
        #expect(order(ranking, after: .milliseconds(20)) == [2, 1, 0])
        ranking.failed(Self.c, now: start + .milliseconds(5))
        #expect(order(ranking, after: .milliseconds(20)) == [1, 2, 0])
    }

    @Test("after a change of settings those that stay keep what was learned, and a changed one starts anew")
    func change() {
        var ranking = ranking(.any, .any)
        ranking.answered(Self.a, after: .milliseconds(50))
        ranking.answered(Self.b, after: .milliseconds(20))
        ranking.setProviders([ProviderTraits(id: Self.b, types: .any), ProviderTraits(id: Self.a, types: .addresses)])
        #expect(order(ranking) == [0, 1])
        #expect(ranking.hedgeDelay(Self.a) == .milliseconds(400))
        #expect(ranking.hedgeDelay(Self.b) == .milliseconds(60))
        #expect(ranking.knows(Self.a) && !ranking.knows(Self.c))
    }

    @Test("what is said about a provider that is gone changes nothing")
    func gone() {
        var ranking = ranking(.any)
        ranking.answered(Self.c, after: .milliseconds(50))
        ranking.overtaken(Self.c, after: .seconds(1))
        ranking.failed(Self.c, now: start)
        #expect(order(ranking) == [0])
    }
}
