// The learned state of providers, and the resulting order.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Ranking of providers")
struct UpstreamRankingTests {
    private let start = Instant.testStart
    private static let (a, b, c) = (RankedID(0), RankedID(1), RankedID(2))

    private func ranking(_ types: ProviderTraits.Types...) -> UpstreamRanking {
        let ranking = UpstreamRanking(seed: 1)
        ranking.setProviders(types.enumerated().map { ProviderTraits(id: RankedID($0.offset), types: $0.element) })
        return ranking
    }

    private func measured(_ milliseconds: Int...) -> UpstreamRanking {
        let ranking = UpstreamRanking(seed: 1)
        ranking.setProviders(milliseconds.indices.map { ProviderTraits(id: RankedID($0), types: .any) })
        for (index, latency) in milliseconds.enumerated() {
            answer(ranking, RankedID(index), latency, times: 20)
        }
        return ranking
    }

    private func answer(
        _ ranking: UpstreamRanking, _ provider: RankedID, _ milliseconds: Int, times: Int = 1,
        at time: Duration = .zero
    ) {
        for _ in 0..<times { ranking.answered(provider, after: .milliseconds(milliseconds), now: start + time) }
    }

    private func order(_ ranking: UpstreamRanking, after: Duration = .zero, _ type: RecordType = .a) -> [Int] {
        ranking.order(for: QuestionKind(type: type, needsDNSSEC: false), among: .providers, now: start + after).map(
            \.number)
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

    @Test("an unmeasured provider is measured with every lookup until it answers, a billed one only at intervals")
    func measurementsOfBilled() throws {
        let question = Question(try #require(Name("www.example.com")), .a)
        for isBilled in [false, true] {
            let ranking = UpstreamRanking(seed: 1)
            let billed = ProviderTraits(id: Self.b, types: .any, isBilled: isBilled)
            ranking.setProviders([ProviderTraits(id: Self.a, types: .any), billed])
            answer(ranking, Self.a, 10)
            let lookups = (0..<25).map { second in
                let now = start + .seconds(second)
                let beside = ranking.begunLookup(with: Self.a, for: question, among: .providers, now: now)
                if beside == [ProviderID(1)] {
                    ranking.begun(Self.b, now: now)
                    ranking.ended(Self.b, isHeard: true, now: now)
                    ranking.failed(Self.b, .status, of: question.name, now: now)
                }
                return beside
            }
            let measured = lookups.indices.filter { !lookups[$0].isEmpty }
            #expect(measured == (isBilled ? [0, 10, 20] : Array(0..<25)))
        }
    }

    @Test("the quick come before the slow, and the unmeasured after both")
    func byLatency() {
        let ranking = ranking(.any, .any, .any)
        answer(ranking, Self.b, 90)
        answer(ranking, Self.c, 30)
        #expect(order(ranking) == [2, 1, 0])
        answer(ranking, Self.a, 60)
        #expect(order(ranking) == [2, 0, 1])
    }

    @Test("the estimate for an account's names is the account's, and that for others leaves it out")
    func accountsOwnEstimate() {
        let ranking = UpstreamRanking(seed: 1)
        ranking.setProviders([
            ProviderTraits(id: Self.a, types: .any), ProviderTraits(id: Self.b, types: .any, hasOwnNames: true),
        ])
        answer(ranking, Self.a, 300, times: 20)
        answer(ranking, Self.b, 10, times: 20)
        let own = NameUpstreams.owners([ProviderID(1)], isExclusive: true)
        #expect(ranking.best(for: .a, among: .providers, now: start) == Self.a)
        #expect(ranking.best(for: .a, among: own, now: start) == Self.b)
        let times = [NameUpstreams.providers, own].map {
            ranking.firstAndHedgeTime(for: .a, among: $0, now: start)
        }
        #expect(times[1] < times[0])
    }

    @Test("a lookup may ask what its upstreams include and carry the type")
    func mayAsk() {
        let ranking = UpstreamRanking(seed: 1)
        ranking.setProviders([
            ProviderTraits(id: Self.a, types: .addresses),
            ProviderTraits(id: Self.b, types: .any, hasOwnNames: true),
            ProviderTraits(id: Self.c, types: .any, shadowShare: 1),
        ])
        let asked = { (upstreams: NameUpstreams, type: RecordType) in
            [Self.a, Self.b, Self.c].filter {
                ranking.mayAsk($0, for: QuestionKind(type: type, needsDNSSEC: false), among: upstreams)
            }
        }
        #expect(asked(.providers, .a) == [Self.a])
        #expect(asked(.providers, .mx).isEmpty)
        #expect(asked(.owners([ProviderID(1)], isExclusive: false), .a) == [Self.a, Self.b])
        #expect(asked(.provider(ProviderID(2)), .a) == [Self.c])
        #expect(asked(.system, .a).isEmpty)
    }

    @Test("one slow answer does not outweigh many quick ones, several do")
    func smoothing() {
        let ranking = measured(20, 50)
        answer(ranking, Self.a, 200)
        #expect(order(ranking) == [0, 1])
        answer(ranking, Self.a, 200, times: 3)
        #expect(order(ranking) == [1, 0])
    }

    @Test("an old measurement counts less: after an hour the next one is nearly all")
    func age() throws {
        let ranking = measured(20)
        answer(ranking, Self.a, 100, at: .seconds(1))
        let soon = try #require(ranking.estimate(of: Self.a, now: start)?.latencyMilliseconds)
        #expect(abs(soon - 30) < 0.5)
        answer(ranking, Self.a, 100, at: .seconds(3601))
        let late = try #require(ranking.estimate(of: Self.a, now: start)?.latencyMilliseconds)
        #expect(late > 90 && late < 100)
    }

    @Test("a failure in ten weighs like some 25 ms, and less once it is minutes ago; an outage counts once")
    func success() throws {
        let ranking = measured(20, 30)
        for second in 1...20 {
            ranking.breaks(Self.a, .timeout, now: start + .seconds(100 * second))
            #expect(order(ranking, after: .seconds(100 * second + 40)) == [1, 0])
        }
        answer(ranking, Self.a, 20, at: .seconds(2041))
        #expect(order(ranking, after: .seconds(2041)) == [0, 1], "twenty failures of one outage")
        for second in 0..<10 {
            ranking.failed(Self.a, .reset, of: .root, now: start + .seconds(2050 + 2 * second))
            answer(ranking, Self.a, 20, times: 9, at: .seconds(2051 + 2 * second))
        }
        let share = ranking.standings[0].successShare(start + .seconds(2071))
        #expect(share > 0.88 && share < 0.94)
        #expect(order(ranking, after: .seconds(2071)) == [1, 0])
        #expect(order(ranking, after: .seconds(3600)) == [0, 1])
    }

    @Test("the hedge delay is the 95th percentile, and up to three times the latency while few answers are known")
    func hedgeDelay() {
        let ranking = ranking(.any)
        #expect(ranking.hedgeDelay(Self.a) == .milliseconds(400))
        answer(ranking, Self.a, 40)
        #expect(ranking.hedgeDelay(Self.a) == .milliseconds(120))
        answer(ranking, Self.a, 80)
        #expect(ranking.hedgeDelay(Self.a) == .milliseconds(80 + 60))
        answer(ranking, Self.a, 100, times: 64)
        #expect(abs((ranking.hedgeDelay(Self.a) - .milliseconds(103)).seconds) < 0.0005)
        answer(ranking, Self.a, 300, times: 3)
        #expect(ranking.hedgeDelay(Self.a) < .milliseconds(110), "three of 64 are not the measure")
        answer(ranking, Self.a, 300)
        #expect(ranking.hedgeDelay(Self.a) > .milliseconds(300))
        answer(ranking, Self.a, 2, times: 64)
        #expect(ranking.hedgeDelay(Self.a) == .milliseconds(30))
        answer(ranking, Self.a, 2500, times: 64)
        #expect(ranking.hedgeDelay(Self.a) == .milliseconds(800))
        #expect(ranking.hedgeDelay(Self.b) == .milliseconds(400))
    }

    @Test("an answer after a sleep counts as a time-out's length at most")
    func sleep() {
        let ranking = ranking(.any, .any)
        answer(ranking, Self.a, 86_400_000)
        answer(ranking, Self.b, 600)
        #expect(order(ranking) == [1, 0])
        answer(ranking, Self.a, 20, times: 20)
        #expect(order(ranking) == [0, 1])
    }

    @Test("being overtaken makes a provider slower, never quicker, until it answers again")
    func overtaken() {
        let ranking = measured(50, 60)
        ranking[Self.b]?.overtaken(after: .milliseconds(1))
        #expect(order(ranking) == [0, 1])
        for _ in 0..<3 { ranking[Self.a]?.overtaken(after: .milliseconds(110)) }
        #expect(order(ranking) == [1, 0])
        answer(ranking, Self.a, 50)
        #expect(order(ranking) == [0, 1])
    }

    @Test("a provider that was never measured is judged by being overtaken only after the time it was granted")
    func overtakenUnmeasured() {
        let ranking = ranking(.any, .any)
        ranking[Self.a]?.overtaken(after: .milliseconds(5))
        #expect(order(ranking) == [0, 1])
        #expect(ranking.hedgeDelay(Self.a) == .milliseconds(400))
        ranking[Self.a]?.overtaken(after: .milliseconds(420))
        #expect(order(ranking) == [1, 0])
    }

    @Test(
        "the back-off grows with each failure, up to 30 s or to 1.5 s where nothing is heard, and one answer ends it",
        arguments: [
            (FetchFailure.status, [1, 2, 4, 8, 16, 30, 30, 30]), (.garbage, [1, 2, 4]), (.server, [1, 2, 4]),
            (.unacknowledged, [1, 1.5]), (.refused, [1, 1.5, 1.5, 1.5]), (.unreachable, [1, 1.5]),
            (.timeout, [1, 1.5]), (.tls, [1, 1.5]),
            (.reset, [1, 1.5]),
        ])
    func backOff(_ failure: FetchFailure, _ pauses: [Double]) {
        let ranking = measured(20, 40)
        var now = Duration.zero
        for seconds in pauses {
            ranking.breaks(Self.a, failure, now: start + now)
            #expect(ranking.standings[0].isFailing(start + now + .seconds(seconds) - .milliseconds(1)))
            now += .seconds(seconds)
            #expect(!ranking.standings[0].isFailing(start + now), "it may be tried")
            #expect(order(ranking, after: now) == [1, 0], "and is not relied on")
        }
        answer(ranking, Self.a, 20, at: now)
        answer(ranking, Self.b, 40, times: 3, at: now)
        #expect(order(ranking, after: now + .seconds(30)) == [0, 1])
        ranking.breaks(Self.a, failure, now: start + now)
        #expect(!ranking.standings[0].isFailing(start + now + .seconds(1)))
    }

    @Test("a breaker opens after two failed connections, two domains with unusable replies or three that time out")
    func opening() throws {
        for (failure, times) in [
            (FetchFailure.refused, 2), (.reset, 2), (.tls, 2), (.unreachable, 2), (.unacknowledged, 2), (.status, 2),
            (.garbage, 2), (.timeout, 3),
        ] {
            let ranking = measured(20, 40)
            for number in 1...times {
                #expect(!ranking.standings[0].isFailing(start))
                let domain = try #require(Name("d\(number).example"))
                ranking.failed(Self.a, failure, of: domain, now: start)
            }
            #expect(ranking.standings[0].isFailing(start), "\(failure)")
            let mayComeOfNames = [.status, .garbage, .timeout].contains(failure)
            #expect(ranking.isInTrouble(Self.a, start) == !mayComeOfNames, "\(failure)")
        }
    }

    @Test("one domain opens no breaker, however often it fails, and neither do two that time out")
    func oneDomain() throws {
        let domains = try ["one.example", "two.example"].map { try #require(Name($0)) }
        for failure in [FetchFailure.status, .garbage, .timeout] {
            let ranking = measured(20, 40)
            for number in 0..<100 {
                let domain = failure == .timeout ? domains[number % 2] : domains[0]
                ranking.failed(Self.a, failure, of: domain, now: start)
            }
            #expect(ranking[Self.a]?.state(start) == .up)
            #expect(order(ranking) == [0, 1] || failure == .timeout)
        }
    }

    @Test("attempts that waited for one connection make one failure, and so do names that may have shared a request")
    func oneCause() throws {
        let domains = try (1...5).map { try #require(Name("d\($0).example")) }
        let ranking = measured(20, 40)
        for domain in domains {
            ranking.failed(Self.a, .tls, of: domain, startedAt: start, now: start + .milliseconds(20))
        }
        #expect(ranking[Self.a]?.state(start + .milliseconds(20)) == .up)
        let again = start + .milliseconds(21)
        ranking.failed(Self.a, .tls, of: domains[0], startedAt: again, now: again + .milliseconds(20))
        #expect(ranking[Self.a]?.state(again + .milliseconds(20)) == .down)

        for failure in [FetchFailure.timeout, .status] {
            let ranking = UpstreamRanking(seed: 1)
            ranking.setProviders([ProviderTraits(id: Self.a, types: .any, maxNames: 5)])
            ranking.answered(Self.a, after: .milliseconds(20), now: start)
            for seconds in 0..<3 {
                let startedAt = start + .seconds(seconds)
                let isExpected = seconds < (failure == .timeout ? 3 : 2)
                #expect((ranking[Self.a]?.state(startedAt) == .up) == isExpected, "\(failure) \(seconds)")
                for (index, domain) in domains.enumerated().dropFirst(seconds) {
                    let startedAt = startedAt + .microseconds(100 * index)
                    ranking.failed(Self.a, failure, of: domain, startedAt: startedAt, now: startedAt)
                }
            }
            #expect(ranking[Self.a]?.state(start + .seconds(2)) == .down)
        }
    }

    @Test("a success, and a reply without an answer, begin the count anew")
    func successBetween() {
        let ranking = measured(20, 40)
        for number in 0..<20 {
            ranking.failed(Self.a, .reset, of: .root, now: start)
            if number.isMultiple(of: 2) { answer(ranking, Self.a, 20) } else { ranking.replied(Self.a, now: start) }
        }
        #expect(ranking[Self.a]?.state(start) == .up)
    }

    @Test("a provider is silent when requests for three domains are out, and not when many of one are")
    func silence() throws {
        let ranking = measured(20, 40)
        let later = start + .seconds(2)
        let domains = ["one.example", "two.example", "three.example"]
        let holders = try domains.map { ShareHolder(try #require(Name($0)), nil) }
        for _ in 0..<100 { ranking[Self.a]?.begun(holders[0], now: start) }
        ranking[Self.a]?.begun(holders[1], now: start)
        #expect(!ranking.standings[0].isFailing(later))
        ranking[Self.a]?.begun(holders[2], now: start)
        #expect(ranking.standings[0].isFailing(later))
        #expect(!ranking.isInTrouble(Self.a, later))
        ranking.ended(Self.a, holders[2], isHeard: false, now: later)
        #expect(!ranking.standings[0].isFailing(later))
    }

    @Test("failures during a back-off do not lengthen it")
    func failuresTogether() {
        let ranking = ranking(.any, .any)
        for offset in 0..<50 { ranking.breaks(Self.a, .refused, now: start + .milliseconds(offset)) }
        #expect(ranking.isInTrouble(Self.a, start + .milliseconds(999)))
        #expect(!ranking.isInTrouble(Self.a, start + .seconds(1)))
    }

    @Test("of those that failed, the one that returns first is asked first")
    func byReturn() {
        let ranking = ranking(.any, .any, .any)
        ranking.breaks(Self.b, .refused, now: start)
        ranking.breaks(Self.a, .refused, now: start + .milliseconds(10))
        #expect(order(ranking, after: .milliseconds(20)) == [2, 1, 0])
        ranking.breaks(Self.c, .refused, now: start + .milliseconds(5))
        #expect(order(ranking, after: .milliseconds(20)) == [1, 2, 0])
    }

    @Test("after a change of settings those that stay keep what was learned, and a changed one starts anew")
    func change() {
        let ranking = ranking(.any, .any)
        answer(ranking, Self.a, 50)
        answer(ranking, Self.b, 20)
        ranking.setProviders([ProviderTraits(id: Self.b, types: .any), ProviderTraits(id: Self.a, types: .addresses)])
        #expect(order(ranking) == [1, 0])
        #expect(ranking.hedgeDelay(Self.a) == .milliseconds(400))
        #expect(ranking.hedgeDelay(Self.b) == .milliseconds(60))
        #expect(ranking[Self.a] != nil && ranking[Self.c] == nil)
    }

    @Test("what is said about a provider that is gone changes nothing")
    func gone() {
        let ranking = ranking(.any)
        answer(ranking, Self.c, 50)
        ranking[Self.c]?.overtaken(after: .seconds(1))
        ranking.breaks(Self.c, .refused, now: start)
        ranking[Self.c]?.throttled(for: .seconds(1), now: start)
        #expect(order(ranking) == [0])
    }
}
