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
        member.restore(nil)
        member.switchedOn(now: start)
        for call in member.takeCalls() { member.replied(to: call, .flushes(time, []), now: start) }
        member.announce([1], now: start)
        for call in member.takeCalls() { member.replied(to: call, .presence(time, count: 4), now: start) }
        _ = member.takeOutcomes()
    }

    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test mutating func aMissMakesOneCall() throws {
        join()
        let isTaken = member.begin(1, Membership.Fetch(question, at: provider), now: start)
        let calls = member.takeCalls()
        #expect(isTaken && calls.map(\.script) == [.lease] && member.size == 4)
        #expect(calls[0].keys.count == 5 && calls[0].keys.allSatisfy { $0.hasPrefix("h1:") })
        #expect(!calls[0].arguments.contains { text($0).contains("www") })
        member.replied(to: calls[0], .ours(time, demand: 0, after: .zero), now: start)
        #expect(member.takeOutcomes() == [.ask(1)])
        member.answered(1, Answer(records: [record()]), now: start)
        let publication = member.takeCalls()
        #expect(publication.map(\.script) == [.publication])
        member.replied(to: publication[0], .done, now: start)
        #expect(member.published == 1)
    }

    private func record() -> ResourceRecord {
        ResourceRecord(owner: question.name, address: .v4(0xC000_0201), ttlSeconds: 60)
    }

    @Test mutating func onlyWhatIsToBeSharedIsShared() {
        join([.flush])
        let isTaken = member.begin(1, Membership.Fetch(question, at: provider), now: start)
        member.suspect(Suspicion(question.name, .v4(1)), now: start)
        member.volunteered(Answer(records: [record()]), Membership.Fetch(question, at: provider), now: start)
        #expect(!isTaken && member.takeCalls().isEmpty)
        let fault = member.orderFlush(.everything, now: start)
        #expect(fault == nil && member.takeCalls().map(\.script) == [.flush])
    }

    @Test mutating func withoutLeasesNoRequestWaits() {
        join([.answers])
        _ = member.begin(1, Membership.Fetch(question, at: provider), now: start)
        #expect(text(member.takeCalls()[0].arguments[1]) == "0")
        let fault = member.orderFlush(.everything, now: start)
        #expect(fault == "fleet.share has no \"flush\"" && member.knowsFlushes)
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
        member.replied(to: call, .usedUp(time, demand: 0, for: .milliseconds(300)), now: start)
        #expect(member.takeOutcomes() == [.deferred(1, until: start + .milliseconds(300))])
        // The last resort goes in any case, whatever Redis says.
        fetch.isLastResort = true
        _ = member.begin(2, fetch, now: start)
        call = member.takeCalls()[0]
        #expect(text(call.arguments[1]) == "-1")
        member.replied(to: call, .usedUp(time, demand: 0, for: .milliseconds(300)), now: start)
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
        member.replied(to: first, .ours(time, demand: 2_000_000, after: .zero), now: start)
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
        member.replied(to: calls[1], .billing(time, sum: 10), now: start)
        #expect(member.billed("a") == 12 && member.takeOutcomes() == [.billed(account: "a")])
        // Redis has lost its sum, and does not read.
        member.announce([1], now: start)
        let again = member.takeCalls()
        #expect(again[1].arguments.prefix(2).map(text) == ["2", "10"])
        member.unsent(again[1], now: start)
        member.announce([1], now: start)
        #expect(member.takeCalls()[1].arguments.prefix(2).map(text) == ["2", "10"])
        // Accounts of former periods are given up.
        for number in 0..<16 { member.bill("b\(number)", 1) }
        #expect(member.billed("a") == nil)
    }

    @Test mutating func suspicionsAreToldOnceAndBelievedOfMembersOnly() throws {
        join()
        let suspicion = Suspicion(question.name, .v4(7))
        for _ in 0..<3 { member.suspect(suspicion, now: start) }
        let calls = member.takeCalls()
        #expect(calls.map(\.script) == [.suspicion])
        // Its own.
        member.heard(calls[0].arguments[0], on: Membership.suspicionChannel, now: start)
        #expect(member.takeOutcomes().isEmpty)
        let other = try Suspicion(question.name, .v4(8)).bytes(by: [1], at: time, keys)
        for after in [Duration.zero, .seconds(1)] {
            member.heard(other, on: Membership.suspicionChannel, now: start + after)
        }
        #expect(member.takeOutcomes() == [.suspected(Suspicion(question.name, .v4(8)))])
        // What was heard is not told again.
        member.suspect(Suspicion(question.name, .v4(8)), now: start)
        #expect(member.takeCalls().isEmpty)
        let old = try Suspicion(question.name, .v4(9)).bytes(
            by: [1], at: RedisTime(time.milliseconds - 11_000), keys)
        for bytes in [old, [], Array(other.dropLast()), try FlushOrder(.everything).bytes(at: time, keys)] {
            member.heard(bytes, on: Membership.suspicionChannel, now: start)
        }
        #expect(member.takeOutcomes().isEmpty && member.refusals.values.reduce(0, +) == 4)
        for number: UInt32 in 100..<200 { member.suspect(Suspicion(question.name, .v4(number)), now: start) }
        #expect(member.takeCalls().count <= 10)
    }

    @Test mutating func recordsOfMembersAreAuthentic() throws {
        join()
        let sealed = try keys.seal([5, 6], .member, place: "h1:n:other", at: RedisTime(time.milliseconds - 4000))
        let told = [(Array("other".utf8), sealed), (Array("moved".utf8), sealed), ([], [])]
        let records = member.records(in: .members(time, FleetMembers(count: 3, records: told)))
        #expect(records.map(\.record) == [[5, 6]] && records.map(\.age) == [.seconds(4)])
        let memory = "# Memory\r\nmaxmemory:268435456\r\nmaxmemory_policy:volatile-ttl\r\n"
        let redis = FleetMembers(count: 0, records: [], memory: memory)
        #expect(redis.maxMemoryBytes == 268_435_456 && redis.evictionPolicy == "volatile-ttl")
        #expect(FleetMembers(count: 0, records: []).maxMemoryBytes == nil)
    }

    /// Nothing is waited for, and nothing is asked of a Redis that is not used.
    @Test mutating func aMemberAloneMakesNoCalls() {
        member.configure(terms(), now: start)
        member.restore(nil)
        let isTaken = member.begin(1, Membership.Fetch(question, at: provider), now: start)
        #expect(isTaken && member.takeOutcomes() == [.ask(1)] && member.takeCalls().isEmpty)
        member.answered(1, Answer(records: [record()]), now: start)
        #expect(member.takeCalls().map(\.script).allSatisfy { $0 == .release } && member.unpublished == 1)
    }
}
