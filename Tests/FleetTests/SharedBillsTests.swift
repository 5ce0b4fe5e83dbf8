// The billed questions of all members: none is lost, and only sums of members count.

import DNSWire
import Testing

@testable import Fleet

@Suite struct SharedBillsTests {
    /// A model of the script of sums.
    private struct Values {
        var values: [String: [UInt8]] = [:]

        mutating func reply(to call: FleetCall, _ time: RedisTime) -> FleetReply {
            let stored = values[call.keys[0]] ?? []
            guard stored == call.arguments[0] else { return .billing(time, isTaken: false, stored: stored) }
            for (key, value) in zip(call.keys, call.arguments[2...]) { values[key] = value }
            return .billing(time, isTaken: true, stored: [])
        }
    }

    private let start = Instant(nanoseconds: 1_000_000_000_000)
    private let time = RedisTime(1_700_000_000_000)
    private static let old = [UInt8](repeating: 1, count: 32)
    private static let new = [UInt8](repeating: 2, count: 32)
    private var redis = Values()

    private func member(
        _ name: String, keys: [[UInt8]] = [old], notes: [FleetNote: String] = [:]
    ) throws -> Membership {
        var member = Membership(token: name)
        member.configure(FleetConfiguration(keys: try FleetKeys(keys), site: "s", member: name), now: start)
        member.restore(notes)
        member.switchedOn("redis", now: start)
        for call in member.takeCalls() { member.replied(to: call, .flushes(time, []), sentAt: start, now: start) }
        _ = member.takeOutcomes()
        return member
    }

    private mutating func tell(_ member: inout Membership) {
        member.announce([1], now: start)
        var calls = member.takeCalls()
        while !calls.isEmpty {
            for call in calls where call.script == .billing {
                member.replied(to: call, redis.reply(to: call, time), sentAt: start, now: start)
            }
            calls = member.takeCalls()
        }
    }

    private func notes(of member: inout Membership) -> [FleetNote: String] {
        var notes: [FleetNote: String] = [:]
        for case .note(let note, let text) in member.takeOutcomes() { notes[note] = text }
        return notes
    }

    @Test mutating func questionsAreSummedAndNoneIsLost() throws {
        var (one, other) = (try member("one"), try member("other"))
        one.bill("a", 3, own: 3)
        #expect(one.billed("a") == nil)
        tell(&one)
        #expect(one.billed("a") == 3)
        other.bill("a", 4, own: 4)
        tell(&other)
        #expect(other.billed("a") == 7)
        one.bill("a", 2, own: 5)
        tell(&one)
        #expect(one.billed("a") == 9)
        tell(&other)
        #expect(other.billed("a") == 9)
        // Redis has lost its sum.
        redis.values = [:]
        other.bill("a", 1, own: 5)
        tell(&other)
        tell(&one)
        #expect(one.billed("a") == 10 && other.billed("a") == 10)
        // The member drops accounts of former periods.
        for number in 0..<64 { one.bill("b\(number)", 1, own: 1) }
        #expect(one.billed("a") == nil)
    }

    /// Redis may or may not have carried out a call without a reply.
    @Test mutating func questionsInALostCallAreCountedOnce() throws {
        for isTaken in [true, false] {
            redis = Values()
            var one = try member("one")
            one.bill("a", 3, own: 3)
            one.announce([1], now: start)
            let calls = one.takeCalls().filter { $0.script == .billing }
            if isTaken { _ = redis.reply(to: calls[0], time) }
            one.bill("a", 1, own: 4)
            one.announce([1], now: start)
            #expect(!one.takeCalls().contains { $0.script == .billing }, "a call is open")
            one.switchedOff(now: start)
            one.switchedOn("redis", now: start)
            tell(&one)
            #expect(one.billed("a") == 4, "taken: \(isTaken)")
            one.announce([1], now: start)
            let refused = one.takeCalls().filter { $0.script == .billing }
            one.replied(to: refused[0], .invalid("OOM"), sentAt: start, now: start)
            tell(&one)
            #expect(one.billed("a") == 4)
        }
    }

