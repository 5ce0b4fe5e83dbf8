// The flushes of a stream: a member carries out each once, from whichever server, and misses none after an absence.

import DNSWire
import Testing

@testable import Fleet

@Suite struct FlushLogTests {
    private let keys: FleetKeys
    private let now = Instant(nanoseconds: 9_000_000_000_000_000)
    private let present: Int64 = 1_700_000_000_000
    private let names = (0...1100).map { Name("n\($0).example")! }

    init() throws { keys = try FleetKeys([[UInt8](repeating: 7, count: 32)]) }

    /// An order that was given this many seconds ago; `numberedAgo` is the age in its number, if it differs.
    private func element(_ number: Int, secondsAgo: Int64, numberedAgo: Int64? = nil) throws -> FlushElement {
        let time = present - secondsAgo * 1000
        let order = try FlushOrder(QuestionScope(names[number])).bytes(at: RedisTime(time), keys)
        let numbered = present - (numberedAgo ?? secondsAgo) * 1000
        return FlushElement(try #require(FlushNumber(Array("\(numbered)-\(number)".utf8))), order)
    }

    /// Reads the whole stream of a server.
    private func read(
        _ elements: [FlushElement], of server: String, _ log: inout FlushLog, secondsAgo: Int64 = 0
    ) -> FlushLog.Update {
        log.switchedOff()
        let time = RedisTime(present - secondsAgo * 1000)
        return log.take(elements, of: server, isWhole: true, at: time, keys, now: now)
    }

    private func scopes(_ numbers: Int...) -> [QuestionScope] { numbers.map { QuestionScope(names[$0]) } }

    /// Servers that are no replicas of one another have flushes of their own.
    @Test func noServersFlushIsMissed() throws {
        var log = FlushLog()
        log.restore(nil)
        let (old, missed) = (try element(0, secondsAgo: 100), try element(1, secondsAgo: 30))
        // A new member has no answers from before its start, so it carries out no earlier flush.
        #expect(read([old], of: "a", &log, secondsAgo: 60).scopes.isEmpty)
        let others = try element(2, secondsAgo: 200)
        #expect(read([others], of: "b", &log, secondsAgo: 20).scopes == scopes(2))
        // The member returns to the first server, where a flush was added meanwhile.
        #expect(read([old, missed], of: "a", &log).scopes == scopes(1))
        #expect(log.age(of: Question(names[1], .a), now: now) == .seconds(30))
    }

    @Test func aReplicaHasNothingNew() throws {
        var log = FlushLog()
        log.restore(nil)
        let orders = try (0..<5).map { try element($0, secondsAgo: 50) }
        _ = read(orders, of: "a", &log)
        #expect(read(orders, of: "replica", &log).scopes.isEmpty)
        #expect(read(orders + [try element(5, secondsAgo: 0)], of: "replica", &log).scopes == scopes(5))
    }

    @Test func afterAStartOnlyTheFlushesSinceAreCarriedOut() throws {
        var former = FlushLog()
        former.restore(nil)
        let (before, since) = (try element(0, secondsAgo: 500), try element(1, secondsAgo: 50))
        _ = read([], of: "unix:/run/b", &former, secondsAgo: 400)
        let note = read([before], of: "redis://192.0.2.1", &former, secondsAgo: 100).note
        var log = FlushLog()
        log.restore(note)
        #expect(read([before, since], of: "redis://192.0.2.1", &log).scopes == scopes(1))
        #expect(log.age(of: Question(names[0], .a), now: now) == .seconds(500))
        let ofOther = [try element(2, secondsAgo: 450), try element(3, secondsAgo: 350)]
        #expect(read(ofOther, of: "unix:/run/b", &log).scopes == scopes(3))
        // The member has never read the third server, so it has carried out no flush of it.
        var another = FlushLog()
        another.restore(note)
        #expect(read([before, since], of: "third", &another).scopes == scopes(0, 1))
        for note in [nil, "", "garbage", "1-1", "x a\ny b"] as [String?] {
            var new = FlushLog()
            new.restore(note)
            #expect(read([before, since], of: "a", &new).scopes.isEmpty, "\(note ?? "nil")")
        }
    }

    /// Redis keeps 1,000 flushes. A member that has missed more cannot know the scopes of the removed ones.
    @Test func afterTooManyEverythingIsFlushed() throws {
        var log = FlushLog()
        log.restore(nil)
        let first = try element(0, secondsAgo: 2000)
        _ = read([first], of: "a", &log, secondsAgo: 1900)
        let last = try (1...FlushAges.maxCount).map { try element($0, secondsAgo: 1500) }
        #expect(read(last, of: "a", &log, secondsAgo: 500).scopes == [.everything])
        #expect(log.age(of: Question(.root, .a), now: now) == .seconds(1000))
        // The member has already read the first of these flushes.
        let next = Array(last.dropFirst()) + [try element(0, secondsAgo: 1)]
        #expect(read(next, of: "a", &log).scopes == scopes(0))
        // A new member has no answers to flush, and does not know the earlier flushes.
        var new = FlushLog()
        new.restore(nil)
        #expect(read(last, of: "a", &new).scopes.isEmpty)
        #expect(new.age(of: Question(.root, .a), now: now) == .seconds(1500))
    }

    /// Redis was not reachable when the member started, and the member has cached answers since.
    @Test func aFlushAfterTheStartIsCarriedOutWithTheFirstReading() throws {
        var log = FlushLog()
        log.start(now: now - .seconds(100))
        log.restore(nil)
        log.start(now: now)
        let (before, since) = (try element(0, secondsAgo: 200), try element(1, secondsAgo: 50))
        #expect(read([before, since], of: "a", &log).scopes == scopes(1))
    }

    /// Any program that can write to Redis can add elements. They displace no flush and do not count as read positions.
    @Test func elementsOfOthersChangeNothing() throws {
        var log = FlushLog()
        log.restore(nil)
        let order = try element(0, secondsAgo: 100)
        _ = read([order], of: "a", &log, secondsAgo: 90)
        let future = try (0..<5000).map {
            FlushElement(try #require(FlushNumber(Array("\(present + 1_000_000)-\($0)".utf8))), [UInt8($0 % 251)])
        }
        let update = read([order] + future, of: "a", &log)
        #expect(update.scopes.isEmpty && update.refusals.count == 5000)
        #expect(read([order], of: "a", &log).scopes.isEmpty)
        var next = FlushLog()
        next.restore(update.note)
        #expect(read([order], of: "a", &next).scopes.isEmpty)
    }

    /// The other server has more flushes than the log remembers one by one.
    @Test func manyFlushesOfOneServerHideNoneOfAnother() throws {
        var log = FlushLog()
        log.restore(nil)
        let order = try element(0, secondsAgo: 5000)
        _ = read([order], of: "a", &log, secondsAgo: 4000)
        for round: Int64 in 0..<5 {
            let others = try (1...FlushAges.maxCount).map { try element($0, secondsAgo: 3000 - round) }
            _ = read(others, of: "b", &log, secondsAgo: 2000)
        }
        #expect(read([order, try element(1, secondsAgo: 3500)], of: "a", &log).scopes == scopes(1))
    }

    /// An exception is a flush that is read more than 10 s after it was given, while Redis still numbers by the former
    /// time.
    @Test func aClockThatIsSetBackHidesNoFlush() throws {
        var former = FlushLog()
        former.restore(nil)
        // The clock of the first reading is an hour ahead.
        let note = read([], of: "a", &former, secondsAgo: -3600).note
        // Redis numbers by the former time.
        let new = try element(0, secondsAgo: 1, numberedAgo: -3600)
        #expect(read([new], of: "a", &former).scopes == scopes(0))
        var log = FlushLog()
        log.restore(note)
        #expect(read([try element(1, secondsAgo: 5)], of: "a", &log).scopes == scopes(1))
    }
}
