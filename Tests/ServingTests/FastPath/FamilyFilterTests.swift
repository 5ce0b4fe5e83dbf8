// AAAA queries without a route for IPv6, if the settings filter them: they get no records, and other queries are
// unchanged.

import CAllocationCounter
import DNSWire
import Serving
import TestSupport
import Testing

@Suite("AAAA while no route leads out for IPv6")
struct FamilyFilterTests {
    private let name: Name

    init() throws {
        name = try #require(Name("www.example.com"))
    }

    private func stand() -> ServingStand {
        let stand = ServingStand()
        let (v4, v6) = (Address.v4(7), Address.v6(high: 0x2001_0DB8_0000_0000, low: 7))
        stand.keep(
            Answer(records: [ResourceRecord(owner: name, address: v4, ttlSeconds: 60)]), for: Question(name, .a))
        stand.keep(
            Answer(records: [ResourceRecord(owner: name, address: v6, ttlSeconds: 60)]), for: Question(name, .aaaa))
        return stand
    }

    @Test("AAAA gets an empty answer at once, cached or not, and clients with EDNS get the reason")
    func filtered() throws {
        var stand = stand()
        stand.serving.setAAAAFilter(true)
        for asked in [name, try #require(Name("unknown.example"))] {
            let (outcome, reply) = stand.ask(QueryPacket(asked, .aaaa, payloadSize: 1232).bytes)
            #expect(outcome == .local)
            let message = try DecodedMessage(reply)
            #expect(message.responseCode == 0 && message.answers.isEmpty)
            #expect(message.authorities.map(\.owner) == [asked.wire] && message.authorities.map(\.type) == [6])
            #expect(message.authorities.map(\.ttl) == [10] && message.authorities[0].data.suffix(4) == [0, 0, 0, 10])
            #expect(message.optionRecord?.data[4..<6] == [0, 17])
            #expect(try DecodedMessage(stand.ask(QueryPacket(asked, .aaaa).bytes).reply).additionals.isEmpty)
        }
    }

    @Test("A and names of one label are looked up as before, and AAAA is again when the route is back")
    func unfiltered() throws {
        var stand = stand()
        stand.serving.setAAAAFilter(true)
        #expect(stand.ask(QueryPacket(name, .a).bytes).outcome == .answered(.noError))
        let localhost = QueryPacket(try #require(Name("localhost")), .aaaa)
        guard case .miss = stand.ask(localhost.bytes).outcome else {
            Issue.record("localhost was filtered")
            return
        }
        stand.serving.setAAAAFilter(false)
        #expect(stand.ask(QueryPacket(name, .aaaa).bytes).outcome == .answered(.noError))
    }

    #if !DEBUG
    @Test("10,000 filtered replies after the first allocate nothing", .enabled(if: hd_counts_allocations() == 1))
    func allocations() {
        var stand = stand()
        stand.serving.setAAAAFilter(true)
        let packet = QueryPacket(name, .aaaa, payloadSize: 1232).bytes
        // The first filtered reply of a process makes the SOA record that all of them share.
        #expect(stand.ask(packet).outcome == .local)
        #expect(
            stand.allocations(
                answering: packet, count: 10_000, counter: hd_thread_allocations) == 0)
    }
    #endif
}
