// The store between two runs of a daemon: kept entries return with their age, flushed entries do not, and an unusable
// file is reported once.

import DNSWire
import LinuxIO
import Serving
import Store
import TestSupport
import Testing

@testable import Daemon

struct StoreThreadTests {
    private let folder = TemporaryFolder()
    private let loop: EventLoop
    private let start = Clock.now()

    init() throws {
        loop = try EventLoop()
    }

    private var path: String { folder("cache.db") }

    private func thread(
        _ cache: AnswerCache, maxAge: Duration = .seconds(3_600), maxTTL: Duration = .seconds(604_800),
        maxRows: Int = 100_000
    ) throws -> StoreThread {
        try StoreThread(
            path: path, cache: cache, maxAge: maxAge, maxTTL: maxTTL, maxRows: maxRows, loop: loop,
            outbox: Outbox())
    }

    private func entry(
        _ text: String, storedSecondsAgo: Int64 = 0, lifetimeSeconds: UInt32 = 300, demand: Double = 1,
        address: UInt32 = 0xC000_0201
    ) throws -> StoredEntry {
        let question = Question(try #require(Name(text)), .a)
        let record = ResourceRecord(owner: question.name, address: .v4(address), ttlSeconds: lifetimeSeconds)
        return StoredEntry(
            question: question, partition: 1, sourceClass: .provider,
            answer: RenderedAnswer(Answer(records: [record]), to: question),
            storedAtMilliseconds: Clock.wallMilliseconds() - storedSecondsAgo * 1000, lifetimeSeconds: lifetimeSeconds,
            demand: demand)
    }

    /// Runs the loop until a wanted event comes; returns all events so far.
    private func events(_ thread: StoreThread, until isWanted: (StoreEvent) -> Bool) throws -> [StoreEvent] {
        var all: [StoreEvent] = []
        let deadline = Clock.now() + .seconds(20)
        while !all.contains(where: isWanted), Clock.now() < deadline {
            try loop.turn(until: deadline)
            all += thread.takeEvents()
        }
        return all
    }

    private func report(_ thread: StoreThread) throws -> LoadReport {
        let reports = try events(thread) { if case .loaded = $0 { true } else { false } }.compactMap { event in
            if case .loaded(let report) = event { report } else { nil }
        }
        return try #require(reports.first)
    }

    /// The names that the next run of the daemon restores.
    private func restored() throws -> [String] {
        let next = try thread(ServingStand().cache)
        defer { next.stop() }
        return try report(next).inUse.map { $0.question.name.description }.sorted()
    }

    @Test("a lower max-ttl holds for what comes back, too")
    func lowerMaxTTL() throws {
        let first = try thread(ServingStand().cache)
        first.keep(try entry("long.example", lifetimeSeconds: 86_400), now: start)
        first.keep(try entry("short.example", lifetimeSeconds: 30), now: start)
        first.stop()
        let next = try thread(ServingStand().cache, maxTTL: .seconds(60))
        defer { next.stop() }
        let left = try report(next).inUse.map(\.freshForMilliseconds).sorted()
        #expect(left.count == 2 && left[0] <= 30_000 && left[0] > 0 && left[1] == 60_000)
    }

    @Test("what is kept is answered in the next life, with the age that it has by then")
    func nextLife() throws {
        let first = try thread(ServingStand().cache)
        first.keep(try entry("fresh.example", storedSecondsAgo: 100), now: start)
        first.keep(try entry("expired.example", storedSecondsAgo: 1_000), now: start)
        first.keep(try entry("gone.example", storedSecondsAgo: 4_000), now: start)
        first.keep(try entry("future.example", storedSecondsAgo: -500), now: start)
        first.stop()
        #expect(first.counts == StoreThread.Counts(writtenEntries: 4, batches: 1))

        var stand = ServingStand()
        let second = try thread(stand.cache)
        let report = try report(second)
        second.stop()
        #expect(report.restored == 3 && report.leftOut == 1 && report.skipped == 0)
        let seconds = Double(Clock.millisecondsSinceBoot(Clock.now())) / 1000
        for (text, isFresh) in [("fresh", true), ("expired", false), ("gone", false), ("future", false)] {
            let packet = QueryPacket(try #require(Name(text + ".example")), .a)
            let (outcome, reply) = stand.ask(packet.bytes, atSeconds: seconds)
            #expect((outcome == .answered(.noError)) == isFresh, "\(text)")
            guard isFresh else { continue }
            let ttl = try #require(try DecodedMessage(reply).answers.first).ttl
            #expect((150...200).contains(ttl), "300 s, of which 100 and a little have passed: \(ttl)")
        }
        let ages = report.inUse.map { ($0.question.name.description, $0.freshForMilliseconds / 1000) }
        let freshFor = Dictionary(ages) { $1 }
        #expect(freshFor["future.example"] == 0 && (-701 ... -700).contains(freshFor["expired.example"] ?? 0))
    }

    @Test("an answer that was learned since is not replaced by an older one")
    func learnedSince() throws {
        let first = try thread(ServingStand().cache)
        let old = try entry("www.example")
        first.keep(old, now: start)
        first.stop()
        let stand = ServingStand()
        stand.keep(Answer(negative: .noData), for: old.question)
        let second = try thread(stand.cache)
        #expect(try report(second).leftOut == 1)
        second.stop()
        #expect(stand.cache.counts().entries == 1 && stand.cache.counts().insertions == 1)
    }

    @Test("a batch is posted two seconds after its first entry, and nothing wakes an idle daemon")
    func deadlines() throws {
        let thread = try thread(ServingStand().cache)
        _ = try report(thread)
        #expect(thread.nextDeadline == nil)
        thread.keep(try entry("a.example"), now: start)
        thread.keep(try entry("b.example"), now: start + .seconds(1))
        #expect(thread.nextDeadline == start + .seconds(2))
        thread.timePassed(now: start + .milliseconds(1_999))
        #expect(thread.nextDeadline == start + .seconds(2))
        thread.timePassed(now: start + .seconds(2))
        #expect(thread.nextDeadline == nil)
        // A flush does not wait for the deadline.
        thread.forget(.everything, now: start + .seconds(3))
        #expect(thread.nextDeadline == nil)
        thread.stop()
        #expect(thread.counts == StoreThread.Counts(writtenEntries: 2, batches: 2))
        #expect(thread.nextDeadline == nil)
        thread.stop()
    }

    @Test("a flush takes away what is in the file and what is collected, and nothing that comes later")
    func flush() throws {
        let first = try thread(ServingStand().cache)
        for name in ["a.example", "b.a.example", "c.example"] { first.keep(try entry(name), now: start) }
        first.timePassed(now: start + .seconds(2))
        first.keep(try entry("d.a.example"), now: start + .seconds(3))
        first.forget(
            QuestionScope(try #require(Name("a.example")), includesDescendants: true), now: start + .seconds(3))
        first.keep(try entry("e.a.example"), now: start + .seconds(3))
        first.stop()
        #expect(try restored() == ["c.example", "e.a.example"])
    }

    @Test("what was flushed while the file is read is never restored")
    func flushWhileLoading() throws {
        let first = try thread(ServingStand().cache)
        for number in 0..<900 { first.keep(try entry("n\(number).a.example"), now: start) }
        first.keep(try entry("b.example"), now: start)
        first.stop()
        let cache = ServingStand().cache
        let thread = try thread(cache)
        // The removal is that of `ResolvingLoop.flush`.
        let scope = QuestionScope(try #require(Name("a.example")), includesDescendants: true)
        thread.forget(scope, now: start)
        _ = cache.remove(scope)
        #expect(try report(thread).restored >= 1)
        #expect(cache.counts().entries == 1)
        thread.stop()
    }

    @Test("the newest answer to a question is kept, others are counted when too many wait")
    func bounds() throws {
        let thread = try thread(ServingStand().cache)
        for count in 0..<(StoreThread.maxCollected + 10) { thread.keep(try entry("n\(count).example"), now: start) }
        thread.keep(try entry("n5.example", demand: 9), now: start)
        thread.stop()
        // Every entry was either written or dropped, and none was counted twice.
        let counts = thread.counts
        #expect(counts.writtenEntries + counts.droppedEntries == UInt64(StoreThread.maxCollected) + 11)
        #expect(counts.failures == 0)
    }

    @Test("removals are kept once each, and too many become one of everything")
    func removals() throws {
        var removals: [QuestionScope] = []
        let name = try #require(Name("a.example"))
        removals.add(QuestionScope(name))
        removals.add(QuestionScope(name))
        removals.add(QuestionScope(name, includesDescendants: true))
        #expect(removals == [QuestionScope(name), QuestionScope(name, includesDescendants: true)])
        for count in 0..<StoreLoop.maxRemovals { removals.add(QuestionScope(try #require(Name("n\(count)")))) }
        #expect(removals == [.everything])
        removals.add(QuestionScope(name))
        #expect(removals == [.everything])
    }

    @Test("a damaged file is told of, and what is kept goes into a fresh one")
    func damaged() throws {
        folder.write(Array("this is no database, and never was one".utf8), to: path)
        let thread = try thread(ServingStand().cache)
        let told = try events(thread) { if case .loaded = $0 { true } else { false } }
        let setAside = told.compactMap { event in if case .setAside(let setAside) = event { setAside } else { nil } }
        #expect(setAside.map(\.newPath) == [path + ".aside-1"])
        thread.keep(try entry("a.example"), now: start)
        thread.stop()
        #expect(try restored() == ["a.example"])
    }

    @Test("a file that another daemon has is told of once; when it is free it is read and written")
    func inUseElsewhere() throws {
        let first = try thread(ServingStand().cache)
        first.keep(try entry("a.example"), now: start)
        _ = try report(first)
        let cache = ServingStand().cache
        let second = try thread(cache)
        let isFailure = { (event: StoreEvent) in if case .failed(.locked) = event { true } else { false } }
        #expect(try events(second, until: isFailure).filter(isFailure).count == 1)
        second.keep(try entry("b.example"), now: start)
        second.timePassed(now: start + .seconds(2))
        // The failure of the first order is counted and not reported again.
        let deadline = Clock.now() + .seconds(20)
        while second.counts.droppedEntries == 0, Clock.now() < deadline {
            try loop.turn(until: Clock.now() + .milliseconds(1))
        }
        #expect(second.counts.droppedEntries == 1)
        #expect(second.takeEvents().isEmpty)
        first.stop()
        second.keep(try entry("c.example"), now: start + .seconds(3))
        second.timePassed(now: start + .seconds(5))
        let told = try events(second) { if case .loaded = $0 { true } else { false } }
        #expect(told.contains { if case .recovered = $0 { true } else { false } })
        second.stop()
        #expect(cache.counts().entries == 1)
        #expect(try restored() == ["a.example", "c.example"])
    }

    @Test("no more rows are kept than allowed")
    func maxRows() throws {
        let first = try thread(ServingStand().cache, maxRows: 10)
        for count in 0..<50 { first.keep(try entry("n\(count).example", storedSecondsAgo: Int64(count)), now: start) }
        first.stop()
        #expect(try restored() == (0..<10).map { "n\($0).example" })
    }

    @Test("a large store is in the cache soon, and how soon")
    func large() throws {
        #if DEBUG
        let count = 2_000
        #else
        let count = 100_000
        #endif
        do {
            var store = EntryStore(path: path)
            let entries = try (0..<count).map {
                try entry("host-with-a-usual-name\($0).example", demand: Double($0 + 1))
            }
            try store.write(entries, nowMilliseconds: Clock.wallMilliseconds())
            store.close()
        }
        let thread = try thread(ServingStand(limitBytes: 32 << 20).cache)
        let report = try report(thread)
        thread.stop()
        #expect(report.restored == count && report.inUse.count == min(count, StoreLoop.maxInUse))
        #expect(report.inUse.first?.demand == Double(count))
        print("store: \(count) entries in the cache after \(report.milliseconds) ms")
    }

    @Test("the names in use are the most asked ones, most first")
    func hottest() throws {
        var hottest = HottestEntries(limit: 3)
        for demand in [1, 0, 5, 2, 4, 0.5, 3, 7, 6] as [Double] {
            hottest.offer(
                RestoredEntry(
                    question: Question(.root, .a), partition: Partition(rawValue: 1), sourceClass: .provider,
                    demand: demand, ageMilliseconds: 0, lifetimeSeconds: 1, isNegative: false))
        }
        #expect(hottest.take().map(\.demand) == [7, 6, 5])
        #expect(hottest.take().isEmpty)
    }
}
