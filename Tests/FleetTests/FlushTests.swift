// Flushes of a fleet: orders that only members can give, their numbers, and which questions they concern.

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
        (try? FlushOrder.read(order, at: RedisTime(given.milliseconds + milliseconds), keys)) == nil
    }

    @Test func ordersSurviveTheWay() throws {
        for scope in scopes {
            let order = try FlushOrder(scope).bytes(at: given, keys)
            #expect(try FlushOrder.read(order, at: given, keys).scope == scope)
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
        // Put again later.
        #expect(!isRefused(order, after: 9000, keys) && isRefused(order, after: 11_000, keys))
    }

    @Test func theLatestFlushOfAQuestionCounts() {
        var flushes = Flushes()
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
        var flushes = Flushes()
        flushes.add(QuestionScope(name), at: now - .seconds(5), now: now)
        for number in 0..<Flushes.maxCount {
            flushes.add(QuestionScope(Name("n\(number).example")!), at: now, now: now)
        }
        #expect(flushes.age(of: Question(name, .a), now: now) == nil)
        #expect(flushes.age(of: Question(Name("n0.example")!, .a), now: now) == .zero)
        // No answer lives for so long.
        let later = now + .seconds(7 * 24 * 3600)
        flushes.add(QuestionScope(name), at: later, now: later)
        #expect(flushes.age(of: Question(Name("n0.example")!, .a), now: later) == nil)
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
