// Which calls a member makes, and what it believes of their replies. Whole fleets are simulated with the resolver.

import DNSWire
import Testing

@testable import Fleet

@Suite struct MembershipTests {
    private let start = Instant(nanoseconds: 1_000_000_000_000)
    private let time = RedisTime(1_700_000_000_000)
    private let keys: FleetKeys
    private let question = Question(Name("www.example")!, .a)
    private var provider = SharedProvider(name: "p", identity: "p", account: "account")
    private var member = Membership(token: "me")

    init() throws { keys = try FleetKeys([[UInt8](repeating: 1, count: 32)]) }

    private func terms(_ share: Set<SharedKind> = Set(SharedKind.allCases)) -> Membership.Terms {
        Membership.Terms(keys: keys, site: "s", member: "host-1", share: share)
    }

    /// In use, with Redis's time known.
    private mutating func join(_ share: Set<SharedKind> = Set(SharedKind.allCases)) {
        member.configure(terms(share), now: start)
        member.restore([:])
        member.switchedOn("redis", now: start)
        for call in member.takeCalls() { member.replied(to: call, .flushes(time, []), sentAt: start, now: start) }
        member.announce([1], now: start)
        for call in member.takeCalls() {
            member.replied(to: call, .presence(time, count: 4), sentAt: start, now: start)
        }
        // Notes the size.
        member.announce([1], now: start)
        _ = (member.takeCalls(), member.takeOutcomes())
    }

    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test mutating func aMissMakesOneCall() throws {
        join()
        let isTaken = member.begin(1, Membership.Fetch(question, at: provider), now: start)
        let calls = member.takeCalls()
        #expect(isTaken && calls.map(\.script) == [.lease] && member.size == 4)
        #expect(calls[0].keys.count == 5 && calls[0].keys.allSatisfy { $0.hasPrefix("h1:") })
        #expect(!calls[0].arguments.contains { text($0).contains("www") })
        member.replied(to: calls[0], .ours(time, demand: 0, after: .zero), sentAt: start, now: start)
        #expect(member.takeOutcomes() == [.ask(1)])
        member.answered(1, Answer(records: [record()]), now: start)
        let publication = member.takeCalls()
        #expect(publication.map(\.script) == [.publication])
        member.replied(to: publication[0], .done, sentAt: start, now: start)
        #expect(member.published == 1)
    }

    private func record() -> ResourceRecord {
        ResourceRecord(owner: question.name, address: .v4(0xC000_0201), ttlSeconds: 60)
    }

    @Test mutating func onlyWhatIsToBeSharedIsShared() {
        join([.flush])
        let isTaken = member.begin(1, Membership.Fetch(question, at: provider), now: start)
        member.reportEvidence(SharedEvidence(question.name, .v4(1)), now: start)
        member.volunteered(Answer(records: [record()]), Membership.Fetch(question, at: provider), now: start)
        #expect(!isTaken && member.takeCalls().isEmpty)
        member.orderFlush(.everything, 7, now: start)
        let calls = member.takeCalls()
        #expect(calls.map(\.script) == [.flush] && member.takeOutcomes().isEmpty)
        member.replied(to: calls[0], .done, sentAt: start, now: start)
        #expect(member.takeOutcomes() == [.flushOrdered(7, fault: nil)])
    }

    @Test mutating func withoutLeasesNoRequestWaits() {
        join([.answers])
        _ = member.begin(1, Membership.Fetch(question, at: provider), now: start)
        #expect(text(member.takeCalls()[0].arguments[1]) == "0")
        _ = member.takeOutcomes()
        member.orderFlush(.everything, 7, now: start)
        #expect(member.takeOutcomes() == [.flushOrdered(7, fault: "fleet.share has no \"flush\"")])
        #expect(member.knowsFlushes)
    }

