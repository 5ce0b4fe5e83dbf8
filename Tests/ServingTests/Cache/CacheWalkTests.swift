// Listing all entries and removing some, compared with a plain list of the stored ones.

@testable import Serving
import DNSWire
import TestSupport
import Testing

@Suite("Walks through the cache")
struct CacheWalkTests {
    private let cache = AnswerCache(limitBytes: 64 << 20, seed: (3, 5))

    private func name(_ text: String) throws -> Name { try #require(Name(text)) }

    private func store(
        _ name: Name, _ type: RecordType = .a, partition: UInt32 = 1, sourceClass: SourceClass = .provider,
        now: Int64 = 7_000
    ) {
        let record = ResourceRecord(owner: name, type: type, ttlSeconds: 60, data: [192, 0, 2, 1])
        let question = Question(name, type)
        cache.store(
            RenderedAnswer(Answer(records: [record]), to: question), lifetimeSeconds: 60, for: question,
            partition: Partition(rawValue: partition), sourceClass: sourceClass, nowMilliseconds: now)
    }

    /// Lists the whole cache in pieces of `maxEntries`.
    private func walk(_ scope: QuestionScope = .everything, maxEntries: Int = 10) -> [CachedEntry] {
        var found: [CachedEntry] = []
        var cursor: AnswerCache.Cursor? = AnswerCache.Cursor()
        while let here = cursor {
            let step = cache.walk(from: here, scope, maxEntries: maxEntries)
            #expect(step.entries.count <= maxEntries)
            found += step.entries
            cursor = step.next
        }
        return found
    }

    @Test("a walk in small pieces meets every entry once, however many there are in a shard")
    func everything() throws {
        for index in 0..<5_000 { store(try name("n\(index).example")) }
        for maxEntries in [1, 7, 5_000] {
            let names = walk(maxEntries: maxEntries).map(\.question.name)
            #expect(names.count == 5_000 && Set(names).count == 5_000)
        }
    }

    @Test("a walk of an empty cache ends, and so does one that nothing fits")
    func nothing() throws {
        #expect(walk().isEmpty)
        for index in 0..<3_000 { store(try name("n\(index).example")) }
        #expect(walk(QuestionScope(try name("other.example"))).isEmpty)
    }

    @Test("an entry comes back with everything that was stored and with its hits")
    func facts() throws {
        let www = try name("WWW.example")
        let question = Question(www, .a)
        store(www, partition: 9, sourceClass: .system, now: 4_711)
        store(www, partition: 8, now: 1)
        let entries = walk(QuestionScope(try name("www.Example"), type: .a))
        #expect(entries.count == 2)
        let entry = try #require(entries.first { $0.partition.rawValue == 9 })
        #expect(entry.question == question && entry.sourceClass == .system && entry.hits == 0)
        #expect(entry.storedAtMilliseconds == 4_711 && entry.lifetimeSeconds == 60)
        #expect(try entry.answer.records(of: entry.question).map(\.data) == [[192, 0, 2, 1]])
    }

    @Test("entries that stay are met exactly once while others come and go")
    func changes() throws {
        let staying = try (0..<2_000).map { try name("stay\($0).example") }
        for name in staying { store(name) }
        for index in 0..<500 { store(try name("go\(index).example")) }
        var met: [Name: Int] = [:]
        var random = SeededRandom(seed: 11)
        var cursor: AnswerCache.Cursor? = AnswerCache.Cursor()
        while let here = cursor {
            let step = cache.walk(from: here, .everything, maxEntries: 5)
            for entry in step.entries { met[entry.question.name, default: 0] += 1 }
            cursor = step.next
            let index = Int.random(in: 0..<500, using: &random)
            _ = cache.remove(QuestionScope(try name("go\(index).example")))
            store(try name("new\(index).example"))
        }
        for name in staying { #expect(met[name] == 1, "\(name)") }
    }

    @Test(
        "a removal takes what its scope says and leaves the rest",
        arguments: [
            ("www.example", false, nil, 3), ("www.example", false, "A", 2), ("WWW.example", false, "AAAA", 1),
            ("www.example", false, "MX", 0), ("example", true, nil, 5),
            ("example", true, "AAAA", 2), ("EXAMPLE", false, nil, 1), (".", true, nil, 6), (".", false, nil, 0),
            ("ample", true, nil, 0), ("none.example", true, nil, 0), ("wwwexample", true, "A", 1),
        ] as [(String, Bool, String?, Int)])
    func removal(_ text: String, _ isTree: Bool, _ type: String?, _ count: Int) throws {
        let www = try name("www.example")
        store(www)
        store(www, sourceClass: .system)
        store(www, .aaaa, partition: 2)
        store(try name("a.www.example"))
        store(try name("example"), .aaaa)
        store(try name("wwwexample"))
        let scope = QuestionScope(
            try name(text), includesDescendants: isTree, type: try type.map { try #require(RecordType($0)) })
        #expect(walk(scope).count == count)
        #expect(cache.remove(scope) == count)
        #expect(walk().count == 6 - count && walk(scope).isEmpty)
        #expect(cache.counts().entries == 6 - count)
    }

    @Test("one key is removed, and what another source said of the same question stays")
    func oneKey() throws {
        let www = try name("www.example")
        for sourceClass in [SourceClass.provider, .system] {
            // A provider's answer replaces the system resolver's, but not the reverse.
            store(www, sourceClass: sourceClass)
            store(www, partition: 2, sourceClass: sourceClass)
        }
        store(www, .aaaa)
        let partition = Partition(rawValue: 1)
        cache.remove(Question(try name("WWW.example"), .a), partition: partition, sourceClass: .system)
        #expect(walk().count == 4)
        #expect(!walk().contains { $0.sourceClass == .system && $0.partition == partition })
        cache.remove(Question(www, .a), partition: partition, sourceClass: .system)
        cache.remove(Question(www, .mx), partition: partition, sourceClass: .provider)
        #expect(walk().count == 4)
    }

    @Test("one question after the other is removed with all its partitions, and nothing else is")
    func oneByOne() throws {
        let names = try (0..<3_000).map { try name("n\($0).example") }
        for name in names {
            store(name)
            store(name, partition: 2)
            store(name, partition: 2, sourceClass: .system)
            store(name, .aaaa)
        }
        for (index, name) in names.enumerated() {
            #expect(cache.remove(QuestionScope(name, type: .a)) == 3, "\(name)")
            #expect(cache.counts().entries == 4 * names.count - 3 * (index + 1))
        }
        #expect(cache.remove(QuestionScope(names[0], type: .a)) == 0)
        #expect(Set(walk().map(\.question)) == Set(names.map { Question($0, .aaaa) }))
    }

    @Test("everything goes, and there is room for as much again")
    func removesEverything() throws {
        for round in 0..<2 {
            for index in 0..<5_000 { store(try name("n\(index).round\(round).example")) }
            #expect(walk().count == 5_000)
            #expect(cache.remove(.everything) == 5_000)
            #expect(walk().isEmpty && cache.counts().entries == 0 && cache.counts().bytes == 0)
        }
        #expect(cache.remove(.everything) == 0)
    }

    @Test("names that a predicate chooses go with all their types, wherever they are")
    func chosenNames() throws {
        let names = try (0..<5_000).map { try name("N\($0).example") }
        for name in names { store(name) }
        store(names[0], .mx, partition: 2, sourceClass: .system)
        let chosen = Set(names[..<100])
        #expect(cache.remove { name, _, _ in chosen.contains(name) } == 101)
        #expect(Set(walk().map(\.question.name)) == Set(names[100...]))
        #expect(cache.remove { name, _, _ in chosen.contains(name) } == 0)
        #expect(cache.remove { _, _, _ in true } == 4_900)
    }

    @Test("a walk and a removal find exactly what the scope contains")
    func againstTheScope() throws {
        let seed: UInt64 = 0xCAC4E
        var random = SeededRandom(seed: seed)
        let labels = ["a", "b", "ab", "example", "x"]
        var stored: Set<Question> = []
        for _ in 0..<400 {
            let text = (0..<Int.random(in: 1...4, using: &random)).map { _ in
                labels.randomElement(using: &random) ?? "a"
            }
            let question = Question(try name(text.joined(separator: ".")), Bool.random(using: &random) ? .a : .aaaa)
            store(question.name, question.type)
            stored.insert(question)
        }
        for question in stored.sorted(by: { "\($0)" < "\($1)" }).prefix(60) {
            for isTree in [false, true] {
                for type in [nil, question.type] {
                    let scope = QuestionScope(question.name, includesDescendants: isTree, type: type)
                    let wanted = stored.filter(scope.contains)
                    #expect(Set(walk(scope).map(\.question)) == wanted, "seed \(seed): \(scope)")
                }
            }
        }
        for question in stored.sorted(by: { "\($0)" < "\($1)" }).prefix(60) {
            let scope = QuestionScope(question.name, includesDescendants: true, type: question.type)
            let doomed = stored.filter(scope.contains)
            #expect(cache.remove(scope) == doomed.count, "seed \(seed): \(scope)")
            stored.subtract(doomed)
        }
        #expect(Set(walk().map(\.question)) == stored)
    }
}
