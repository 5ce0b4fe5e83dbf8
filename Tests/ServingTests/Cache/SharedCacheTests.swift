// Threads that answer while another one stores, rearranges, removes and awaits hits, in a cache that is always full. No
// reply mixes two answers, and none is older than the last stored one.

@testable import Serving
import DNSWire
import LinuxIO
import Synchronization
import TestSupport
import Testing

@Suite("The cache among threads")
struct SharedCacheTests {
    private static let names = 8
    private static let readers = 2
    private static let changes = 5_000
    /// The limit of changes. On a busy machine the other threads may start late, so changes continue until these have
    /// answered.
    private static let maxChanges = 5_000_000
    private static let partition = Partition(rawValue: 1)

    /// The state that the threads share besides the cache.
    private final class Ledger: Sendable {
        let isDone = Atomic(false)
        let replies = Atomic(0)
        let faults = Atomic(0)
        let reports = Atomic(0)
        /// The oldest generation that a reader may get, by name. It is set after that generation is in the cache.
        let floors: [Floor] = (0..<SharedCacheTests.names).map { _ in Floor() }

        final class Floor: Sendable {
            let generation = Atomic<UInt32>(0)
        }
    }

    private static func question(_ number: Int) -> Question {
        Question(Name("name\(number).example") ?? .root, .a)
    }

    /// An answer of one to eight addresses that all equal the generation, so that a mixture shows.
    private static func answer(_ question: Question, generation: UInt32) -> RenderedAnswer {
        let record = ResourceRecord(owner: question.name, address: .v4(generation), ttlSeconds: 60)
        let records = Array(repeating: record, count: 1 + Int(generation % 8))
        return RenderedAnswer(Answer(records: records), to: question)
    }

    @Test("replies are whole and never older than the last change; nothing is lost of the table", arguments: [7, 8])
    func changes(seed: UInt64) throws {
        // Each shard holds some twenty entries, so other names evict entries all the time.
        let cache = AnswerCache(limitBytes: 16 * 4_000, seed: (seed, 5))
        let ledger = Ledger()
        let readers = try (0..<Self.readers).map { number in
            try RunningThread { Self.read(cache, ledger, SeededRandom(seed: seed &+ UInt64(number))) }
        }
        let stranger = try RunningThread { Self.crowd(cache, ledger, SeededRandom(seed: seed ^ 0xFF)) }
        let awaits = Self.change(cache, ledger, SeededRandom(seed: seed))
        ledger.isDone.store(true, ordering: .releasing)
        (readers + [stranger]).forEach { $0.join() }
        let (faults, reports) = (ledger.faults.load(ordering: .relaxed), ledger.reports.load(ordering: .relaxed))
        #expect(faults == 0 && reports <= awaits, "\(ledger.replies.load(ordering: .relaxed)) replies")
        #expect(ledger.replies.load(ordering: .relaxed) > 0 && cache.counts().evictions > 0)
        for shard in 0..<UInt64(AnswerCache.shardCount) {
            let violations = cache.withTable(shard << 60) { TableWalk($0).violations }
            #expect(violations.isEmpty, "shard \(shard)")
        }
    }

    @Test("each awaited hit is told once, whichever thread gives it")
    func toldOnce() throws {
        let cache = AnswerCache(limitBytes: 1 << 20, seed: (1, 5))
        let ledger = Ledger()
        let question = Self.question(0)
        Self.store(cache, question, generation: 1)
        let readers = try (0..<Self.readers).map { _ in
            try RunningThread {
                var path = Self.path(cache)
                while !ledger.isDone.load(ordering: .acquiring) { Self.ask(&path, question, ledger) }
            }
        }
        var path = Self.path(cache)
        for round in 0..<Self.changes {
            cache.awaitHit(question, partition: Self.partition, sourceClass: .provider)
            if round % 3 == 0 {
                _ = cache.rearrange(
                    Self.answer(question, generation: UInt32(round)), for: question, partition: Self.partition,
                    sourceClass: .provider)
            }
            // This reply takes the mark if no reader has taken it before.
            Self.ask(&path, question, ledger)
        }
        ledger.isDone.store(true, ordering: .releasing)
        readers.forEach { $0.join() }
        #expect(ledger.reports.load(ordering: .relaxed) == Self.changes)
        #expect(ledger.faults.load(ordering: .relaxed) == 0)
    }

