// The values that a member accepts: its own fleet's answers for the requested entry.

import DNSWire
import TestSupport
import Testing

@testable import Fleet

@Suite struct SharedAnswerTests {
    private static let question = Question(Name("www.example")!, .a)
    private static let answer = Answer(records: [
        ResourceRecord(owner: question.name, address: .v4(0xC000_0201), ttlSeconds: 300),
        ResourceRecord(owner: question.name, address: .v4(0xC000_0202), ttlSeconds: 300),
    ])

    private static func keys(_ seeds: UInt8...) throws -> FleetKeys {
        try FleetKeys(seeds.map { [UInt8](repeating: $0, count: 32) })
    }

    private static func terms(_ question: Question = question, site: String = "sh-a", subnet: String? = nil)
        -> EntryTerms
    {
        EntryTerms(
            question, site: site, provider: "alicloud 203.107.1.1", clientSubnet: subnet.flatMap { Prefix($0) },
            rules: nil)
    }

    private static let put = RedisTime(1_700_000_000_000)

    private static func value(_ keys: FleetKeys, entry: String, at time: RedisTime = put) throws -> [UInt8] {
        try #require(
            try SharedAnswer(answer, from: "alidns", by: "host-7").bytes(
                question, entry: entry, asked: time, at: time, keys))
    }

    /// Why the value is refused; nil: it is used.
    private static func refusal(
        _ bytes: [UInt8], entry: String = "h1:0:x", now: RedisTime = put, _ keys: FleetKeys
    ) -> Refusal? {
        do throws(Refusal) {
            _ = try SharedAnswer.read(bytes, question, entry: entry, now: now, keys)
            return nil
        } catch {
            return error
        }
    }

    private static func time(after duration: Duration) -> RedisTime {
        RedisTime(put.milliseconds + Int64(duration.wholeMilliseconds))
    }

    @Test func anAnswerSurvivesTheWay() throws {
        let keys = try Self.keys(1)
        let entry = try keys.entries(Self.terms())[0]
        let value = try Self.value(keys, entry: entry)
        let now = Self.time(after: .seconds(100))
        let read = try SharedAnswer.read(value, Self.question, entry: entry, now: now, keys)
        #expect(read.shared == SharedAnswer(Self.answer, from: "alidns", by: "host-7"))
        #expect(read.left == .seconds(200))
        #expect(entry.hasPrefix(keys.keys[0].prefix + "e:") && entry.utf8.count == 46)
        // Neither names nor addresses can be read in Redis.
        for secret in [Array("example".utf8), Array("alidns".utf8), Array("host-7".utf8), [192, 0, 2, 1]] {
            #expect(!value.contains(secret))
        }
    }

    @Test func negativeAnswersSurviveToo() throws {
        let keys = try Self.keys(1)
        for kind in [Answer.Kind.noData, .noSuchName] {
            let shared = SharedAnswer(Answer(negative: kind, ttlSeconds: 30), from: "a", by: "b")
            let bytes = try #require(
                try shared.bytes(
                    Self.question, entry: "h1:0:x", asked: Self.put, at: Self.put, keys))
            let read = try SharedAnswer.read(bytes, Self.question, entry: "h1:0:x", now: Self.put, keys).shared
            #expect(read.answer.kind == kind && read.answer.records.isEmpty && read.answer.ttlSeconds == 30)
        }
    }

    /// The parts of an answer that clients may see: AD of a validating provider, and an extended error.
    @Test func whatAnswersCarryBesideRecordsSurvives() throws {
        let keys = try Self.keys(1)
        for answer in [
            Self.answer.authenticated(true), Self.answer.remarked(ExtendedError(upstream: 17, text: "policy".utf8)),
            Answer(negative: .noData, ttlSeconds: 30).authenticated(true),
        ] {
            let shared = SharedAnswer(answer, from: "a", by: "b")
            let bytes = try #require(
                try shared.bytes(Self.question, entry: "h1:0:x", asked: Self.put, at: Self.put, keys))
            let read = try SharedAnswer.read(bytes, Self.question, entry: "h1:0:x", now: Self.put, keys)
            #expect(read.shared.answer == answer && read.shared.answer.remark == answer.remark)
        }
    }

    /// The TTL counts from the answer, and a flush from the question.
    @Test func aValueIsDatedByItsQuestionAndLivesFromItsAnswer() throws {
        let keys = try Self.keys(1)
        let shared = SharedAnswer(Self.answer, from: "a", by: "b")
        let answeredAt = Self.time(after: .seconds(2))
        let bytes = try #require(
            try shared.bytes(Self.question, entry: "h1:0:x", asked: Self.put, at: answeredAt, keys))
        let now = Self.time(after: .seconds(3))
        let read = try SharedAnswer.read(bytes, Self.question, entry: "h1:0:x", now: now, keys)
        #expect(read.left == .seconds(299) && read.age == .seconds(3))
        #expect(Self.refusal(bytes, now: Self.time(after: .seconds(302)), keys) == nil)
        #expect(Self.refusal(bytes, now: Self.time(after: .milliseconds(302_001)), keys) == .outdated)
    }

    @Test func aValueThatIsPutAgainAfterItsTimeIsRefused() throws {
        let keys = try Self.keys(1)
        let value = try Self.value(keys, entry: "h1:0:x")
        for (age, refusal) in [
            (Duration.seconds(300), nil), (.milliseconds(300_001), .outdated), (.seconds(86_400), .outdated),
            (.milliseconds(-900), nil), (.seconds(-2), .outdated),
        ] as [(Duration, Refusal?)] {
            #expect(Self.refusal(value, now: Self.time(after: age), keys) == refusal, "\(age)")
        }
    }

    @Test func everyTermMakesAnotherEntry() throws {
        let keys = try Self.keys(1)
        let terms = [
            Self.terms(), Self.terms(Question(Self.question.name, .aaaa)), Self.terms(site: "sh-b"),
            Self.terms(subnet: "192.0.2.0/24"), Self.terms(Self.question.with([.dnssecOK])),
        ]
        let entries = try terms.map { try keys.entries($0)[0] }
        #expect(Set(entries).count == terms.count)
        #expect(try Self.keys(2).entries(Self.terms())[0] != entries[0])
        let upper = Question(Name("WWW.Example")!, .a)
        #expect(try keys.entries(Self.terms(upper))[0] == entries[0])
    }

    @Test func anythingElseIsRefused() throws {
        let keys = try Self.keys(1)
        let value = try Self.value(keys, entry: "h1:0:x")
        #expect(Self.refusal(value, keys) == nil)
        #expect(Self.refusal(value, entry: "h1:0:y", keys) == .unauthenticated, "moved")
        #expect(Self.refusal(value, entry: "h1:e:x", keys) == .unauthenticated, "of another entry")
        #expect(try Self.refusal(value, Self.keys(2)) == .unknownKey)
        for position in value.indices {
            var changed = value
            changed[position] ^= 1
            #expect(Self.refusal(changed, keys) != nil, "\(position)")
        }
        for count in value.indices { #expect(Self.refusal(Array(value[..<count]), keys) != nil, "\(count)") }
        #expect(Self.refusal(value + [0], keys) != nil)
        #expect(Self.refusal([UInt8](repeating: 1, count: SharedAnswer.maxBytes + 1), keys) == .malformed)
        // A flush order is not an answer.
        let order = try FlushOrder(.everything).bytes(at: Self.put, keys)
        #expect(Self.refusal(order, entry: "flushes", keys) == .unauthenticated)
    }

    @Test func bothKeysAreBelievedWhileTheyAreChanged() throws {
        let (old, both, new) = try (Self.keys(1), Self.keys(2, 1), Self.keys(2))
        let entries = try both.entries(Self.terms())
        let ofOld = try old.entries(Self.terms())
        #expect(entries.count == 2 && entries[1] == ofOld[0])
        let value = try Self.value(old, entry: entries[1])
        #expect(Self.refusal(value, entry: entries[1], both) == nil)
        let newer = try Self.value(both, entry: entries[0])
        #expect(Self.refusal(newer, entry: entries[0], new) == nil)
    }

    /// 100,000 unusable values: forged, changed, truncated, of another site, and stored again too late.
    @Test func ofManyWrongValuesNoneIsUsed() throws {
        let (keys, others) = try (Self.keys(1), Self.keys(2))
        let entry = try keys.entries(Self.terms())[0]
        let value = try Self.value(keys, entry: entry)
        let foreign = try Self.value(keys, entry: keys.entries(Self.terms(site: "sh-b"))[0])
        var chance = SeededRandom(seed: 5)
        var refused: [Refusal: Int] = [:]
        for number in 0..<100_000 {
            var (bytes, now) = (value, Self.put)
            switch number % 6 {
            case 0:
                let count = Int.random(in: 0...300, using: &chance)
                bytes = (0..<count).map { _ in .random(in: 0...255, using: &chance) }
            case 1: bytes = [1] + (0..<120).map { _ in .random(in: 0...255, using: &chance) }
            case 2: bytes[Int.random(in: bytes.indices, using: &chance)] ^= 1 << UInt8.random(in: 0..<8, using: &chance)
            case 3: bytes.removeLast(Int.random(in: 1...bytes.count, using: &chance))
            case 4: bytes = number % 12 == 4 ? foreign : try Self.value(others, entry: entry)
            default: now = Self.time(after: .milliseconds(300_001 + number))
            }
            let refusal = Self.refusal(bytes, entry: entry, now: now, keys)
            refused[try #require(refusal, "number \(number)"), default: 0] += 1
        }
        #expect(refused.values.reduce(0, +) == 100_000)
        #expect(refused.count == Refusal.allCases.count)
    }
}
