// Replies of Redis, or of another program in its place: a reply is that of the script that was run, or it is refused.

import DNSWire
import Fleet
import Redis
import Resolver
import TestSupport
import Testing

@testable import Upstreams

@Suite struct FleetRepliesTests {
    private let time: Int64 = 1_700_000_000_000

    private func isOfUse(_ elements: [RedisReply], to script: FleetScript) -> Bool {
        if case .invalid = FleetReply(.array(elements), to: script) { false } else { true }
    }

    @Test func timesThatNoClockHasAreRefused() {
        for (time, isRight) in [(.min, false), (-1, false), (0, false), (time, true), (1 << 47, false), (.max, false)]
            as [(Int64, Bool)]
        {
            #expect(isOfUse([.integer(2), .integer(time), .integer(0), .integer(0)], to: .lease) == isRight)
            #expect(isOfUse([.integer(time), .integer(3)], to: .presence) == isRight)
            #expect(isOfUse([.integer(time), .integer(1), .string([])], to: .billing) == isRight)
            #expect(isOfUse([.integer(time), .array([])], to: .flushes) == isRight)
        }
        // The periods of quotas end at any later time.
        for period in BilledQuestions.Period.allCases { #expect(period.end(after: 1 << 47 - 1) > time) }
    }

    @Test func numbersOfAnySizeDoNoHarm() throws {
        var chance = SeededRandom(seed: 1)
        let keys = try FleetKeys([[UInt8](repeating: 1, count: 32)])
        let now = Instant.testStart
        var member = Membership(token: "me")
        member.configure(FleetConfiguration(keys: keys, site: "s", member: "m"), now: now)
        member.restore([:])
        member.switchedOn("redis", now: now)
        var provider = SharedProvider(name: "p", identity: "p", account: "p")
        provider.questionsPerSecond = 50
        let question = Question(try #require(Name("www.example")), .a)
        let extremes: [Int64] = [.min, -1, 0, 1, 2, 3, 4, time, 1 << 47 - 1, 1 << 47, .max]
        func reply(_ depth: Int) -> RedisReply {
            switch Int.random(in: 0..<(depth > 2 ? 6 : 9), using: &chance) {
            case 0: .string(Array("\(extremes.randomElement(using: &chance) ?? 0)-0".utf8))
            case 1: .nothing
            case 2: .error("WRONGTYPE")
            case 3...5: .integer(extremes.randomElement(using: &chance) ?? 0)
            default: .array((0..<Int.random(in: 0..<7, using: &chance)).map { _ in reply(depth + 1) })
            }
        }
        var useful = 0
        for number in 0..<20_000 {
            _ = member.begin(UInt64(number), Membership.Fetch(question, at: provider), now: now)
            member.bill("account", 1, own: number)
            member.announce([], now: now)
            member.heard([], on: member.channels[1], now: now)
            member.askForMembers()
            for call in member.takeCalls() {
                let first: [RedisReply] = [.integer(Int64.random(in: 1...4, using: &chance)), .integer(time)]
                let whole: RedisReply = Bool.random(using: &chance) ? reply(0) : .array(first + [reply(1), reply(1)])
                let heard = FleetReply(whole, to: call.script)
                if case .invalid = heard {} else { useful += 1 }
                member.replied(to: call, heard, sentAt: now, now: now)
                _ = member.records(in: heard)
            }
            _ = member.timePassed(now: now + .milliseconds(10))
            _ = member.takeOutcomes()
            member.failed(UInt64(number))
        }
        #expect(useful > 100 && member.size >= 1 && member.billed("account").map { $0 >= 0 } ?? true)
    }
}
