// Awaited hits: the next reply from a marked entry clears the mark and reports itself, once.

import DNSWire
import Serving
import TestSupport
import Testing

@Suite("Awaited hits")
struct AwaitedHitTests {
    private static let partition = Partition(rawValue: 1)
    private let question: Question

    init() throws {
        question = Question(try #require(Name("www.example.com")), .a)
    }

    private func keep(
        _ address: UInt32, in stand: borrowing ServingStand, ttlSeconds: UInt32 = 300, atSeconds: Double = 0,
        sourceClass: SourceClass = .provider
    ) {
        let record = ResourceRecord(owner: question.name, address: .v4(address), ttlSeconds: ttlSeconds)
        stand.keep(Answer(records: [record]), for: question, atSeconds: atSeconds, sourceClass: sourceClass)
    }

    private func awaitHit(in stand: borrowing ServingStand, sourceClass: SourceClass = .provider) {
        stand.cache.awaitHit(question, partition: Self.partition, sourceClass: sourceClass)
    }

    private func ask(_ stand: inout ServingStand, atSeconds seconds: Double = 1) -> FastPath.Outcome {
        stand.ask(QueryPacket(question.name, question.type).bytes, atSeconds: seconds).outcome
    }

    private func isMiss(_ outcome: FastPath.Outcome) -> Bool {
        if case .miss = outcome { true } else { false }
    }

    @Test("the first reply says so, and only that one")
    func once() {
        var stand = ServingStand()
        keep(1, in: stand)
        #expect(ask(&stand) == .answered(.noError))
        awaitHit(in: stand)
        awaitHit(in: stand)
        #expect(ask(&stand) == .answeredAwaited(.noError, question))
        #expect(ask(&stand) == .answered(.noError))
        awaitHit(in: stand)
        #expect(ask(&stand) == .answeredAwaited(.noError, question))
    }

    @Test("the reply is the same with and without")
    func sameBytes() {
        var stand = ServingStand()
        keep(1, in: stand)
        let packet = QueryPacket(question.name, question.type, payloadSize: 1232).bytes
        let reply = stand.ask(packet, atSeconds: 1).reply
        awaitHit(in: stand)
        #expect(stand.ask(packet, atSeconds: 1).reply == reply)
    }

    @Test("a reply that is due says that, and the one after it that it was awaited")
    func dueFirst() {
        var stand = ServingStand()
        keep(1, in: stand, ttlSeconds: 30)
        awaitHit(in: stand)
        #expect(ask(&stand, atSeconds: 29.9) == .answeredAndDue(.noError, question))
        #expect(ask(&stand, atSeconds: 29.9) == .answeredAwaited(.noError, question))
        #expect(ask(&stand, atSeconds: 29.9) == .answered(.noError))
    }

    @Test("nothing under the key is nothing to wait for, and neither is what comes later")
    func nothingThere() {
        var stand = ServingStand()
        awaitHit(in: stand)
        #expect(isMiss(ask(&stand)))
        keep(1, in: stand)
        #expect(ask(&stand) == .answered(.noError))
    }

    @Test("another answer in its place is not awaited")
    func replaced() {
        var stand = ServingStand()
        keep(1, in: stand)
        awaitHit(in: stand)
        keep(2, in: stand)
        #expect(ask(&stand) == .answered(.noError))
    }

    @Test("an expired answer takes no mark")
    func expired() {
        var stand = ServingStand()
        keep(1, in: stand, ttlSeconds: 30)
        awaitHit(in: stand)
        #expect(isMiss(ask(&stand, atSeconds: 31)))
        #expect(ask(&stand, atSeconds: 2) == .answeredAwaited(.noError, question))
    }

    @Test("of two entries for a question the one that is given is the one that counts")
    func sourceClass() {
        var stand = ServingStand()
        keep(1, in: stand, ttlSeconds: 100)
        keep(2, in: stand, ttlSeconds: 300, sourceClass: .system)
        awaitHit(in: stand, sourceClass: .system)
        #expect(ask(&stand) == .answered(.noError))
        #expect(ask(&stand, atSeconds: 101) == .answeredAwaited(.noError, question))
    }

    @Test("a question comes back with the client's subnet and letters")
    func subnet() throws {
        let client = Address.v4(0x0808_0801)
        var stand = ServingStand()
        stand.serving.set(stand.partition, dependsOnClient: true)
        let question = Question(question.name, .a, from: ClientGroup(of: client))
        let record = ResourceRecord(owner: question.name, address: .v4(1), ttlSeconds: 60)
        stand.keep(Answer(records: [record]), for: question)
        stand.cache.awaitHit(
            question, partition: stand.serving.partition(for: question.clients), sourceClass: .provider)
        let packet = QueryPacket(try #require(Name("WWW.example.com")), .a).bytes
        #expect(stand.ask(packet, from: client).outcome == .answeredAwaited(.noError, question))
    }
}
