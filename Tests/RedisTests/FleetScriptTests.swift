// The effects of a fleet's scripts in a real Redis: turns within a budget, leases, sums, and members with two keys.

import DNSWire
import Fleet
import Glibc
import LinuxIO
import Testing

@testable import Redis

@Suite struct FleetScriptTests {
    private let loop: EventLoop
    private let server = RedisServer()
    private let interval = 100_000

    init() throws { loop = try EventLoop() }

    private final class Heard {
        var news: [RedisConnection.News] = []
    }

    /// Sends the commands together, so that little time passes between them, and returns the replies.
    private func replies(to commands: [RedisCommand]) throws -> [RedisReply] {
        let heard = Heard()
        let end = Clock.now() + .seconds(20)
        var connection: RedisConnection?
        while connection == nil {
            connection = try? RedisConnection(to: .local(server.path), loop) { heard.news.append($1) }
            // The server has just been started.
            if connection == nil { usleep(10_000) }
            try #require(Clock.now() < end)
        }
        for command in commands { #expect(connection?.send(command) == true) }
        while heard.news.count < commands.count, Clock.now() < end {
            try loop.turn(until: Clock.now() + .milliseconds(20))
        }
        connection?.close()
        return heard.news.compactMap { if case .reply(let reply) = $0 { reply } else { nil } }
    }

    private func call(_ script: FleetScript, _ keys: [String], _ arguments: [String]) -> RedisCommand {
        RedisCommand((["EVAL", script.text, "\(keys.count)"] + keys + arguments).map { Array($0.utf8) })
    }

    private func take(_ keys: [String], longest: Int = 200_000) -> RedisCommand {
        call(.pace, keys, ["\(interval)", "\(longest)"])
    }

    private func numbers(_ reply: RedisReply) -> [Int64] { (reply.elements ?? []).compactMap(\.number) }

    /// The waits in steps of the interval; nil: deferred.
    private func waits(_ replies: [RedisReply]) -> [Int64?] {
        replies.map { reply in
            let numbers = numbers(reply)
            guard numbers.count == 4, numbers[0] == 2 else { return nil }
            return (numbers[3] + Int64(interval / 2)) / Int64(interval)
        }
    }

    @Test func eachTakesTheNextTurnAndNoneWaitsTooLong() throws {
        let key = ["h1:0:b:1"]
        let short = try replies(to: (0..<5).map { _ in take(key) })
        #expect(waits(short) == [0, 1, 2, nil, nil])
        let last = try replies(to: (0..<50).map { _ in take(key, longest: 4_000_000) })
        #expect(waits(last).compactMap(\.self).last.map { 38...40 ~= $0 } == true)
        #expect(waits(last).contains(nil))
    }

    @Test func aTurnThatIsGivenBackIsTakenOnce() throws {
        let key = ["h1:0:b:1"]
        let taken = try replies(to: (0..<8).map { _ in take(key, longest: 4_000_000) }).map(numbers)
        let turns = taken.map { $0[1] * 1000 + $0[3] }
        let back = [turns[5], turns[3], turns[7]].map { call(.turnBack, key, ["\(interval)", "\($0)"]) }
        let again = try replies(to: back + (0..<4).map { _ in take(key, longest: 4_000_000) }).suffix(4)
        #expect(waits(Array(again)) == [3, 5, 7, 8])
        // A past turn and one that was never granted are of no use.
        let now = turns[0]
        let useless = [now - 1, now + 60_000_000].map { call(.turnBack, key, ["\(interval)", "\($0)"]) }
        #expect(waits(try replies(to: useless + [take(key, longest: 4_000_000)]).suffix(1)) == [9])
    }

    @Test func whatAnotherProgramWritesStopsNoRequest() throws {
        let key = ["h1:0:b:1"]
        for text in ["nan", "inf", "1e300", "x", "-5", "", "99999999999999999 1 2", "0 0 0 0"] {
            let replies = try replies(to: [RedisCommand("SET", key[0], text), take(key)])
            #expect(waits(replies.suffix(1)) == [0], "\(text)")
        }
        let list = [RedisCommand("DEL", key[0]), RedisCommand("RPUSH", key[0], "x"), take(key), take(key)]
        #expect(waits(try replies(to: list).suffix(2)) == [0, 1])
    }

    /// The members have the old key, both, or the new one.
    @Test func twoKeysAreOneBudget() throws {
        let (old, new) = ("h1:1:b:1", "h1:2:b:9")
        let taken = try replies(to: [take([old]), take([old, new]), take([old])])
        #expect(waits(taken) == [0, 1, 2])
        let (older, newer) = ("h1:1:b:2", "h1:2:b:2")
        let further = try replies(to: [take([newer, older]), take([newer]), take([older, newer]), take([newer])])
        #expect(waits(further) == [0, 1, 2, nil])
    }

    private func lease(_ token: String, lost: String = "", paces: [String] = ["h1:0:b:"]) -> RedisCommand {
        let entries = paces.indices.map { "h1:\($0):e:1" }
        let keys = ["h1:0:e:1:l", "h1:0:e:1:w", "h1:0:e:1:d"] + paces + entries
        return call(.lease, keys, [token, "300", "0", "100000", "h1:0:m:" + token, "1000", "0", "200000", lost])
    }

    @Test func aLeaseNamesItsOwnerAndThatOfALostOwnerCountsForNothing() throws {
        for paces in [["h1:0:b:"], ["h1:0:b:", "h1:1:b:"]] {
            let replies = try replies(
                to: [
                    RedisCommand("DEL", "h1:0:e:1:l"), lease("one", paces: paces), lease("two", paces: paces),
                    lease("two", lost: "on one.", paces: paces), lease("two", lost: "x one y", paces: paces),
                    lease("one", paces: paces),
                ])
            let kinds = replies.dropFirst().map { $0.elements?.first?.number }
            #expect(kinds == [2, 3, 3, 2, 3])
            #expect(replies[2].elements?.last?.bytes == Array("one".utf8))
            #expect(replies[5].elements?.last?.bytes == Array("two".utf8))
        }
    }

    @Test func anAnswerUnderAnyKeyIsFound() throws {
        let value = String(repeating: "\u{0}", count: 40)
        let put = [RedisCommand("SET", "h1:1:e:1", value, "PX", "60000"), lease("one", paces: ["h1:0:b:", "h1:1:b:"])]
        let reply = try replies(to: put)[1].elements ?? []
        // The value was stored long ago by its own time.
        #expect(reply.first?.number == 2)
        let time = Int64(Clock.wallMilliseconds())
        let bytes = [UInt8](repeating: 1, count: 5) + (0..<6).map { UInt8(truncatingIfNeeded: time >> (40 - 8 * $0)) }
        let words = ["SET", "h1:1:e:1", "", "PX", "60000"].map { $0.isEmpty ? bytes : Array($0.utf8) }
        let fresh = RedisCommand(words)
        let found = try replies(to: [fresh, lease("two", paces: ["h1:0:b:", "h1:1:b:"])])[1].elements ?? []
        #expect(found.first?.number == 1 && found[3].number == 2 && found[4].bytes == bytes)
    }

    @Test func aSumIsReplacedByWhoeverHasReadIt() throws {
        let keys = ["h1:1:q:1", "h1:2:q:1"]
        func tell(_ former: String, _ value: String) -> RedisCommand {
            call(.billing, keys, [former, "60000", value, value + "'"])
        }
        let replies = try replies(
            to: [
                tell("", "a"), tell("", "b"), tell("a", "b"), RedisCommand("GET", keys[1]),
                RedisCommand("SET", keys[0], String(repeating: "9", count: 300)), tell("", "c"),
                RedisCommand("DEL", keys[0]), RedisCommand("RPUSH", keys[0], "x"), tell("", "d"),
            ])
        #expect([0, 1, 2, 5, 8].map { replies[$0].elements?[1].number } == [1, 0, 1, 1, 1])
        #expect(replies[1].elements?[2].bytes == Array("a".utf8) && replies[3] == .string(Array("b'".utf8)))
    }

    @Test func membersWithTwoKeysAreInBothSets() throws {
        func announce(_ token: String, _ keys: [String]) -> RedisCommand {
            call(.presence, keys.map { $0 + "n" } + keys.map { $0 + "n:" + token }, [token, "30000"] + keys)
        }
        let replies = try replies(
            to: [
                announce("a", ["h1:1:"]), announce("b", ["h1:1:", "h1:2:"]), announce("c", ["h1:2:", "h1:1:"]),
                announce("d", ["h1:2:"]), announce("a", ["h1:1:"]), RedisCommand("GET", "h1:2:n:b"),
            ])
        #expect(replies.prefix(5).map { $0.elements?[1].number } == [1, 2, 2, 3, 3])
        #expect(replies[5] == .string(Array("h1:2:".utf8)))
    }
}
