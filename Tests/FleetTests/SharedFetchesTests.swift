// The members' requests to a provider: one member asks for an entry that several miss, and every member asks if Redis
// does not work.

import DNSWire
import Testing

@testable import Fleet

@Suite struct SharedFetchesTests {
    private let start = Instant(nanoseconds: 1_000_000_000_000)
    private let terms = FetchPolicy(
        entries: ["h1:0:a"], lease: .milliseconds(400), leastLife: .milliseconds(500), patience: .milliseconds(1500))
    private let answer = SharedAnswer(
        Answer(records: [ResourceRecord(owner: Name("a.example")!, address: .v4(1), ttlSeconds: 60)]), from: "p",
        by: "host-7")
    private var fetches = SharedFetches(readTimeout: .milliseconds(5))

    private mutating func begin(_ id: UInt64) {
        #expect(fetches.begin(id, terms, isInUse: true, now: start) == .call(id))
    }

    /// Begins a request whose lease another member has.
    private mutating func wait(_ id: UInt64, left: Duration = .milliseconds(300)) -> [SharedFetches.Step] {
        begin(id)
        return fetches.replied(id, .theirs(left: left, owner: "other"), now: start)
    }

    @Test("without Redis, requests ask in the order of their numbers, however they came")
    func orderWithoutRedis() {
        let orders = [Array(1...50), (1...50).reversed()] as [[UInt64]]
        for order in orders {
            var fetches = SharedFetches(readTimeout: .milliseconds(5))
            for id in order { _ = fetches.begin(id, terms, isInUse: true, now: start) }
            #expect(fetches.switchedOff() == (1...50).map { .askAlone($0) })
        }
    }