    /// A sum that another program has written, moved or stored again is replaced by the members' own.
    @Test mutating func aSumThatNoMemberHasMadeIsNone() throws {
        var (one, other) = (try member("one"), try member("other"))
        for account in ["a", "b"] { one.bill(account, 500, own: 500) }
        tell(&one)
        other.bill("a", 1, own: 1)
        tell(&other)
        let stored = redis.values
        let names = stored.keys.sorted()
        let (first, second) = (try #require(stored[names[0]]), try #require(stored[names[1]]))
        for wrong in [Array("999999999999".utf8), Array("nan".utf8), [], [UInt8](repeating: 9, count: 150), second] {
            redis.values[names[0]] = wrong
            tell(&other)
            tell(&one)
            for account in ["a", "b"] { #expect((500...501).contains(one.billed(account) ?? 0)) }
        }
        #expect(one.billed("a") == 501)
        redis.values[names[0]] = first
        one.bill("a", 5, own: 505)
        tell(&one)
        #expect(one.billed("a") == 506)
        #expect((one.refusals.values.reduce(0, +) + other.refusals.values.reduce(0, +)) >= 4)
    }

    /// Each member adds its own count once.
    @Test mutating func aSumIsCountedAnew() throws {
        var (one, other, away) = (try member("one"), try member("other"), try member("away"))
        var liar = try member("liar")
        one.bill("a", 10, own: 10)
        other.bill("a", 20, own: 20)
        away.bill("a", 5, own: 5)
        liar.bill("a", 1_000_000, own: 0)
        tell(&liar)
        tell(&one)
        tell(&other)
        for _ in 0..<2 { tell(&away) }
        #expect(away.billed("a") == 1_000_035)
        one.recount("a", now: start)
        #expect(one.billed("a") == 10)
        let notes = notes(of: &away)
        other.bill("a", 1, own: 21)
        for _ in 0..<2 {
            tell(&one)
            tell(&other)
            tell(&liar)
        }
        #expect(one.billed("a") == 31 && other.billed("a") == 31 && liar.billed("a") == 31)
        // A member that comes back with the former sum learns the new one.
        var back = try member("back", notes: notes)
        back.bill("a", 0, own: 5)
        #expect(back.billed("a") == 1_000_035)
        tell(&back)
        tell(&one)
        #expect(back.billed("a") == 36 && one.billed("a") == 36)
        // Redis loses the new sum; the former one must not come back.
        redis.values = [:]
        tell(&one)
        tell(&back)
        #expect(back.billed("a") == 36)
        tell(&one)
        var last = try member("last", notes: self.notes(of: &one))
        tell(&last)
        #expect(last.billed("a") == 36)
    }

    /// Redis and all members restart, as after a power failure.
    @Test mutating func sumsSurviveAStart() throws {
        let account = "json https://dns.example/ a, month until 1"
        var first = try member("first")
        first.bill(account, 900, own: 900)
        first.bill("b", 7, own: 7)
        tell(&first)
        first.announce([1], now: start)
        let notes = notes(of: &first)
        redis.values = [:]
        var next = try member("next", notes: notes)
        #expect(next.billed(account) == 900 && next.billed("b") == 7)
        tell(&next)
        var third = try member("third")
        third.bill(account, 1, own: 1)
        tell(&third)
        #expect(third.billed(account) == 901)
        // Before the member has read the store, it writes no notes.
        var early = Membership(token: "early")
        early.configure(FleetConfiguration(keys: try FleetKeys([Self.old]), site: "s", member: "early"), now: start)
        early.switchedOn("redis", now: start)
        early.announce([1], now: start)
        for call in early.takeCalls() where call.script == .presence {
            early.replied(to: call, .presence(time, count: 1), sentAt: start, now: start)
        }
        early.bill("b", 1, own: 1)
        tell(&early)
        #expect(!early.takeOutcomes().contains { if case .note = $0 { true } else { false } })
        early.restore(notes)
        #expect(early.billed("b") == 8)
        // The member ignores any other note.
        for note in ["", "x", "-5 a", "99999999999999999 a", "5", "\n\n", "1/ a", "1/-1 a", "1/2/3 a"] {
            var other = Membership(token: "other")
            other.restore([.bills: note, .size: note])
            #expect(other.billed("a") == nil && 1...5 ~= other.size)
        }
    }

    @Test mutating func anAccountInUseIsNotGivenUpForOthers() throws {
        var one = try member("one")
        for number in 0..<200 {
            for account in ["a", "b\(number % 40)"] { one.bill(account, 1, own: number) }
        }
        tell(&one)
        #expect(one.billed("a") == 200 && redis.values.count == 41)
    }

    /// While the operator changes the keys, members have the old one, both, or the new one.
    @Test mutating func membersWithOneKeyAndWithBothCountTogether() throws {
        for keys in [
            [[Self.old], [Self.old, Self.new]], [[Self.old, Self.new], [Self.new, Self.old]],
            [[Self.new, Self.old], [Self.new]],
        ] {
            redis = Values()
            var (one, other) = (try member("one", keys: keys[0]), try member("other", keys: keys[1]))
            for number in 1...3 {
                one.bill("a", 1, own: number)
                tell(&one)
                other.bill("a", 1, own: number)
                tell(&other)
                #expect(other.billed("a") == 2 * number)
            }
        }
    }
}
