// The grouping of fetches into shared requests, and their times, on virtual time.

import DNSWire
import TestSupport
import Testing

@testable import Resolver
@testable import Upstreams

@Suite("Fetch batches")
struct FetchBatchesTests {
    private static let alpha = ProviderID(1)
    private static let beta = ProviderID(2)
    private var batches = FetchBatches()
    private let start = Instant.testStart

    private func at(_ microseconds: Int) -> Instant { start + .microseconds(microseconds) }

    /// Adds the fetch with that number; returns the numbers of the batch that leaves at once.
    private mutating func add(
        _ number: UInt64, _ type: RecordType = .a, to provider: ProviderID = alpha, maxNames: Int = 3,
        at microseconds: Int = 0
    ) throws -> [UInt64]? {
        let question = Question(try #require(Name("n\(number).example")), type)
        let fetch = FetchBatches.Fetch(FetchID(number: number), question, startedAt: at(microseconds))
        let batch = batches.add(fetch, to: provider, .init(names: maxNames), now: at(microseconds))
        return batch.map(numbers)
    }

    private mutating func popDue(at microseconds: Int) -> [UInt64]? {
        batches.popDue(now: at(microseconds)).map(numbers)
    }

    private func numbers(_ batch: FetchBatches.Batch) -> [UInt64] { batch.fetches.map(\.id.number) }

    @Test("a provider that takes one question at a time is never kept waiting")
    mutating func single() throws {
        #expect(try add(1, maxNames: 1) == [1])
        #expect(try add(2, maxNames: 1) == [2])
        #expect(batches.nextDeadline == nil)
    }

    @Test("a full batch leaves at once, in the order in which it was filled")
    mutating func full() throws {
        #expect(try add(5) == nil)
        #expect(try add(3, at: 10) == nil)
        #expect(try add(4, at: 20) == [5, 3, 4])
        #expect(batches.nextDeadline == nil)
        #expect(try add(6, at: 30) == nil)
        #expect(batches.nextDeadline == at(1030))
    }

    @Test("fetches with different parameters share no request")
    mutating func parameters() throws {
        for number in UInt64(1)...4 {
            let question = Question(try #require(Name("n\(number).example")), .a)
            let fetch = FetchBatches.Fetch(
                FetchID(number: number), question, startedAt: start, parameters: Int(number % 2))
            #expect(batches.add(fetch, to: Self.alpha, .init(names: 3), now: start) == nil)
        }
        #expect(popDue(at: 1000) == [1, 3])
        #expect(popDue(at: 1000) == [2, 4])
    }

    @Test("the first waits for 1 ms, however late the others come")
    mutating func deadline() throws {
        _ = try add(1)
        _ = try add(2, at: 999)
        #expect(batches.nextDeadline == at(1000))
        #expect(popDue(at: 999) == nil)
        #expect(popDue(at: 1000) == [1, 2])
        #expect(popDue(at: 1000) == nil)
        #expect(batches.nextDeadline == nil)
    }

    @Test("providers and types never mix; what is due leaves in the order of its beginning")
    mutating func apart() throws {
        _ = try add(1, .aaaa)
        _ = try add(2, .a, at: 1)
        _ = try add(3, .a, to: Self.beta, at: 2)
        _ = try add(4, .aaaa, at: 3)
        _ = try add(5, .a, at: 4)
        var left: [String] = []
        while let batch = batches.popDue(now: at(5000)) { left.append("\(batch.provider.number): \(numbers(batch))") }
        #expect(left == ["1: [1, 4]", "1: [2, 5]", "2: [3]"])
    }

    @Test("what is abandoned leaves the others as they are, and the last one takes the deadline with it")
    mutating func abandoned() throws {
        for number: UInt64 in [1, 2] { _ = try add(number) }
        _ = try add(3, .aaaa, at: 500)
        batches.remove(FetchID(number: 1))
        batches.remove(FetchID(number: 77))
        #expect(batches.nextDeadline == at(1000), "counted from the first, who is gone")
        #expect(try add(4, at: 600) == nil)
        #expect(try add(5, at: 600) == [2, 4, 5])
        batches.remove(FetchID(number: 2))
        #expect(batches.nextDeadline == at(1500))
        batches.remove(FetchID(number: 3))
        #expect(batches.nextDeadline == nil && popDue(at: 9000) == nil)
    }

    @Test("where both families go together, a name takes one place, and the request asks both of every name")
    mutating func bothFamilies() throws {
        let both = FetchBatches.Capacity(names: 2, bothFamilies: true)
        let questions = [("a.example", RecordType.a), ("b.example", .aaaa), ("c.example", .a), ("a.example", .aaaa)]
        for (number, asked) in questions.enumerated() {
            let question = Question(try #require(Name(asked.0)), asked.1)
            let fetch = FetchBatches.Fetch(FetchID(number: UInt64(number)), question, startedAt: start)
            #expect(batches.add(fetch, to: Self.alpha, both, now: start) == nil)
        }
        let popped = [batches.popDue(now: at(1000)), batches.popDue(now: at(1000))]
        let first = try #require(popped[0])
        #expect(numbers(first) == [0, 1, 3])
        #expect(
            first.questions.map(\.description) == ["a.example A", "a.example AAAA", "b.example A", "b.example AAAA"])
        let second = try #require(popped[1])
        #expect(second.questions.map(\.description) == ["c.example A"])
    }

    @Test("other types never join the families")
    mutating func otherTypes() throws {
        let both = FetchBatches.Capacity(names: 1, bothFamilies: true)
        let name = try #require(Name("a.example"))
        for (number, type) in [RecordType.a, .mx, .aaaa].enumerated() {
            let fetch = FetchBatches.Fetch(FetchID(number: UInt64(number)), Question(name, type), startedAt: start)
            let batch = batches.add(fetch, to: Self.alpha, both, now: start)
            #expect(batch.map(numbers) == [nil, [1], [0, 2]][number])
        }
    }

    @Test("too many batches at once push out the oldest")
    mutating func bounded() throws {
        for number in 0..<UInt64(FetchBatches.maxOpen) {
            #expect(try add(number, to: ProviderID(Int(number)), at: Int(number)) == nil)
        }
        #expect(try add(1000, to: ProviderID(1000), at: 100) == [0])
        #expect(try add(1001, to: ProviderID(1001), at: 100) == [1])
        #expect(try add(1002, to: ProviderID(2), at: 100) == nil)
        #expect(batches.nextDeadline == at(1002))
    }

    @Test("over any course of events each fetch leaves once, in time, with its like, unless it is abandoned")
    mutating func anyCourse() throws {
        var chance = SeededRandom(seed: 11)
        let maxNames = [1, 5, 8]
        var waiting: [FetchID: (fetch: FetchBatches.Fetch, provider: Int)] = [:]
        var now = start
        var left: [(batch: FetchBatches.Batch, at: Instant)] = []
        for number: UInt64 in 0..<5000 {
            now += .microseconds(Int.random(in: 0...400, using: &chance))
            while let due = batches.nextDeadline, due <= now {
                if let batch = batches.popDue(now: due) { left.append((batch, due)) }
            }
            let provider = Int.random(in: 0..<3, using: &chance)
            let name = try #require(Name("n\(number / 2).example"))
            let question = Question(name, Bool.random(using: &chance) ? .a : .aaaa)
            let fetch = FetchBatches.Fetch(FetchID(number: number), question, startedAt: now)
            waiting[fetch.id] = (fetch, provider)
            let full = batches.add(
                fetch, to: ProviderID(provider), .init(names: maxNames[provider], bothFamilies: provider == 2), now: now
            )
            if let full { left.append((full, now)) }
            for (batch, at) in left {
                let names = Set(batch.fetches.map(\.question.name))
                #expect((1...maxNames[batch.provider.number]).contains(names.count), "seed 11")
                for fetch in batch.fetches {
                    let known = waiting.removeValue(forKey: fetch.id)
                    #expect(fetch == known?.fetch && batch.provider.number == known?.provider, "seed 11: \(fetch)")
                    let isAlike = fetch.question.type == batch.fetches[0].question.type
                    #expect(isAlike || batch.provider.number == 2, "seed 11")
                    #expect(fetch.startedAt.duration(to: at) <= .milliseconds(1), "seed 11")
                }
            }
            left = []
            if let gone = waiting.keys.min(by: { $0.number < $1.number }), Int.random(in: 0..<4, using: &chance) == 0 {
                batches.remove(gone)
                waiting[gone] = nil
            }
        }
        #expect(waiting.count < 16, "seed 11: what is left is what still gathers")
    }
}