    /// An answer that is not shared counts for the budget all the same.
    @Test mutating func aBudgetConcernsAllRequests() {
        provider.questionsPerSecond = 50
        join()
        var fetch = Membership.Fetch(question, at: provider)
        fetch.isShareable = false
        _ = member.begin(1, fetch, now: start)
        var call = member.takeCalls()[0]
        #expect(call.script == .pace && call.arguments.map(text) == ["20000", "200000"])
        member.replied(to: call, .deferred(time, demand: 0, for: .milliseconds(300)), sentAt: start, now: start)
        #expect(member.takeOutcomes() == [.deferred(1, until: start + .milliseconds(300))])
        // The last resort goes in any case, whatever Redis says.
        fetch.isLastResort = true
        _ = member.begin(2, fetch, now: start)
        call = member.takeCalls()[0]
        #expect(text(call.arguments[1]) == "-1")
        member.replied(to: call, .deferred(time, demand: 0, for: .milliseconds(300)), sentAt: start, now: start)
        #expect(member.takeOutcomes() == [.ask(2)])
        // Without Redis, the share of one of four.
        member.switchedOff(now: start)
        fetch.isLastResort = false
        for id: UInt64 in 3...6 { _ = member.begin(id, fetch, now: start + .seconds(2)) }
        let deferred = member.takeOutcomes().filter { if case .deferred = $0 { true } else { false } }
        #expect(deferred == [.deferred(6, until: start + .seconds(2) + .milliseconds(40))])
    }

    @Test mutating func queriesAreToldOnceAndOthersDemandIsTheRest() {
        join()
        var fetch = Membership.Fetch(question, at: provider)
        fetch.perSecond = 0.5
        _ = member.begin(1, fetch, now: start)
        let first = member.takeCalls()[0]
        #expect(text(first.arguments[5]) == "1000")
        member.replied(to: first, .ours(time, demand: 2_000_000, after: .zero), sentAt: start, now: start)
        #expect(member.takeOutcomes() == [.demandElsewhere(question, perSecond: 1.5), .ask(1)])
        member.failed(1)
        fetch.isForClient = false
        _ = member.begin(2, fetch, now: start + .seconds(10))
        #expect(text(member.takeCalls()[0].arguments[5]) == "5000")
    }

    @Test mutating func billedQuestionsAreSummedAndNoneIsLost() {
        join()
        member.bill("a", 3)
        member.announce([1], now: start)
        let calls = member.takeCalls()
        #expect(calls.map(\.script) == [.presence, .billing] && calls[1].arguments.prefix(2).map(text) == ["3", "0"])
        #expect(member.billed("a") == nil)
        member.bill("a", 2)
        member.replied(to: calls[1], .billing(time, sum: 10), sentAt: start, now: start)
        #expect(member.billed("a") == 12 && member.takeOutcomes() == [.billed(account: "a")])
        // Redis has lost its sum, and does not read.
        member.announce([1], now: start)
        let again = member.takeCalls()
        #expect(again[1].arguments.prefix(2).map(text) == ["2", "10"])
        member.callFailed(again[1], now: start)
        member.announce([1], now: start)
        #expect(member.takeCalls()[1].arguments.prefix(2).map(text) == ["2", "10"])
        // Accounts of former periods are given up.
        for number in 0..<64 { member.bill("b\(number)", 1) }
        #expect(member.billed("a") == nil)
    }

