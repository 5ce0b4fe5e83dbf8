// A cache hit allocates nothing: allocations are counted, in release builds, for all kinds of replies.

import CAllocationCounter
import DNSWire
import Serving
import Telemetry
import TestSupport
import Testing

struct AllocationTests {
    @Test("the counter counts", .enabled(if: hd_counts_allocations() == 1))
    func counts() {
        let before = hd_thread_allocations()
        hd_allocate_once()
        #expect(hd_thread_allocations() - before == 1)
        let afterC = hd_thread_allocations()
        unsafe UnsafeMutableRawPointer.allocate(byteCount: 100, alignment: 8).deallocate()
        unsafe UnsafeMutableRawPointer.allocate(byteCount: 100, alignment: 64).deallocate()
        #expect(hd_thread_allocations() - afterC == 2)
    }

    #if !DEBUG
    @Test(
        "10,000 cached hits allocate nothing, with EDNS, cut short, negative and on a stream as well",
        .enabled(if: hd_counts_allocations() == 1),
        arguments: [nil, 512, 1232] as [UInt16?], [.a, .aaaa, .txt] as [RecordType])
    func hits(payloadSize: UInt16?, type: RecordType) throws {
        let name = try #require(Name("www.Example.com"))
        let packet = QueryPacket(name, type, payloadSize: payloadSize).bytes
        for transport in Transport.allCases {
            var stand = ServingStand()
            stand.keep(try answer(to: Question(name, type)), for: Question(name, type))
            #expect(
                stand.allocations(
                    answering: packet, over: transport, count: 10_000, counter: hd_thread_allocations)
                    == 0)
        }
    }

    @Test(
        "the reply that was awaited makes its question, and those after it allocate nothing",
        .enabled(if: hd_counts_allocations() == 1))
    func awaited() throws {
        let question = Question(try #require(Name("www.example.com")), .a)
        let packet = QueryPacket(question.name, question.type).bytes
        var stand = ServingStand()
        stand.keep(try answer(to: question), for: question)
        stand.cache.awaitHit(question, partition: stand.partition, sourceClass: .provider)
        let first = stand.allocations(
            answering: packet, count: 1, counter: hd_thread_allocations)
        #expect((1...4).contains(first))
        #expect(
            stand.allocations(
                answering: packet, count: 10_000, counter: hd_thread_allocations) == 0)
    }

    @Test("misses, refusals and drops allocate nothing either", .enabled(if: hd_counts_allocations() == 1))
    func others() throws {
        let name = try #require(Name("www.example.com"))
        var stand = ServingStand(allow: [try #require(Prefix("127.0.0.0/8"))])
        var badVersion = QueryPacket(name, .a, payloadSize: 1232)
        badVersion.version = 1
        for packet in [QueryPacket(name, .a).bytes, badVersion.bytes, QueryPacket(name, .axfr).bytes, [1, 2, 3]] {
            #expect(
                stand.allocations(
                    answering: packet, count: 10_000, counter: hd_thread_allocations) == 0,
                "\(packet)")
        }
    }

    @Test(
        "recording a query, and how long it took, allocates nothing, whatever the length of its name",
        .enabled(if: hd_counts_allocations() == 1))
    func recorder() throws {
        let (ring, durations) = (FlightRing(), PublishedHistogram())
        let long = Array(repeating: String(repeating: "n", count: 60), count: 4).joined(separator: ".")
        for text in ["www.example.com", "a.somewhat.longer.name.example.com", long] {
            let packet = QueryPacket(try #require(Name(text)), .a).bytes
            let query = ServedQuery(.answered, from: .cache, client: .v6(high: 1, low: 2))
            let before = hd_thread_allocations()
            for run in 0..<20_000 {
                ring.record(query, atNanoseconds: UInt64(run), microseconds: 12, in: packet.span)
                durations.record(microseconds: UInt64(run), count: 1)
            }
            #expect(hd_thread_allocations() - before == 0, "\(text)")
        }
    }

    /// The answer by type: two addresses for A, more than a datagram holds for AAAA, no data for TXT.
    private func answer(to question: Question) throws -> Answer {
        switch question.type {
        case .a:
            return Answer(
                records: [1, 2].map { ResourceRecord(owner: question.name, address: .v4($0), ttlSeconds: 300) })
        case .aaaa:
            return Answer(
                records: (0..<90).map {
                    ResourceRecord(owner: question.name, address: .v6(high: 1, low: $0), ttlSeconds: 300)
                })
        default:
            let zone = try #require(Name("example.com"))
            let data = [UInt8](repeating: 0, count: 18) + [0, 0, 1, 0]
            return Answer(
                negative: .noData, authority: ResourceRecord(owner: zone, type: .soa, ttlSeconds: 300, data: data))
        }
    }
    #endif
}
