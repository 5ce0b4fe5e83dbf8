// Packets in and replies out, over a cache: the chosen answer, and the cases without one.

import DNSWire
import Serving
import TestSupport
import Testing

struct FastPathTests {
    private let question: Question

    init() throws {
        question = Question(try #require(Name("www.example.com")), .a)
    }

    private func packet(_ payloadSize: UInt16? = nil) -> QueryPacket {
        QueryPacket(question.name, question.type, payloadSize: payloadSize)
    }

    private func answer(_ address: UInt32, ttlSeconds: UInt32 = 300) -> Answer {
        Answer(records: [ResourceRecord(owner: question.name, address: .v4(address), ttlSeconds: ttlSeconds)])
    }

    @Test("what is not in the cache is a miss that says what was asked")
    func miss() throws {
        var stand = ServingStand()
        let asked = packet(4096).bytes
        let (outcome, reply) = stand.ask(asked)
        guard case .miss(let query) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(reply.isEmpty && query.id == 0x1234 && query.type == .a)
        #expect(query.name(in: asked.span) == question.name && query.replyLimitBytes == 1232)
    }

    @Test("a cached answer comes with the client's id, letters and flags, and its TTL counted down")
    func hit() throws {
        var stand = ServingStand()
        stand.keep(answer(7), for: question, atSeconds: 1000)
        var asked = packet()
        asked.name = try #require(Name("WwW.ExAmPlE.cOm"))
        asked.id = 0xBEEF
        asked.flags = 0x0100
        let (outcome, reply) = stand.ask(asked.bytes, atSeconds: 1100.9)
        #expect(outcome == .answered(.noError))
        let message = try DecodedMessage(reply)
        #expect(message.id == 0xBEEF && message.flags == 0x8180)
        #expect(message.questions.map(\.name) == [asked.name.wire])
        #expect(message.answers.map(\.ttl) == [200] && message.answers.map(\.data) == [[0, 0, 0, 7]])
    }

    @Test("an answer is given until its last millisecond and not after")
    func expiry() {
        var stand = ServingStand()
        let (cache, part) = (stand.cache, stand.serving.partition(for: .all))
        stand.keep(answer(7, ttlSeconds: 30), for: question, atSeconds: 5)
        #expect(stand.ask(packet().bytes, atSeconds: 33).outcome == .answered(.noError))
        #expect(cache.entries(of: question, partition: part).map(\.refreshWasAsked) == [false])
        #expect(stand.ask(packet().bytes, atSeconds: 34.9).outcome == .answeredAndDue(.noError, question))
        #expect(cache.entries(of: question, partition: part).map(\.refreshWasAsked) == [true])
        // A due refresh is reported once.
        #expect(stand.ask(packet().bytes, atSeconds: 34.999).outcome == .answered(.noError))
        for seconds in [35, 35.001, 1e9] {
            guard case .miss = stand.ask(packet().bytes, atSeconds: seconds).outcome else {
                Issue.record("answered at \(seconds)")
                return
            }
        }
    }

    @Test("a query with RD=0 counts no hit, requests no refresh and takes no awaited mark")
    func cacheOnly() {
        var stand = ServingStand()
        let (cache, part) = (stand.cache, stand.serving.partition(for: .all))
        stand.keep(answer(7, ttlSeconds: 30), for: question, atSeconds: 5)
        cache.awaitHit(question, partition: part, sourceClass: .provider)
        var cacheOnly = packet()
        cacheOnly.flags = 0
        for seconds in [6, 34.9] {
            #expect(stand.ask(cacheOnly.bytes, atSeconds: seconds).outcome == .answered(.noError))
        }
        #expect(cache.hits(question, partition: part) == 0)
        #expect(stand.ask(packet().bytes, atSeconds: 34.9).outcome == .answeredAndDue(.noError, question))
        #expect(stand.ask(packet().bytes, atSeconds: 34.9).outcome == .answeredAwaited(.noError, question))
        #expect(cache.hits(question, partition: part) == 2)
    }

    @Test("an answer with TTL 0 is not given from the cache")
    func zeroTTL() {
        var stand = ServingStand()
        stand.keep(answer(7, ttlSeconds: 0), for: question)
        guard case .miss = stand.ask(packet().bytes).outcome else {
            Issue.record("answered")
            return
        }
    }

    @Test("a provider's answer goes before the system resolver's, which is next when it has expired")
    func provenanceOrder() throws {
        var stand = ServingStand()
        stand.keep(answer(2, ttlSeconds: 600), for: question, sourceClass: .system)
        #expect(try address(stand.ask(packet().bytes).reply) == [0, 0, 0, 2])
        // The provider's answer replaces the system resolver's.
        stand.keep(answer(1, ttlSeconds: 100), for: question, sourceClass: .provider)
        #expect(try address(stand.ask(packet().bytes, atSeconds: 1).reply) == [0, 0, 0, 1])
        stand.keep(answer(3, ttlSeconds: 600), for: question, sourceClass: .system)
        #expect(try address(stand.ask(packet().bytes, atSeconds: 99).reply) == [0, 0, 0, 1])
        #expect(try address(stand.ask(packet().bytes, atSeconds: 100).reply) == [0, 0, 0, 3])
        #expect(stand.cache.remove(QuestionScope(question.name, type: question.type)) == 2)
    }

    @Test("a negative answer is given with its code and SOA record", arguments: [Answer.Kind.noSuchName, .noData])
    func negative(kind: Answer.Kind) throws {
        var stand = ServingStand()
        let zone = try #require(Name("example.com"))
        let numbers: [UInt32] = [1, 2, 3, 4, 60]
        let data: [UInt8] = [0, 0] + numbers.flatMap { Address.v4($0).bytes }
        let authority = ResourceRecord(owner: zone, type: .soa, ttlSeconds: 900, data: data)
        stand.keep(Answer(negative: kind, authority: authority), for: question)
        let code = kind == .noSuchName ? ResponseCode.noSuchName : .noError
        let (outcome, reply) = stand.ask(packet().bytes, atSeconds: 59)
        #expect(outcome == .answeredAndDue(code, question))
        let message = try DecodedMessage(reply)
        #expect(message.responseCode == code.rawValue && message.answers.isEmpty)
        #expect(message.authorities.map(\.ttl) == [1])
        guard case .miss = stand.ask(packet().bytes, atSeconds: 60).outcome else {
            Issue.record("a negative answer outlived its SOA record's MINIMUM")
            return
        }
    }

    @Test("types, partitions and names do not mix")
    func dimensions() throws {
        let other = Partition(rawValue: 2)
        var stand = ServingStand()
        stand.cache.store(
            RenderedAnswer(answer(7), to: question), lifetimeSeconds: 60, for: question, partition: other,
            sourceClass: .provider, nowMilliseconds: 0)
        stand.keep(answer(8), for: Question(question.name, .aaaa))
        stand.keep(answer(9), for: Question(try #require(Name("ww.wexample.com")), .a))
        guard case .miss = stand.ask(packet().bytes).outcome else {
            Issue.record("another key's answer was given")
            return
        }
        #expect(stand.cache.counts().entries == 3)
    }

    @Test("a large answer is cut for UDP and whole on a stream")
    func streamLimit() throws {
        var stand = ServingStand()
        let records = (0..<300).map {
            ResourceRecord(owner: question.name, address: .v4($0), ttlSeconds: 60)
        }
        stand.keep(Answer(records: records), for: question)
        let cut = try DecodedMessage(stand.ask(packet().bytes).reply)
        #expect(cut.isTruncated && cut.answers.count == (512 - 12 - 21) / 16)
        let whole = try DecodedMessage(stand.ask(packet().bytes, over: .tcp).reply)
        #expect(!whole.isTruncated && whole.answers.count == 300)
    }

    @Test("a newer answer replaces the older one, and removing leaves nothing")
    func replaceAndRemove() throws {
        var stand = ServingStand()
        stand.keep(answer(1), for: question)
        stand.keep(answer(2), for: question)
        #expect(stand.cache.counts().entries == 1 && stand.cache.counts().insertions == 2)
        #expect(try address(stand.ask(packet().bytes).reply) == [0, 0, 0, 2])
        #expect(stand.cache.remove(QuestionScope(question.name, type: question.type)) == 1)
        #expect(stand.cache.counts().entries == 0 && stand.cache.counts().bytes == 0)
    }

    private func address(_ reply: [UInt8]) throws -> [UInt8]? {
        try DecodedMessage(reply).answers.first?.data
    }
}
