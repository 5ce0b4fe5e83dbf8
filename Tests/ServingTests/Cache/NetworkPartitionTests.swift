// The cached answers of networks that are not in use: the last resort, and their removal with the network.

import DNSWire
import Serving
import Testing

@Suite("Partitions of other networks")
struct NetworkPartitionTests {
    private let cache = AnswerCache(limitBytes: 1 << 20, seed: (1, 2))
    private let question: Question
    private static let (here, home, work) = (
        Partition(rawValue: 1), Partition(rawValue: 2), Partition(rawValue: 3)
    )
    private static let limits = Freshness.Limits(maxAgeSeconds: 3600, allowsNegative: true)

    init() throws {
        question = Question(try #require(Name("www.example")), .a)
    }

    private func store(
        _ number: UInt32, on partition: Partition, _ sourceClass: SourceClass = .provider, at seconds: Int64 = 0
    ) {
        let record = ResourceRecord(owner: question.name, address: .v4(0x0100_0000 + number), ttlSeconds: 60)
        store(Answer(records: [record]), on: partition, sourceClass, at: seconds)
    }

    private func store(
        _ answer: Answer, on partition: Partition, _ sourceClass: SourceClass = .provider, at seconds: Int64 = 0
    ) {
        cache.store(
            RenderedAnswer(answer, to: question), lifetimeSeconds: answer.ttlSeconds, for: question,
            partition: partition, sourceClass: sourceClass, nowMilliseconds: seconds * 1000)
    }

    private func lastResort(
        at seconds: Int64, _ partitions: [Partition] = [home, work], _ limits: Freshness.Limits = limits
    ) throws -> UInt8? {
        let found = cache.lastResort(
            question, within: limits, partitions: partitions, nowMilliseconds: seconds * 1000)
        guard let found else { return nil }
        #expect(found.sourceRank == .otherNetwork && found.lifetimeSeconds == 60)
        return try found.answer.records(of: question).first?.data.last
    }

    @Test("the first network that knows answers, whether fresh or expired")
    func order() throws {
        store(1, on: Self.here)
        #expect(try lastResort(at: 10) == nil)
        store(3, on: Self.work)
        #expect(try lastResort(at: 10) == 3)
        store(2, on: Self.home)
        #expect(try lastResort(at: 10) == 2)
        #expect(try lastResort(at: 10, [Self.work, Self.home]) == 3)
        #expect(try lastResort(at: 3659) == 2)
        #expect(try lastResort(at: 3660) == nil)
        #expect(try lastResort(at: 10, []) == nil)
    }

    @Test("what is too old on one network does not hide what another one knows")
    func tooOld() throws {
        store(2, on: Self.home, at: 0)
        store(3, on: Self.work, at: 3000)
        #expect(try lastResort(at: 3700) == 3)
    }

    @Test("the system resolver's answers, a \"no\", and what may not be used after its time stay on their network")
    func never() throws {
        store(2, on: Self.home, .system)
        #expect(try lastResort(at: 10) == nil)
        store(Answer(negative: .noSuchName, ttlSeconds: 60), on: Self.home)
        #expect(try lastResort(at: 10) == nil)
        store(3, on: Self.work)
        #expect(try lastResort(at: 10) == 3)
        #expect(try lastResort(at: 10, [Self.work], Freshness.Limits(maxAgeSeconds: 0)) == nil)
    }

    @Test("an expired answer tells its source")
    func sourceClass() {
        store(1, on: Self.here, .system)
        let expired = {
            cache.expired(
                question, within: Self.limits, partition: Self.here, nowMilliseconds: 100_000)?.sourceRank
        }
        #expect(expired() == .system)
        store(1, on: Self.here)
        #expect(expired() == .provider)
    }

    @Test("what was learned on one network goes as a whole, and nothing else does")
    func removal() throws {
        for number in 0..<3000 {
            let name = try #require(Name("n\(number).example"))
            let record = ResourceRecord(owner: name, address: .v4(0x0100_0000), ttlSeconds: 60)
            cache.store(
                RenderedAnswer(Answer(records: [record]), to: Question(name, .a)), lifetimeSeconds: 60,
                for: Question(name, .a), partition: number % 3 == 0 ? Self.home : Self.work,
                sourceClass: number % 2 == 0 ? .provider : .system, nowMilliseconds: Int64(number))
        }
        #expect(cache.remove(storedSinceMilliseconds: 2700) == 300)
        #expect(cache.keepOnly([Self.home, Self.work]) == 0)
        #expect(cache.keepOnly([Self.work]) == 900)
        #expect(cache.counts().entries == 1800)
        #expect(cache.keepOnly([Self.home]) == 1800)
    }

    @Test("answers of groups go with every other network: their partition does not tell which one is theirs")
    func groups() throws {
        let serving = ServingState(Self.here, seed: 7)
        let groups = [ClientGroup(view: 1), ClientGroup(of: try #require(Address("198.51.100.7")), view: 2), .all]
        for (number, group) in groups.enumerated() {
            store(UInt32(number), on: serving.partition(for: group), at: Int64(number))
        }
        #expect(cache.counts().entries == 3)
        #expect(cache.remove(storedSinceMilliseconds: 2000) == 1)
        store(3, on: Self.here, at: 3)
        #expect(cache.keepOnly([Self.here]) == 2)
        #expect(cache.counts().entries == 1)
    }

    @Test("clients of one subnet have a part of their own in each network")
    func subnets() throws {
        let serving = ServingState(Self.here, seed: 7)
        let subnet = ClientGroup(of: try #require(Address("198.51.100.7")))
        #expect(serving.partition(for: subnet, of: Self.here) == serving.partition(for: subnet))
        #expect(serving.partition(for: subnet, of: Self.home) != serving.partition(for: subnet))
        #expect(serving.partition(for: .all, of: Self.home) == Self.home)
    }
}
