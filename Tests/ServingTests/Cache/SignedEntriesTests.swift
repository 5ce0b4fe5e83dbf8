// Entries with and without DO and CD: each client gets the form that its query asks for.

import DNSWire
import Serving
import TestSupport
import Testing

struct SignedEntriesTests {
    private let name: Name

    init() throws {
        name = try #require(Name("www.example.com"))
    }

    private func packet(_ bits: DNSSECBits) -> [UInt8] {
        var packet = QueryPacket(name, .a, payloadSize: 1232)
        if bits.contains(.dnssecOK) { packet.optionFlags = 0x8000 }
        if bits.contains(.checkingDisabled) { packet.flags |= 0x0010 }
        return packet.bytes
    }

    private func answer(_ address: UInt32) -> Answer {
        Answer(records: [ResourceRecord(owner: name, address: .v4(address), ttlSeconds: 300)])
    }

    @Test("an entry answers only queries with the same DO and CD", arguments: DNSSECBits.all)
    func apart(bits: DNSSECBits) throws {
        var stand = ServingStand()
        stand.keep(answer(UInt32(bits.rawValue)), for: Question(name, .a, dnssec: bits))
        for other in DNSSECBits.all {
            let (outcome, reply) = stand.ask(packet(other))
            if other == bits {
                #expect(outcome == .answered(.noError))
                let message = try DecodedMessage(reply)
                #expect(message.answers.map(\.data) == [[0, 0, 0, bits.rawValue]])
                #expect(message.optionRecord?.ttl == (bits.contains(.dnssecOK) ? 0x8000 : 0))
            } else if case .miss(let query) = outcome {
                #expect(query.dnssec == other)
            } else {
                Issue.record("\(outcome) for \(other)")
            }
        }
    }

    @Test("all four are found under their own keys, and flushed together")
    func together() {
        var stand = ServingStand()
        for bits in DNSSECBits.all {
            stand.keep(answer(UInt32(bits.rawValue)), for: Question(name, .a, dnssec: bits))
        }
        for bits in DNSSECBits.all { #expect(stand.ask(packet(bits)).outcome == .answered(.noError)) }
        let entries = stand.cache.walk(from: .init(), .everything, maxEntries: 10)
        #expect(stand.cache.counts().entries == 4 && entries.entries.count <= 4)
        #expect(stand.cache.remove(QuestionScope(name, type: .a)) == 4)
        #expect(stand.cache.counts().entries == 0)
    }

    @Test("AD is kept with the entry")
    func authenticData() throws {
        var stand = ServingStand()
        stand.keep(answer(7).authenticated(true), for: Question(name, .a))
        var asked = QueryPacket(name, .a)
        #expect(try DecodedMessage(stand.ask(asked.bytes).reply).flags == 0x8180)
        asked.flags = 0x0120
        #expect(try DecodedMessage(stand.ask(asked.bytes).reply).flags == 0x81A0)
    }

    @Test("AAAA is not filtered for clients with DO")
    func familyFilter() {
        var stand = ServingStand()
        stand.serving.setAAAAFilter(true)
        #expect(stand.ask(QueryPacket(name, .aaaa, payloadSize: 1232).bytes).outcome == .local)
        let asked = QueryPacket(name, .aaaa, payloadSize: 1232, optionFlags: 0x8000).bytes
        guard case .miss = stand.ask(asked).outcome else {
            Issue.record("filtered")
            return
        }
    }
}