    /// Redis and all members start anew, as after a loss of power.
    @Test mutating func sumsAndTheNumberOfMembersSurviveAStart() throws {
        join()
        for account in ["json https://dns.example/ a, month until 1", "b"] { member.bill(account, 1) }
        member.announce([1], now: start)
        for (call, sum) in zip(member.takeCalls().dropFirst(), [900, 7]) {
            member.replied(to: call, .billing(time, sum: sum), sentAt: start, now: start)
        }
        member.announce([1], now: start)
        let call = member.takeCalls()[0]
        member.replied(to: call, .presence(time, count: 50), sentAt: start, now: start)
        member.announce([1], now: start)
        var notes: [FleetNote: String] = [:]
        for case .note(let note, let text) in member.takeOutcomes() { notes[note] = text }
        var next = Membership(token: "next")
        next.configure(terms(), now: start)
        next.restore(notes)
        #expect(next.billed("json https://dns.example/ a, month until 1") == 900 && next.billed("b") == 7)
        #expect(next.size == 50)
        next.switchedOn("redis", now: start)
        _ = next.takeCalls()
        next.announce([1], now: start)
        let told = next.takeCalls().dropFirst().map { $0.arguments.prefix(2).map(text) }
        #expect(Set(told) == [["0", "900"], ["0", "7"]])
        // Before the store was read, nothing replaces its notes.
        var early = Membership(token: "early")
        early.configure(terms(), now: start)
        early.switchedOn("redis", now: start)
        early.bill("b", 1)
        for _ in 0..<2 {
            early.announce([1], now: start)
            for call in early.takeCalls() where call.script == .billing {
                early.replied(to: call, .billing(time, sum: 1), sentAt: start, now: start)
            }
        }
        #expect(!early.takeOutcomes().contains { if case .note = $0 { true } else { false } })
        early.bill("b", 3)
        early.restore(notes)
        #expect(early.size == 50 && early.billed("b") == 10)
        // Nothing else is believed.
        for note in ["", "x", "-5 a", "99999999999999999 a", "5", "\n\n"] {
            var other = Membership(token: "other")
            other.restore([.bills: note, .size: note])
            #expect(other.billed("a") == nil && 1...5 ~= other.size)
        }
    }

    /// After a restart of Redis, members come back one by one: none may take its share for that of few.
    @Test mutating func theFleetDoesNotSeemSmallBecauseRedisWasLost() {
        join()
        func tell(_ count: Int, after seconds: Int64) {
            let now = start + .seconds(seconds)
            member.announce([1], now: now)
            for call in member.takeCalls() where call.script == .presence {
                member.replied(to: call, .presence(time, count: count), sentAt: now, now: now)
            }
        }
        tell(50, after: 1)
        member.switchedOff(now: start + .seconds(2))
        member.switchedOn("redis", now: start + .seconds(10))
        for seconds: Int64 in [10, 20, 30] {
            tell(3, after: seconds)
            #expect(member.size == 50)
        }
        tell(51, after: 35)
        #expect(member.size == 51)
        tell(3, after: 40)
        #expect(member.size == 3)
    }

    /// Redis may have taken a call that it did not reply to.
    @Test mutating func questionsInALostCallAreToldAgain() {
        join()
        member.bill("a", 3)
        member.announce([1], now: start)
        #expect(member.takeCalls()[1].arguments.prefix(2).map(text) == ["3", "0"])
        member.bill("a", 1)
        member.announce([1], now: start)
        #expect(member.takeCalls().map(\.script) == [.presence], "a call is open")
        member.switchedOff(now: start)
        member.switchedOn("redis", now: start)
        _ = member.takeCalls()
        member.announce([1], now: start)
        let again = member.takeCalls()[1]
        #expect(again.arguments.prefix(2).map(text) == ["4", "0"])
        member.replied(to: again, .invalid("OOM"), sentAt: start, now: start)
        member.announce([1], now: start)
        let last = member.takeCalls()[1]
        #expect(last.arguments.prefix(2).map(text) == ["4", "0"])
        // Nor is a wrong sum more than a wrong sum.
        member.replied(to: last, .billing(time, sum: .max), sentAt: start, now: start)
        member.bill("a", .max / 2)
        #expect(member.billed("a").map { $0 > 1_000_000 } == true)
    }

    @Test mutating func anAccountInUseIsNotGivenUpForOthers() {
        join()
        for number in 0..<200 {
            for account in ["a", "b\(number % 40)"] { member.bill(account, 1) }
        }
        member.announce([1], now: start)
        let billing = member.takeCalls().filter { $0.script == .billing }
        #expect(billing.count == 41 && billing.contains { text($0.arguments[0]) == "200" })
    }

