// What a member believes: its own fleet's answers, for the entry that it asked for, and nothing else.

import DNSWire
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

    private static func value(_ keys: FleetKeys, entry: String) throws -> [UInt8] {
        try #require(try SharedAnswer(answer, from: "alidns", by: "host-7").bytes(question, entry: entry, keys))
    }

    @Test func anAnswerSurvivesTheWay() throws {
        let keys = try Self.keys(1)
        let entry = try keys.entries(Self.terms())[0]
        let read = try SharedAnswer(Self.value(keys, entry: entry), Self.question, entry: entry, keys)
        #expect(read == SharedAnswer(Self.answer, from: "alidns", by: "host-7"))
        #expect(entry.hasPrefix("h1:e:") && entry.utf8.count == 37)
    }

    @Test func negativeAnswersSurviveToo() throws {
        let keys = try Self.keys(1)
        for kind in [Answer.Kind.noData, .noSuchName] {
            let shared = SharedAnswer(Answer(negative: kind, ttlSeconds: 30), from: "a", by: "b")
            let bytes = try #require(try shared.bytes(Self.question, entry: "h1:0:x", keys))
            let read = try SharedAnswer(bytes, Self.question, entry: "h1:0:x", keys)
            #expect(read.answer.kind == kind && read.answer.records.isEmpty && read.answer.ttlSeconds == 30)
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
        func refusal(_ bytes: [UInt8], entry: String = "h1:0:x", _ keys: FleetKeys) -> SharedAnswer.Refusal? {
            do throws(SharedAnswer.Refusal) {
                _ = try SharedAnswer(bytes, Self.question, entry: entry, keys)
                return nil
            } catch {
                return error
            }
        }
        #expect(refusal(value, keys) == nil)
        #expect(refusal(value, entry: "h1:0:y", keys) == .unauthenticated, "moved")
        #expect(refusal(value, entry: "h1:e:x", keys) == .unauthenticated, "of another entry")
        #expect(try refusal(value, Self.keys(2)) == .unknownKey)
        for position in value.indices {
            var changed = value
            changed[position] ^= 1
            #expect(refusal(changed, keys) != nil, "\(position)")
        }
        for count in value.indices { #expect(refusal(Array(value[..<count]), keys) != nil, "\(count)") }
        #expect(refusal(value + [0], keys) != nil)
        #expect(refusal([UInt8](repeating: 1, count: SharedAnswer.maxBytes + 1), keys) == .malformed)
    }

    @Test func bothKeysAreBelievedWhileTheyAreChanged() throws {
        let (old, both, new) = try (Self.keys(1), Self.keys(2, 1), Self.keys(2))
        let entries = try both.entries(Self.terms())
        let ofOld = try old.entries(Self.terms())
        #expect(entries.count == 2 && entries[1] == ofOld[0])
        let value = try Self.value(old, entry: entries[1])
        #expect(try SharedAnswer(value, Self.question, entry: entries[1], both).member == "host-7")
        let newer = try Self.value(both, entry: entries[0])
        #expect(try SharedAnswer(newer, Self.question, entry: entries[0], new).member == "host-7")
    }

    @Test func randomBytesAreNoAnswer() throws {
        let keys = try Self.keys(1)
        for _ in 0..<20_000 {
            var bytes = (0..<Int.random(in: 0...200)).map { _ in UInt8.random(in: 0...255) }
            if Bool.random(), !bytes.isEmpty { bytes[0] = 1 }
            #expect((try? SharedAnswer(bytes, Self.question, entry: "h1:0:x", keys)) == nil)
        }
    }
}
