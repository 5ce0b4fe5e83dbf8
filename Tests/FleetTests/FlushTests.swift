// Flushes of a fleet: orders that only members can give, their numbers, and their scopes.

import DNSWire
import Testing

@testable import Fleet

@Suite struct FlushTests {
    private let keys: FleetKeys
    private let now = Instant(nanoseconds: 9_000_000_000_000_000)
    private let name = Name("www.example")!

    init() throws { keys = try FleetKeys([[UInt8](repeating: 7, count: 32)]) }

    private var scopes: [QuestionScope] {
        [
            .everything, QuestionScope(name), QuestionScope(name, includesDescendants: true),
            QuestionScope(name, type: .aaaa),
        ]
    }

    private let given = RedisTime(1_700_000_000_000)

    private func isRefused(_ order: [UInt8], after milliseconds: Int64 = 0, _ keys: FleetKeys) -> Bool {
        let time = RedisTime(given.milliseconds + milliseconds)
        return (try? FlushOrder.read(order, at: time, now: time, keys)) == nil
    }

    @Test func ordersSurviveTheWay() throws {
        for scope in scopes {
            let order = try FlushOrder(scope).bytes(at: given, keys)
            let read = try FlushOrder.read(order, at: given, now: given, keys)
            #expect(read.scope == scope && read.given == given)
            #expect(!order.contains(Array("example".utf8)))
        }
        #expect(try FlushOrder(scopes[0]).bytes(at: given, keys) != FlushOrder(scopes[0]).bytes(at: given, keys))
    }

    @Test func anythingElseIsRefused() throws {
        let order = try FlushOrder(QuestionScope(name)).bytes(at: given, keys)
        for place in order.indices {
            var changed = order
            changed[place] ^= 1
            #expect(isRefused(changed, keys), "byte \(place)")
            #expect(isRefused(Array(order[..<place]), keys))
        }
        #expect(isRefused(order + [0], keys))
        #expect(isRefused(order, try FleetKeys([[UInt8](repeating: 8, count: 32)])))
        // A copy of the order that is added again after 10 s is refused.
        #expect(!isRefused(order, after: 9000, keys) && isRefused(order, after: 11_000, keys))
        // After the clock was set back by an hour, elements are numbered by the former time.
        let former = RedisTime(given.milliseconds + 3_600_000)
        #expect(try FlushOrder.read(order, at: former, now: given, keys).scope == QuestionScope(name))
    }

    @Test func theLatestFlushOfAQuestionCounts() {
        var flushes = FlushAges()
        let question = Question(name, .a)
        #expect(flushes.age(of: question, now: now) == nil)
        flushes.add(.everything, at: now - .seconds(9), now: now)
        flushes.add(QuestionScope(name), at: now - .seconds(20), now: now)
        #expect(flushes.age(of: question, now: now) == .seconds(9))
        flushes.add(QuestionScope(name, type: .aaaa), at: now - .seconds(1), now: now)
        #expect(flushes.age(of: question, now: now) == .seconds(9))
        #expect(flushes.age(of: Question(name, .aaaa), now: now + .seconds(1)) == .seconds(2))
    }

    @Test func theOldestAreForgotten() {
        var flushes = FlushAges()
        flushes.add(QuestionScope(name), at: now - .seconds(5), now: now)
        for number in 0..<FlushAges.maxCount {
            flushes.add(QuestionScope(Name("n\(number).example")!), at: now, now: now)
        }
        // The forgotten flush may have concerned any question.
        for question in [Question(name, .a), Question(Name("other.example")!, .a)] {
            #expect(flushes.age(of: question, now: now) == .seconds(5))
        }
        #expect(flushes.age(of: Question(Name("n0.example")!, .a), now: now) == .zero)
        // The flush is older than the longest TTL.
        let later = now + .seconds(7 * 24 * 3600)
        flushes.add(QuestionScope(name), at: later, now: later)
        #expect(flushes.age(of: Question(Name("n0.example")!, .a), now: later) ?? .seconds(1 << 40) > .seconds(604_800))
    }

    @Test func aScopeThatIsFlushedAgainTakesNoMoreRoom() {
        var flushes = FlushAges()
        flushes.add(QuestionScope(Name("n0.example")!), at: now - .seconds(9), now: now)
        for second in 0..<2 * FlushAges.maxCount {
            flushes.add(QuestionScope(name), at: now + .milliseconds(second), now: now)
        }
        // The flush was given earlier and is read later.
        flushes.add(QuestionScope(name), at: now - .seconds(60), now: now)
        #expect(flushes.age(of: Question(name, .a), now: now + .seconds(2)) == .milliseconds(1))
        #expect(flushes.age(of: Question(Name("n0.example")!, .a), now: now) == .seconds(9))
        #expect(flushes.age(of: Question(Name("other.example")!, .a), now: now) == nil)
    }

    @Test func numbersAreInOrder() throws {
        let texts = ["0-0", "0-1", "5-0", "1700000000000-0", "1700000000000-18446744073709551615"]
        let numbers = try texts.map { try #require(FlushNumber(Array($0.utf8))) }
        #expect(numbers == numbers.sorted() && numbers.map(\.text) == texts)
        for text in ["", "-", "1", "1-", "-1-0", "1-2-3", "a-0", "99999999999999999999-0", "1--2"] {
            #expect(FlushNumber(Array(text.utf8)) == nil, "\(text)")
        }
    }
}
