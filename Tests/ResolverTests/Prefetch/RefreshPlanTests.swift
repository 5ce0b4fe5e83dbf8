// The structure of the refresh plan: its bound, the entries that leave it, and the spread of refreshes. Scenarios test
// its behaviour in time.

import DNSWire
import TestSupport
import Testing

@testable import Resolver

@Suite("Refresh plan")
struct RefreshPlanTests {
    private let start = Instant.testStart

    private func question(_ number: Int) throws -> Question { Question(try #require(Name("n\(number).example")), .a) }

    private func learned(_ seconds: UInt32) -> Learned {
        Learned(
            ttlSeconds: seconds, isNegative: false, isSubstitute: false, isProviders: true, isPublic: true,
            mayHaveAged: false)
    }

    @Test("names learned at one instant are refreshed at different ones, all between lead and end")
    func spread() throws {
        var plan = RefreshPlan(seed: 1)
        for number in 0..<100 {
            plan.asked(try question(number), now: start)
            plan.learned(try question(number), learned(60), isRefresh: false, upstreamLatency: .zero, now: start)
        }
        let lead = Duration.milliseconds(Freshness.leadMilliseconds(60))
        var instants: Set<Instant> = []
        while let due = plan.nextDeadline {
            #expect((start + .seconds(60) - lead..<start + .seconds(60)).contains(due))
            instants.insert(due)
            _ = plan.popDue(due)
        }
        #expect(instants.count > 50)
    }

    @Test("the most asked come first, with hits that are not counted yet, and looking changes nothing")
    func hottest() throws {
        var plan = RefreshPlan(seed: 1)
        for number in 0..<100 {
            for _ in 0...number { plan.asked(try question(number), now: start) }
        }
        let now = start + .seconds(10)
        let before = try (0..<100).map { plan.demand(for: try question($0)) }
        let quiet = plan.hottestQuestions(atMost: 3, hits: { _ in 0 }, now: now)
        #expect(try quiet.map(\.question) == [99, 98, 97].map { try question($0) })
        #expect(quiet[0].perSecond > quiet[1].perSecond && quiet[1].perSecond > quiet[2].perSecond)
        let (first, second) = (try question(0), try question(7))
        let hits = { (question: Question) in question == first ? 5_000 : question == second ? 900 : 0 }
        let busy = plan.hottestQuestions(atMost: 3, hits: hits, now: now)
        #expect(try busy.map(\.question) == [first, second, question(99)])
        // The estimate comes from 5,000 hits within ten seconds and the assumption of a quiet past.
        #expect(busy[0].perSecond > 100 && busy[0].perSecond < 500)
        #expect(try (0..<100).map { plan.demand(for: try question($0)) } == before)
        #expect(plan.hottestQuestions(atMost: 0, hits: hits, now: now).isEmpty)
        #expect(plan.hottestQuestions(atMost: 1000, hits: hits, now: now).count == 100)
    }

    @Test("a name is public once a provider has given its addresses, also without refreshes, until the network changes")
    func publicNames() throws {
        var plan = RefreshPlan(seed: 1)
        let questions = try (0..<4).map(question)
        let mail = questions[2].with(.mx)
        for question in questions + [mail] { plan.asked(question, now: start) }
        plan.learned(questions[0], learned(60), isRefresh: false, upstreamLatency: .zero, now: start)
        plan.gained(questions[1], isPublic: true)
        plan.learned(mail, learned(60), isRefresh: false, upstreamLatency: .zero, now: start)
        plan.gained(questions[3])
        #expect(plan.publicNames == Set(questions.prefix(2).map(\.name)))
        #expect(questions.map { plan.isPublic($0.name) } == [true, true, false, false])
        plan.networkChanged(to: .same, now: start)
        #expect(plan.isPublic(questions[0].name))
        plan.networkChanged(to: .known, now: start)
        #expect(plan.publicNames.isEmpty && !plan.isPublic(questions[0].name))
    }

    @Test("a full plan gives up a name that is asked less than others")
    func eviction() throws {
        var plan = RefreshPlan(seed: 1)
        for number in 0..<Bounds.maxPlanned {
            // Every second name is asked more often.
            for _ in 0...(number % 2 * 5) { plan.asked(try question(number), now: start) }
        }
        for number in 0..<1000 { plan.asked(try question(Bounds.maxPlanned + number), now: start) }
        let known = try (0..<Bounds.maxPlanned).filter { plan.demand(for: try question($0)) != nil }
        #expect(known.count == Bounds.maxPlanned - 1000)
        #expect(known.count { $0 % 2 == 1 } == Bounds.maxPlanned / 2, "none of those in use has left")
    }

    @Test("a full plan looks at eight entries for each new name, and at the next eight for the next name")
    func evictionSample() throws {
        var plan = RefreshPlan(seed: 1)
        let samples = 0..<Bounds.maxPlanned / Bounds.planSample
        // The least used entry of each sample is the last, and it is used more than that of the next sample.
        for sample in samples {
            for place in 0..<Bounds.planSample {
                let isLast = place == Bounds.planSample - 1
                let age = Duration.seconds(isLast ? samples.count + sample : 0)
                plan.asked(try question(sample * Bounds.planSample + place), now: start - age)
            }
        }
        for sample in samples.prefix(100) {
            plan.asked(try question(Bounds.maxPlanned + sample), now: start)
            let last = try question(sample * Bounds.planSample + Bounds.planSample - 1)
            let nextLast = try question((sample + 1) * Bounds.planSample + Bounds.planSample - 1)
            #expect(plan.demand(for: last) == nil)
            #expect(plan.demand(for: nextLast) != nil)
        }
    }

    @Test("a flood of other names displaces no kept name")
    func evictionOfKept() throws {
        var plan = RefreshPlan(seed: 1)
        let kept = try (0..<20).map { try question($0) }
        plan.keep(kept, now: start)
        for number in 100..<100 + 3 * Bounds.maxPlanned { plan.asked(try question(number), now: start) }
        #expect(kept.allSatisfy(plan.isKept))
    }

    @Test("a kept question is scheduled whatever comes of its refresh")
    func keptStaysScheduled() throws {
        var plan = RefreshPlan(seed: 1)
        let question = try question(0)
        plan.keep([question], now: start)
        var now = start
        for ttlSeconds: UInt32? in [0, nil, 60, 0, 600, 5, nil, 86_400, 2, 0, nil] {
            now = max(now, try #require(plan.outlook(of: question, hits: 0, now: now)?.plannedAt))
            for due in plan.popDue(now) { #expect(plan.counted(due, hits: 0, now: now).isRequested) }
            if let ttlSeconds {
                plan.learned(question, learned(ttlSeconds), isRefresh: true, upstreamLatency: .zero, now: now)
            }
            #expect(
                plan.outlook(of: question, hits: 0, now: now)?.plannedAt != nil, "\(String(describing: ttlSeconds))")
        }
    }

    @Test("restored names beyond the bound are left out, and displace no other name")
    func restoredBeyondTheBound() throws {
        var plan = RefreshPlan(seed: 1)
        for number in 0..<Bounds.maxPlanned { plan.asked(try question(number), now: start) }
        let late = RestoredAnswer(
            try question(Bounds.maxPlanned), demandPerSecond: 9, lifetimeSeconds: 60, expiresAt: start,
            isNegative: false)
        plan.restored(late, now: start)
        #expect(plan.demand(for: late.question) == nil)
        #expect(plan.nextDeadline == nil)
    }

    @Test("a popular name, too, is dropped after a bounded number of refreshes without a query")
    func unread() throws {
        var plan = RefreshPlan(seed: 1)
        let popular = try question(0)
        for _ in 0..<10_000 { plan.asked(popular, now: start) }
        var refreshes = 0
        var now = start
        repeat {
            plan.learned(popular, learned(60), isRefresh: refreshes > 0, upstreamLatency: .zero, now: now)
            now = try #require(plan.nextDeadline)
            #expect(plan.popDue(now) == [popular])
            refreshes += 1
            try #require(refreshes < 100)
        } while plan.counted(popular, hits: 0, now: now).isInUse
        #expect(refreshes == Bounds.maxUnreadRefreshes)
        #expect(plan.nextDeadline == nil, "idle")
        plan.asked(popular, now: now)
        plan.learned(popular, learned(60), isRefresh: false, upstreamLatency: .zero, now: now)
        #expect(plan.counted(popular, hits: 0, now: now + .seconds(59)).isInUse, "asked again, in use again")
    }

    @Test("a question that failed waits for its retry, however often other refreshes have room for one more")
    func failedIsNotEarly() throws {
        var plan = RefreshPlan(seed: 1)
        for number in 0..<2 {
            plan.asked(try question(number), now: start)
            plan.learned(try question(number), learned(60), isRefresh: false, upstreamLatency: .zero, now: start)
        }
        let end = start + .seconds(60)
        #expect(plan.popEarly(end, atMost: 2).count == 2)
        plan.failed(try question(0), retryAt: end + .seconds(30))
        plan.failed(try question(1), retryAt: end - .seconds(1))
        #expect(plan.popEarly(end, atMost: 2) == [try question(1)])
        #expect(plan.popDue(end + .seconds(31)) == [try question(0)])
        plan.charged(try question(0), to: RankedID(0), from: end + .milliseconds(31_500))
        #expect(
            plan.popEarly(end + .seconds(31), atMost: 2).isEmpty,
            "a question whose budget is charged waits for its time")
    }

    @Test("a postponed refresh keeps its turn before those that fell due later, and does not count as unread")
    func postponement() throws {
        var plan = RefreshPlan(seed: 1)
        for number in 0..<3 {
            let question = try question(number)
            plan.asked(question, now: start)
            plan.learned(question, learned(60), isRefresh: false, upstreamLatency: .zero, now: start + .seconds(number))
        }
        let later = start + .seconds(70)
        for round in 0..<50 {
            #expect(plan.popDue(later) == [try question(0)], "round \(round)")
            #expect(plan.counted(try question(0), hits: round == 0 ? 1 : 0, now: later).isInUse)
            plan.postponed(try question(0), now: later)
        }
    }

    @Test("a deferred refresh stays in use, however often it is deferred")
    func deferral() throws {
        var plan = RefreshPlan(seed: 1)
        let question = try question(0)
        plan.asked(question, now: start)
        plan.learned(question, learned(60), isRefresh: false, upstreamLatency: .zero, now: start)
        var now = try #require(plan.nextDeadline)
        for round in 0..<20 {
            #expect(plan.popDue(now) == [question], "round \(round)")
            #expect(plan.counted(question, hits: 0, now: now).isInUse, "round \(round)")
            plan.deferred(question, until: now + .seconds(2))
            now = try #require(plan.nextDeadline)
        }
    }
}

@Suite("Demand")
struct DemandTests {
    private let start = Instant.testStart

    @Test("the rate follows what is asked, and fades when nothing is")
    func decay() {
        var demand = Demand(now: start)
        for second in 1...600 { demand.count(1, now: start + .seconds(second)) }
        #expect((0.9...1.1).contains(demand.perSecond))
        demand.count(0, now: start + .seconds(1200))
        let afterTenMinutes = demand.perSecond
        #expect((0.3...0.6).contains(afterTenMinutes))
        demand.count(0, now: start + .seconds(86_400))
        #expect(demand.perSecond < 0.01)
    }

    @Test("counting often and seldom comes to the same rate")
    func granularity() {
        var often = Demand(now: start)
        var seldom = Demand(now: start)
        for second in 1...60 { often.count(2, now: start + .seconds(second)) }
        seldom.count(120, now: start + .seconds(60))
        #expect(abs(often.perSecond / seldom.perSecond - 1) < 0.1)
    }

    @Test("a rate that is restored is the rate that was saved, and a clock that stands still changes nothing")
    func restored() {
        var demand = Demand(perSecond: 0.25, now: start)
        #expect(abs(demand.perSecond - 0.25) < 0.001)
        demand.count(0, now: start)
        demand.count(0, now: start - .seconds(9))
        #expect(abs(demand.perSecond - 0.25) < 0.001)
    }
}