    @Test mutating func anAnswerIsGiven() {
        begin(1)
        #expect(fetches.nextDeadline == start + .milliseconds(5))
        #expect(
            fetches.replied(1, .answer(answer, left: .seconds(9)), now: start)
                == [.give(1, answer, left: .seconds(9))])
        #expect(fetches.nextDeadline == nil && fetches.counts.answers == 1)
        let wasAsking = fetches.ended(1)
        #expect(!wasAsking)
    }

    @Test mutating func theLeaseIsForOneRequest() {
        begin(1)
        #expect(fetches.replied(1, .ours(after: .zero), now: start) == [.ask(1)])
        #expect(fetches.nextDeadline == nil)
        let wasAsking = fetches.ended(1)
        #expect(wasAsking && fetches.policy(of: 1) == nil)
    }

    @Test mutating func theOthersWaitForThePublication() {
        #expect(wait(1).isEmpty)
        #expect(wait(2).isEmpty)
        #expect(fetches.nextDeadline == start + .milliseconds(302))
        #expect(fetches.published("h1:0:b", answer, left: .seconds(60)).isEmpty)
        #expect(
            fetches.published("h1:0:a", answer, left: .seconds(60)) == [
                .give(1, answer, left: .seconds(60)), .give(2, answer, left: .seconds(60)),
            ])
        #expect(fetches.counts.awaited == 2 && fetches.nextDeadline == nil)
    }

    @Test mutating func afterALeaseIsGivenBackAnotherMemberGetsIt() {
        _ = wait(1)
        _ = wait(2)
        let steps = fetches.released("h1:0:a", asksAtOnce: false)
        #expect(steps == [.call(1), .call(2)])
        #expect(fetches.replied(1, .ours(after: .zero), now: start) == [.ask(1)])
        #expect(fetches.replied(2, .theirs(left: .milliseconds(400), owner: "other"), now: start).isEmpty)
        #expect(fetches.published("h1:0:a", answer, left: .seconds(60)).last == .give(2, answer, left: .seconds(60)))
    }

    @Test mutating func anAnswerThatOthersCanNotUseMakesEachAsk() {
        _ = wait(1)
        _ = wait(2)
        let steps = fetches.released("h1:0:a", asksAtOnce: true)
        #expect(steps == [.askAlone(1), .askAlone(2)] && fetches.nextDeadline == nil)
    }

    /// The member has to ask the provider while its resolver still waits.
    @Test mutating func allWaitsTogetherAreBounded() {
        let brief = FetchPolicy(
            entries: ["h1:0:a"], lease: .milliseconds(400), leastLife: .zero, patience: .milliseconds(500))
        _ = fetches.begin(1, brief, isInUse: true, now: start)
        _ = fetches.replied(1, .theirs(left: .milliseconds(400), owner: "other"), now: start)
        let end = start + .milliseconds(402)
        #expect(fetches.timePassed(now: end).steps == [.call(1)])
        _ = fetches.replied(1, .theirs(left: .milliseconds(400), owner: "other"), now: end)
        #expect(fetches.nextDeadline == start + .milliseconds(500))
        #expect(fetches.timePassed(now: start + .milliseconds(500)).steps == [.askAlone(1)])
    }

    @Test mutating func whenALeaseEndsOneOfThemGetsTheNext() {
        // A false time in a reply delays no request for longer than a lease.
        _ = wait(1, left: .seconds(1000))
        _ = wait(2, left: .seconds(1000))
        #expect(fetches.timePassed(now: start + .milliseconds(401)).steps.isEmpty)
        let end = start + .milliseconds(402)
        let due = fetches.timePassed(now: end)
        #expect(due.steps == [.call(1), .call(2)] && due.timeouts == 0)
        #expect(fetches.replied(1, .ours(after: .zero), now: end) == [.ask(1)])
        #expect(fetches.replied(2, .theirs(left: .milliseconds(400), owner: "other"), now: end).isEmpty)
        #expect(fetches.counts.endedLeases == 2)
        // The next owner dies as well.
        let last = fetches.timePassed(now: end + .milliseconds(402))
        #expect(last.steps == [.askAlone(2)] && last.timeouts == 0)
    }

    @Test mutating func withoutAReplyTheProviderIsAskedAndALateAnswerIsOfUse() {
        begin(1)
        let due = fetches.timePassed(now: start + .milliseconds(5))
        #expect(due.steps == [.askAlone(1)] && due.timeouts == 1)
        let late = fetches.replied(1, .answer(answer, left: .seconds(3)), now: start + .milliseconds(50))
        #expect(late == [.late(1, answer, left: .seconds(3))])
        #expect(fetches.replied(1, .answer(answer, left: .seconds(3)), now: start).isEmpty)
        let wasAsking = fetches.ended(1)
        #expect(wasAsking)
    }

    @Test mutating func noRequestWaitsWhenRedisIsNotUsed() {
        #expect(fetches.begin(1, terms, isInUse: false, now: start) == .askAlone(1))
        begin(2)
        _ = wait(3)
        let steps = fetches.switchedOff()
        #expect(steps.count == 2 && steps.contains(.askAlone(2)) && steps.contains(.askAlone(3)))
        #expect(fetches.nextDeadline == nil)
        // A late reply is used nevertheless.
        let late = fetches.replied(2, .answer(answer, left: .seconds(3)), now: start)
        #expect(late == [.late(2, answer, left: .seconds(3))])
        #expect(fetches.replied(3, .answer(answer, left: .seconds(3)), now: start).isEmpty)
    }

    @Test mutating func oneThatIsNotWantedAnyMoreLeavesTheOthers() {
        _ = wait(1)
        _ = wait(2)
        var wereAsking = [fetches.ended(1)]
        let steps = fetches.released("h1:0:a", asksAtOnce: false)
        #expect(steps == [.call(2)])
        wereAsking.append(fetches.ended(2))
        #expect(wereAsking == [false, false])
        let further = fetches.released("h1:0:a", asksAtOnce: false)
        #expect(further.isEmpty && fetches.nextDeadline == nil)
    }

    /// Deadlines reuse the numbers of earlier ones.
    @Test mutating func deadlinesOfEarlierRequestsAreForgotten() {
        begin(1)
        _ = fetches.ended(1)
        begin(2)
        let due = fetches.timePassed(now: start + .milliseconds(5))
        #expect(due.steps == [.askAlone(2)] && due.timeouts == 1)
    }

    @Test mutating func aLeaseMayHaveToWaitForItsTurn() {
        begin(1)
        #expect(fetches.replied(1, .ours(after: .milliseconds(40)), now: start).isEmpty)
        #expect(fetches.nextDeadline == start + .milliseconds(40))
        let due = fetches.timePassed(now: start + .milliseconds(40))
        #expect(due.steps == [.ask(1)] && due.timeouts == 0 && fetches.nextDeadline == nil)
        begin(2)
        _ = fetches.replied(2, .ours(after: .milliseconds(40)), now: start)
        // The request has a lease to give back.
        let wasAsking = fetches.ended(2)
        #expect(wasAsking && fetches.nextDeadline == nil)
    }

    @Test mutating func aBudgetThatIsUsedUpEndsTheRequest() {
        begin(1)
        #expect(
            fetches.replied(1, .deferred(.milliseconds(300)), now: start) == [.deferRequest(1, for: .milliseconds(300))]
        )
        #expect(fetches.policy(of: 1) == nil && fetches.counts.deferred == 1 && fetches.nextDeadline == nil)
        _ = fetches.begin(2, terms, isInUse: false, now: start)
        fetches.delay(2, until: start + .milliseconds(20))
        #expect(fetches.timePassed(now: start + .milliseconds(20)).steps == [.ask(2)])
        _ = fetches.begin(3, terms, isInUse: false, now: start)
        fetches.deferred(3)
        #expect(fetches.policy(of: 3) == nil && fetches.counts.deferred == 2)
    }

    /// The message on the channel may arrive before the reply to the call.
    @Test mutating func aPublicationBeforeTheReplyCounts() {
        begin(1)
        begin(2)
        #expect(fetches.awaiting("h1:0:a") == 1)
        #expect(
            fetches.published("h1:0:a", answer, left: .seconds(60)) == [
                .give(1, answer, left: .seconds(60)), .give(2, answer, left: .seconds(60)),
            ])
        #expect(fetches.replied(1, .theirs(left: .milliseconds(300), owner: "other"), now: start).isEmpty)
        #expect(fetches.nextDeadline == nil && fetches.awaiting("h1:0:a") == nil)
    }

    @Test mutating func aReleaseBeforeTheReplyCounts() {
        begin(1)
        #expect(fetches.released("h1:0:a", asksAtOnce: false).isEmpty)
        // The reply reports a lease that was given back meanwhile.
        #expect(fetches.replied(1, .theirs(left: .milliseconds(300), owner: "other"), now: start) == [.call(1)])
        #expect(fetches.replied(1, .theirs(left: .milliseconds(300), owner: "third"), now: start).isEmpty)
        #expect(fetches.published("h1:0:a", answer, left: .seconds(60)) == [.give(1, answer, left: .seconds(60))])
        begin(2)
        #expect(fetches.released("h1:0:a", asksAtOnce: true).isEmpty)
        #expect(fetches.replied(2, .theirs(left: .milliseconds(300), owner: "other"), now: start) == [.askAlone(2)])
    }

    /// The owner has stopped, and may hold more leases. An owner whose answer exists but whose message was lost does
    /// not count as stopped.
    @Test mutating func anOwnerWhoseLeaseEndsIsRememberedForAWhile() {
        _ = wait(1)
        let end = start + .milliseconds(302)
        #expect(fetches.timePassed(now: end).steps == [.call(1)])
        #expect(fetches.lostOwners(now: end) == [])
        #expect(fetches.replied(1, .ours(after: .zero), now: end) == [.ask(1)])
        #expect(fetches.lostOwners(now: end) == ["other"])
        #expect(fetches.lostOwners(now: end + .seconds(10)) == [])
        var later = SharedFetches(readTimeout: .milliseconds(5))
        _ = later.begin(1, terms, isInUse: true, now: start)
        _ = later.replied(1, .theirs(left: .milliseconds(300), owner: "other"), now: start)
        _ = later.timePassed(now: end)
        #expect(later.replied(1, .answer(answer, left: .seconds(9)), now: end).count == 1)
        #expect(later.lostOwners(now: end) == [])
    }

    /// The owner of the lease may wait for its turn first.
    @Test mutating func aWaitForATurnIsNotTheOwnersLateness() {
        let paced = FetchPolicy(
            entries: ["h1:0:a"], lease: .milliseconds(400), leastLife: .zero, patience: .milliseconds(500),
            turnWait: .seconds(4))
        _ = fetches.begin(1, paced, isInUse: true, now: start)
        _ = fetches.replied(1, .theirs(left: .seconds(3), owner: "other"), now: start)
        #expect(fetches.nextDeadline == start + .milliseconds(3002))
    }
}