    // MARK: threads

    /// Changes the cache as the resolving thread does. Returns the number of awaited hits.
    private static func change(_ cache: AnswerCache, _ ledger: Ledger, _ random: SeededRandom) -> Int {
        var random = random
        var awaits = 0
        for generation in 1...UInt32(maxChanges) {
            let isSeen = ledger.replies.load(ordering: .relaxed) > 0
            if generation > changes, isSeen, cache.counts().evictions > 0 { break }
            let number = Int.random(in: 0..<names, using: &random)
            let question = question(number)
            switch Int.random(in: 0..<8, using: &random) {
            case 0, 1: store(cache, question, generation: generation)
            case 2, 3, 4:
                _ = cache.rearrange(
                    answer(question, generation: generation), for: question, partition: partition,
                    sourceClass: .provider)
            case 5: _ = cache.remove(QuestionScope(question.name, type: question.type))
            default:
                cache.awaitHit(question, partition: partition, sourceClass: .provider)
                awaits += 1
                continue
            }
            // Later replies must not contain the previous answer.
            ledger.floors[number].generation.store(generation, ordering: .releasing)
        }
        return awaits
    }

    /// Asks for other names, once each.
    private static func crowd(_ cache: AnswerCache, _ ledger: Ledger, _ random: SeededRandom) {
        var random = random
        while !ledger.isDone.load(ordering: .acquiring) {
            let number = Int.random(in: names..<4_000, using: &random)
            store(cache, question(number), generation: UInt32(number))
        }
    }

    private static func read(_ cache: AnswerCache, _ ledger: Ledger, _ random: SeededRandom) {
        var random = random
        var path = path(cache)
        while !ledger.isDone.load(ordering: .acquiring) {
            let number = Int.random(in: 0..<names, using: &random)
            let floor = ledger.floors[number].generation.load(ordering: .acquiring)
            for name in 0..<names {
                let question = question(name)
                path.announce(QueryPacket(question.name, question.type).bytes.span)
            }
            path.prefetch()
            guard let generation = ask(&path, question(number), ledger) else { continue }
            if generation < floor { ledger.faults.add(1, ordering: .relaxed) }
        }
    }

    // MARK: parts

    private static func path(_ cache: AnswerCache) -> FastPath {
        FastPath(
            cache: cache, access: AccessList(Prefix.everywhere), serving: ServingState(partition, seed: 1),
            version: ServingStand.version)
    }

    private static func store(_ cache: AnswerCache, _ question: Question, generation: UInt32) {
        cache.store(
            answer(question, generation: generation), lifetimeSeconds: 60, for: question, partition: partition,
            sourceClass: .provider, nowMilliseconds: 0)
    }

    /// The generation of the reply; nil: a miss.
    @discardableResult
    private static func ask(_ path: inout FastPath, _ question: Question, _ ledger: Ledger) -> UInt32? {
        let packet = QueryPacket(question.name, question.type).bytes
        var outcome = FastPath.Outcome.dropped(.short)
        let reply = [UInt8](capacity: EDNS.ourPayloadBytes) { output in
            outcome = path.respond(
                to: packet.span, from: ServingStand.loopback, over: .udp, nowMilliseconds: 1_000, into: &output)
        }
        switch outcome {
        case .answered(.noError): break
        case .answeredAwaited(.noError, question): ledger.reports.add(1, ordering: .relaxed)
        case .miss: return nil
        default: ledger.faults.add(1, ordering: .relaxed)
        }
        ledger.replies.add(1, ordering: .relaxed)
        let data = (try? DecodedMessage(reply))?.answers.map(\.data) ?? []
        let generation = data.first?.reduce(0) { $0 << 8 | UInt32($1) } ?? 0
        if Set(data).count != 1 || data.count != 1 + Int(generation % 8) { ledger.faults.add(1, ordering: .relaxed) }
        return generation
    }

    /// A reference to a running thread, because a noncopyable value cannot be in an array.
    private final class RunningThread {
        private var thread: NamedThread?

        init(_ body: @escaping @Sendable () -> Void) throws {
            thread = try NamedThread("cache test", body)
        }

        func join() { thread.take()?.join() }
    }
}