    @Test mutating func anOrderThatRedisDoesNotTakeIsReported() throws {
        join()
        for order: UInt64 in 1...3 { member.orderFlush(.everything, order, now: start) }
        let calls = member.takeCalls()
        member.callFailed(calls[0], now: start)
        member.replied(to: calls[1], .invalid("OOM command not allowed"), sentAt: start, now: start)
        member.switchedOff(now: start)
        let faults = member.takeOutcomes().compactMap { outcome in
            if case .flushOrdered(let id, let fault) = outcome { "\(id) \(fault ?? "")" } else { nil }
        }
        #expect(faults.count == 3 && faults[0].hasPrefix("1 Redis is not used"))
        #expect(faults[1] == "2 Redis has refused the order: OOM command not allowed")
        #expect(faults[2].hasPrefix("3 Redis was lost before it replied"))
        member.replied(to: calls[2], .done, sentAt: start, now: start)
        #expect(member.takeOutcomes().isEmpty)
    }

    /// A lost flush must not come back with Redis, nor an old one be carried out again.
    @Test mutating func anOrderIsCarriedOutOnce() throws {
        join()
        let scope = QuestionScope(question.name)
        let put = RedisTime(time.milliseconds + 5000)
        let order = try FlushOrder(scope).bytes(at: put, keys)
        let element = FlushElement(try #require(FlushNumber(Array("\(put.milliseconds)-0".utf8))), order)
        func read(_ elements: [FlushElement], at time: RedisTime, after: Duration) -> [Membership.Outcome] {
            let now = start + after
            for call in member.takeCalls() where call.script == .flushes {
                member.replied(to: call, .flushes(time, elements), sentAt: now, now: now)
            }
            return member.takeOutcomes().filter { if case .flush = $0 { true } else { false } }
        }
        member.heard([], on: Membership.flushStream, now: start)
        let later = RedisTime(put.milliseconds + 60_000)
        #expect(read([element, element, element], at: put, after: .seconds(5)) == [.flush(scope)])
        for _ in 0..<3 {
            member.switchedOff(now: start)
            member.switchedOn("redis", now: start)
            #expect(read([element], at: later, after: .seconds(65)).isEmpty)
        }
        // Another Redis, whose clock is behind.
        member.switchedOff(now: start)
        member.switchedOn("redis", now: start)
        let behind = RedisTime(time.milliseconds - 3_600_000)
        #expect(read([], at: behind, after: .seconds(66)).isEmpty)
        let new = RedisTime(behind.milliseconds + 100)
        let another = FlushElement(
            try #require(FlushNumber(Array("\(new.milliseconds)-0".utf8))), try FlushOrder(scope).bytes(at: new, keys))
        member.heard([], on: Membership.flushStream, now: start)
        #expect(read([another], at: RedisTime(new.milliseconds + 1), after: .seconds(67)) == [.flush(scope)])
    }

    /// What Redis says of a value is not believed: only what the member wrote into it.
    @Test mutating func aValueHasToBeAsYoungAsItIsWanted() throws {
        join()
        member.flushed(QuestionScope(question.name), now: start)
        let now = start + .seconds(20)
        let fetch = Membership.Fetch(question, at: provider)
        let shared = SharedAnswer(Answer(records: [record()]), from: "p", by: "host-2")
        // It was put 5 s before the flush, or 5 s after it.
        for (put, isUsed) in [(-5000, false), (5000, true)] as [(Int64, Bool)] {
            _ = member.begin(1, fetch, now: now)
            let call = member.takeCalls()[0]
            let value = try shared.bytes(
                question, entry: call.keys[4], at: RedisTime(time.milliseconds + put), keys)
            let reply = FleetReply.value(
                RedisTime(time.milliseconds + 20_000), demand: 0, key: 1, try #require(value), left: .seconds(40))
            member.replied(to: call, reply, sentAt: now, now: now)
            let outcomes = member.takeOutcomes()
            if isUsed {
                #expect(outcomes == [.answered(1, shared.answer.withTTL(to: 40))])
            } else {
                #expect(outcomes == [.ask(1)] && member.refusals[.outdated] == 1)
            }
            member.abandon(1)
            member.releaseLeases()
            _ = member.takeCalls()
        }
    }

    /// A refresh wants an answer that lives longer than its own. What the provider has just told is as good as it gets.
    @Test mutating func aPublicationEndsTheWaitHoweverShortItLives() throws {
        join()
        var fetch = Membership.Fetch(question, at: provider)
        fetch.life = .seconds(2)
        _ = member.begin(1, fetch, now: start)
        let call = member.takeCalls()[0]
        member.replied(to: call, .theirs(time, demand: 0, left: .seconds(1)), sentAt: start, now: start)
        let answer = Answer(records: [ResourceRecord(owner: question.name, address: .v4(1), ttlSeconds: 1)])
        let shared = SharedAnswer(answer, from: "p", by: "host-2")
        let value = try #require(try shared.bytes(question, entry: call.keys[4], at: time, keys))
        member.heard(Array("\(call.keys[4]) 1000 ".utf8) + value, on: member.channel, now: start)
        #expect(member.takeOutcomes() == [.answered(1, answer)] && member.refusals.isEmpty)
    }

    /// A reply may be on its way while the question is flushed.
    @Test mutating func aFlushConcernsTheRequestsThatHaveBegun() throws {
        join()
        _ = member.begin(1, Membership.Fetch(question, at: provider), now: start)
        let call = member.takeCalls()[0]
        let shared = SharedAnswer(Answer(records: [record()]), from: "p", by: "host-2")
        let value = try #require(try shared.bytes(question, entry: call.keys[4], at: time, keys))
        let now = start + .seconds(10)
        member.flushed(QuestionScope(question.name), now: now)
        let reply = FleetReply.value(
            RedisTime(time.milliseconds + 10_000), demand: 0, key: 1, value, left: .seconds(50))
        member.replied(to: call, reply, sentAt: now, now: now)
        #expect(member.takeOutcomes() == [.ask(1)])
    }

    /// Anybody who can send messages could make it give back leases, or touch keys that are not the fleet's.
    @Test mutating func messagesLeadToNothingThatOnlyMembersMayDo() throws {
        join()
        for text in ["x one", "h1:f one", "h1:b: one", "h1:e:0 all", "one", "", " "] {
            member.heard(Array(text.utf8), on: member.channel, now: start)
        }
        #expect(member.takeCalls().isEmpty)
        _ = member.begin(1, Membership.Fetch(question, at: provider), now: start)
        let call = member.takeCalls()[0]
        member.replied(to: call, .theirs(time, demand: 0, left: .seconds(1)), sentAt: start, now: start)
        member.heard(Array("\(call.keys[4]) 60000 forged".utf8), on: member.channel, now: start)
        #expect(member.takeCalls().isEmpty && member.takeOutcomes().isEmpty)
        #expect(member.refusals.values.reduce(0, +) == 1)
    }

    @Test mutating func demandIsBoundedAndItsEndIsTold() {
        join()
        for (demand, told) in [(0, nil), (.max, 10_000), (-5, 0), (0, nil)] as [(Int64, Double?)] {
            _ = member.begin(1, Membership.Fetch(question, at: provider), now: start)
            let call = member.takeCalls()[0]
            member.replied(to: call, .ours(time, demand: demand, after: .zero), sentAt: start, now: start)
            let expected = told.map { Membership.Outcome.demandElsewhere(question, perSecond: $0) }
            #expect(member.takeOutcomes() == [expected, .ask(1)].compactMap(\.self))
            member.failed(1)
        }
    }

    /// Members whose keys are in another order while these are changed.
    @Test func aBudgetIsOneWhicheverKeyIsFirst() throws {
        let other = [UInt8](repeating: 2, count: 32)
        let first = [UInt8](repeating: 1, count: 32)
        let names = try [[first, other], [other, first]].map { try FleetKeys($0).name("h1:b:", "budget", []) }
        #expect(Set(names).count == 1)
    }

    /// A path or a stopped process can hold a reply for long.
    @Test func aLateReplyDoesNotTellTheTime() {
        var clock = RedisClock()
        clock.set(time, sentAt: start - .seconds(9), now: start)
        #expect(clock.time(at: start) == time)
        clock.set(RedisTime(time.milliseconds + 1000), sentAt: start, now: start + .seconds(5))
        #expect(clock.time(at: start + .seconds(5)) == RedisTime(time.milliseconds + 5000))
        clock.set(RedisTime(time.milliseconds + 4500), sentAt: start + .seconds(5), now: start + .seconds(5))
        #expect(clock.time(at: start + .seconds(5)) == RedisTime(time.milliseconds + 4500))
    }

    @Test mutating func evidenceIsSentOnceAndBelievedOfMembersOnly() throws {
        join()
        let evidence = SharedEvidence(question.name, .v4(7))
        for _ in 0..<3 { member.reportEvidence(evidence, now: start) }
        let calls = member.takeCalls()
        #expect(calls.map(\.script) == [.evidence])
        // Its own.
        member.heard(calls[0].arguments[0], on: Membership.evidenceChannel, now: start)
        #expect(member.takeOutcomes().isEmpty)
        let other = try SharedEvidence(question.name, .v4(8)).bytes(by: [1], at: time, keys)
        for after in [Duration.zero, .seconds(1)] {
            member.heard(other, on: Membership.evidenceChannel, now: start + after)
        }
        #expect(member.takeOutcomes() == [.evidence(SharedEvidence(question.name, .v4(8)))])
        // What was heard is not told again.
        member.reportEvidence(SharedEvidence(question.name, .v4(8)), now: start)
        #expect(member.takeCalls().isEmpty)
        let old = try SharedEvidence(question.name, .v4(9)).bytes(
            by: [1], at: RedisTime(time.milliseconds - 11_000), keys)
        for bytes in [old, [], Array(other.dropLast()), try FlushOrder(.everything).bytes(at: time, keys)] {
            member.heard(bytes, on: Membership.evidenceChannel, now: start)
        }
        #expect(member.takeOutcomes().isEmpty && member.refusals.values.reduce(0, +) == 4)
        for number: UInt32 in 100..<200 {
            member.reportEvidence(SharedEvidence(question.name, .v4(number)), now: start)
        }
        #expect(member.takeCalls().count <= 10)
    }

    @Test mutating func recordsOfMembersAreAuthentic() throws {
        join()
        let sealed = try keys.seal([5, 6], .member, place: "h1:n:other", at: RedisTime(time.milliseconds - 4000))
        let old = try keys.seal([7], .member, place: "h1:n:old", at: RedisTime(time.milliseconds - 31_000))
        let told = [
            (Array("other".utf8), sealed), (Array("moved".utf8), sealed), (Array("old".utf8), old), ([], []),
        ]
        let records = member.records(in: .members(time, FleetMembers(count: 3, records: told)))
        #expect(records == [Membership.MemberRecord(record: [5, 6], age: .seconds(4), isThis: false)])
        #expect(member.refusals == [.unauthenticated: 1, .outdated: 1])
        let memory = "# Memory\r\nmaxmemory:268435456\r\nmaxmemory_policy:volatile-ttl\r\n"
        let redis = FleetMembers(count: 0, records: [], memory: memory)
        #expect(redis.maxMemoryBytes == 268_435_456 && redis.evictionPolicy == "volatile-ttl")
        #expect(FleetMembers(count: 0, records: []).maxMemoryBytes == nil)
    }

    /// Nothing is waited for, and nothing is asked of a Redis that is not used.
    @Test mutating func aMemberAloneMakesNoCalls() {
        member.configure(terms(), now: start)
        member.restore([:])
        let isTaken = member.begin(1, Membership.Fetch(question, at: provider), now: start)
        #expect(isTaken && member.takeOutcomes() == [.ask(1)] && member.takeCalls().isEmpty)
        member.answered(1, Answer(records: [record()]), now: start)
        #expect(member.takeCalls().map(\.script).allSatisfy { $0 == .release } && member.unpublished == 1)
    }
}
