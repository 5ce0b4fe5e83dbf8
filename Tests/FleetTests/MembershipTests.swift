// The calls of a member, and its checks of the replies. ResolverTests simulate whole fleets.

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

    private func terms(_ share: Set<SharedKind> = Set(SharedKind.allCases)) -> FleetConfiguration {
        FleetConfiguration(keys: keys, site: "s", member: "host-1", share: share)
    }

    /// Makes the member use Redis and know its time.
    private mutating func join(_ share: Set<SharedKind> = Set(SharedKind.allCases)) {
        member.configure(terms(share), now: start)
        member.restore([:])
        member.switchedOn("redis", now: start)
        for call in member.takeCalls() { member.replied(to: call, .flushes(time, []), sentAt: start, now: start) }
        member.announce([1], now: start)
        for call in member.takeCalls() {
            member.replied(to: call, .presence(time, count: 4), sentAt: start, now: start)
        }
        // The second announcement notes the size.
        member.announce([1], now: start)
        _ = (member.takeCalls(), member.takeOutcomes())
    }

    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test mutating func aMissMakesOneCall() throws {
        join()
        let isTaken = member.begin(1, Membership.Fetch(question, at: provider), now: start)
        let calls = member.takeCalls()
        #expect(isTaken && calls.map(\.script) == [.lease] && member.size == 4)
        #expect(calls[0].keys.count == 5 && calls[0].keys.allSatisfy { $0.hasPrefix(keys.keys[0].prefix) })
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

    /// An answer that is not shared also counts for the budget.
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
        // A request of last resort may wait longer for its turn.
        fetch.isLastResort = true
        _ = member.begin(2, fetch, now: start)
        call = member.takeCalls()[0]
        #expect(text(call.arguments[1]) == "4000000")
        member.replied(to: call, .ours(time, demand: 0, after: .seconds(3)), sentAt: start, now: start)
        #expect(member.takeOutcomes().isEmpty && member.nextDeadline == start + .seconds(3))
        _ = member.timePassed(now: start + .seconds(3))
        #expect(member.takeOutcomes() == [.ask(2)])
        // Without Redis, the member has the share of one of four.
        let later = start + .seconds(9)
        member.switchedOff(now: later)
        fetch.isLastResort = false
        for id: UInt64 in 3...6 { _ = member.begin(id, fetch, now: later) }
        let deferred = member.takeOutcomes().filter { if case .deferred = $0 { true } else { false } }
        #expect(deferred == [.deferred(6, until: later + .milliseconds(40))])
    }

    /// A request that was abandoned before its turn or before the reply was not sent.
    @Test mutating func aTurnThatIsNotUsedIsGivenBack() {
        provider.questionsPerSecond = 10
        join()
        let wait: Duration = .milliseconds(150)
        let turn = "\(time.milliseconds * 1000 + 150_000)"
        for isShareable in [true, false] {
            var fetch = Membership.Fetch(question, at: provider)
            fetch.isShareable = isShareable
            for hasReply in [true, false] {
                _ = member.begin(1, fetch, now: start)
                let call = member.takeCalls()[0]
                let reply = FleetReply.ours(time, demand: 0, after: wait)
                if hasReply { member.replied(to: call, reply, sentAt: start, now: start) }
                member.abandon(1)
                if !hasReply { member.replied(to: call, reply, sentAt: start, now: start) }
                member.releaseLeases()
                let given = member.takeCalls()
                #expect(given.map(\.script) == (isShareable ? [.turnBack, .release] : [.turnBack]))
                #expect(given[0].arguments.map(text) == ["100000", turn])
                #expect(given[0].keys == (isShareable ? [call.keys[3]] : call.keys))
            }
        }
        // A request that was sent has used its turn.
        _ = member.begin(2, Membership.Fetch(question, at: provider), now: start)
        let call = member.takeCalls()[0]
        member.replied(to: call, .ours(time, demand: 0, after: wait), sentAt: start, now: start)
        _ = member.timePassed(now: start + wait)
        member.abandon(2)
        member.releaseLeases()
        #expect(member.takeCalls().map(\.script) == [.release])
    }

    /// An answer that was in flight during a flush is as old as its question, so it is not used.
    @Test mutating func anAnswerIsDatedByItsQuestion() throws {
        join()
        var other = Membership(token: "other")
        other.configure(terms(), now: start)
        other.restore([:])
        other.switchedOn("redis", now: start)
        for call in other.takeCalls() { other.replied(to: call, .flushes(time, []), sentAt: start, now: start) }
        _ = other.takeOutcomes()
        _ = member.begin(1, Membership.Fetch(question, at: provider), now: start)
        let call = member.takeCalls()[0]
        member.replied(to: call, .ours(time, demand: 0, after: .zero), sentAt: start, now: start)
        let flushedAt = start + .seconds(1)
        other.flushed(QuestionScope(question.name), now: flushedAt)
        let now = start + .seconds(2)
        member.answered(1, Answer(records: [record()]), now: now)
        member.volunteered(Answer(records: [record()]), Membership.Fetch(question, at: provider), now: now)
        for publication in member.takeCalls() where publication.script == .publication {
            _ = other.begin(2, Membership.Fetch(question, at: provider), now: now)
            let asked = other.takeCalls()[0]
            // The scripts read the time of a value here.
            let put = publication.arguments[0][5..<11].reduce(0) { $0 << 8 | Int64($1) }
            #expect(put <= time.milliseconds)
            let later = RedisTime(time.milliseconds + 2000)
            other.replied(
                to: asked, .value(later, demand: 0, key: 1, publication.arguments[0], left: .seconds(60)),
                sentAt: now, now: now)
            #expect(other.takeOutcomes() == [.ask(2)])
            other.abandon(2)
            other.releaseLeases()
            _ = other.takeCalls()
        }
        #expect(other.refusals == [.outdated: 2])
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

    /// Members come back one by one after a restart of Redis. None may take the share of a small fleet.
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

    /// A lost flush must not come back with Redis, and an old one must not be carried out again.
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
        member.heard([], on: member.channels[1], now: start)
        let later = RedisTime(put.milliseconds + 60_000)
        #expect(read([element, element, element], at: put, after: .seconds(5)) == [.flush(scope)])
        for _ in 0..<3 {
            member.switchedOff(now: start)
            member.switchedOn("redis", now: start)
            #expect(read([element], at: later, after: .seconds(65)).isEmpty)
        }
        // The member uses another Redis, whose clock is behind.
        member.switchedOff(now: start)
        member.switchedOn("redis", now: start)
        let behind = RedisTime(time.milliseconds - 3_600_000)
        #expect(read([], at: behind, after: .seconds(66)).isEmpty)
        let new = RedisTime(behind.milliseconds + 100)
        let another = FlushElement(
            try #require(FlushNumber(Array("\(new.milliseconds)-0".utf8))), try FlushOrder(scope).bytes(at: new, keys))
        member.heard([], on: member.channels[1], now: start)
        #expect(read([another], at: RedisTime(new.milliseconds + 1), after: .seconds(67)) == [.flush(scope)])
    }

    /// The member trusts only the time inside an authenticated value, not the time that Redis reports.
    @Test mutating func aValueHasToBeAsYoungAsItIsWanted() throws {
        join()
        member.flushed(QuestionScope(question.name), now: start)
        let now = start + .seconds(20)
        let fetch = Membership.Fetch(question, at: provider)
        let shared = SharedAnswer(Answer(records: [record()]), from: "p", by: "host-2")
        // The value was stored 5 s before the flush, or 5 s after it.
        for (put, isUsed) in [(-5000, false), (5000, true)] as [(Int64, Bool)] {
            _ = member.begin(1, fetch, now: now)
            let call = member.takeCalls()[0]
            let putAt = RedisTime(time.milliseconds + put)
            let value = try shared.bytes(question, entry: call.keys[4], asked: putAt, at: putAt, keys)
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

    /// A refresh wants an answer that lives longer than its own. A value that the provider has just given is the best
    /// available.
    @Test mutating func aPublicationEndsTheWaitHoweverShortItLives() throws {
        join()
        var fetch = Membership.Fetch(question, at: provider)
        fetch.life = .seconds(2)
        _ = member.begin(1, fetch, now: start)
        let call = member.takeCalls()[0]
        member.replied(to: call, .theirs(time, demand: 0, left: .seconds(1), owner: []), sentAt: start, now: start)
        let answer = Answer(records: [ResourceRecord(owner: question.name, address: .v4(1), ttlSeconds: 1)])
        let shared = SharedAnswer(answer, from: "p", by: "host-2")
        let value = try #require(
            try shared.bytes(
                question, entry: call.keys[4], asked: time, at: time, keys))
        member.heard(Array("\(call.keys[4]) 1000 ".utf8) + value, on: member.channel, now: start)
        #expect(member.takeOutcomes() == [.answered(1, answer)] && member.refusals.isEmpty)
    }

    /// A reply may be on its way while the question is flushed.
    @Test mutating func aFlushConcernsTheRequestsThatHaveBegun() throws {
        join()
        _ = member.begin(1, Membership.Fetch(question, at: provider), now: start)
        let call = member.takeCalls()[0]
        let shared = SharedAnswer(Answer(records: [record()]), from: "p", by: "host-2")
        let value = try #require(
            try shared.bytes(
                question, entry: call.keys[4], asked: time, at: time, keys))
        let now = start + .seconds(10)
        member.flushed(QuestionScope(question.name), now: now)
        let reply = FleetReply.value(
            RedisTime(time.milliseconds + 10_000), demand: 0, key: 1, value, left: .seconds(50))
        member.replied(to: call, reply, sentAt: now, now: now)
        #expect(member.takeOutcomes() == [.ask(1)])
    }

    /// Any program that can send messages could otherwise make the member give back leases, or touch keys outside the
    /// fleet.
    @Test mutating func messagesLeadToNothingThatOnlyMembersMayDo() throws {
        join()
        let ofOthers = [keys.name("f one"), keys.name("b: one"), keys.name("e:0 all"), "h1:00000000:e:0 one"]
        for text in ["x one", "one", "", " "] + ofOthers {
            member.heard(Array(text.utf8), on: member.channel, now: start)
        }
        #expect(member.takeCalls().isEmpty)
        _ = member.begin(1, Membership.Fetch(question, at: provider), now: start)
        let call = member.takeCalls()[0]
        member.replied(to: call, .theirs(time, demand: 0, left: .seconds(1), owner: []), sentAt: start, now: start)
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

    /// A network path or a stopped process can delay a reply for a long time.
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
        // The message is the member's own.
        member.heard(calls[0].arguments[0], on: member.channels[2], now: start)
        #expect(member.takeOutcomes().isEmpty)
        let other = try SharedEvidence(question.name, .v4(8)).bytes(by: [1], at: time, keys)
        for after in [Duration.zero, .seconds(1)] {
            member.heard(other, on: member.channels[2], now: start + after)
        }
        #expect(member.takeOutcomes() == [.evidence(SharedEvidence(question.name, .v4(8)))])
        // The member does not repeat evidence that it has received.
        member.reportEvidence(SharedEvidence(question.name, .v4(8)), now: start)
        #expect(member.takeCalls().isEmpty)
        let old = try SharedEvidence(question.name, .v4(9)).bytes(
            by: [1], at: RedisTime(time.milliseconds - 11_000), keys)
        for bytes in [old, [], Array(other.dropLast()), try FlushOrder(.everything).bytes(at: time, keys)] {
            member.heard(bytes, on: member.channels[2], now: start)
        }
        #expect(member.takeOutcomes().isEmpty && member.refusals.values.reduce(0, +) == 4)
        for number: UInt32 in 100..<200 {
            member.reportEvidence(SharedEvidence(question.name, .v4(number)), now: start)
        }
        #expect(member.takeCalls().count <= 10)
    }

    @Test mutating func recordsOfMembersAreAuthentic() throws {
        join()
        let before = RedisTime(time.milliseconds - 4000)
        let sealed = try keys.seal([5, 6], .member, place: keys.name("n:other"), at: before)
        let old = try keys.seal([7], .member, place: keys.name("n:old"), at: RedisTime(time.milliseconds - 31_000))
        let told = [
            (Array("other".utf8), sealed), (Array("moved".utf8), sealed), (Array("old".utf8), old), ([], []),
        ]
        let records = member.records(in: .members(time, FleetMembers(count: 3, records: told)))
        #expect(records == [MemberRecord(record: [5, 6], age: .seconds(4), isThis: false)])
        #expect(member.refusals == [.unauthenticated: 1, .outdated: 1])
        let memory = "# Memory\r\nmaxmemory:268435456\r\nmaxmemory_policy:volatile-ttl\r\n"
        let redis = FleetMembers(count: 0, records: [], memory: memory)
        #expect(redis.maxMemoryBytes == 268_435_456 && redis.evictionPolicy == "volatile-ttl")
        #expect(FleetMembers(count: 0, records: []).maxMemoryBytes == nil)
    }

    /// Without Redis, a member neither waits nor calls.
    @Test mutating func aMemberAloneMakesNoCalls() {
        member.configure(terms(), now: start)
        member.restore([:])
        let isTaken = member.begin(1, Membership.Fetch(question, at: provider), now: start)
        #expect(isTaken && member.takeOutcomes() == [.ask(1)] && member.takeCalls().isEmpty)
        member.answered(1, Answer(records: [record()]), now: start)
        #expect(member.takeCalls().map(\.script).allSatisfy { $0 == .release } && member.unpublished == 1)
    }
}
