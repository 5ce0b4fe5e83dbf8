// All rings together: events by time, of a name, from one place on; and the words of events.

import DNSWire
import TestSupport
import Testing

@testable import Telemetry

@Suite("Flight records")
struct FlightRecordsTests {
    private let records = FlightRecords(servingThreads: 2)

    private func record(_ ring: Int, at nanoseconds: UInt64, _ name: String? = nil) {
        var event = FlightEvent(.stored, nanoseconds: nanoseconds)
        event.name = name.flatMap { Name($0) }
        records.rings[ring].record(event)
    }

    private func times(_ walk: inout FlightWalk) -> [UInt64] {
        var times: [UInt64] = []
        while let event = walk.next() { times.append(event.nanoseconds) }
        return times
    }

    @Test("the latest events of all rings come by time, the oldest first")
    func latest() {
        for (ring, nanoseconds) in [(0, 1), (1, 2), (0, 3), (2, 4), (1, 5)] as [(Int, UInt64)] {
            record(ring, at: nanoseconds)
        }
        #expect(records.latest(3).map(\.nanoseconds) == [3, 4, 5])
        #expect(records.latest(99).map(\.nanoseconds) == [1, 2, 3, 4, 5])
        #expect(records.latest(0).isEmpty)
    }

    @Test("of failures only failed queries are recorded, when off nothing, and each change counts at once")
    func scope() throws {
        let packet = QueryPacket(try #require(Name("www.example.com")), .a).bytes
        let client = Address.v4(1)
        let failed = [
            ServedQuery(.answered, from: .failure, .serverFailure, client: client),
            ServedQuery(.answered, from: .provider, .serverFailure, client: client),
            ServedQuery(.answered, from: .limited, client: client), ServedQuery(.refused, .formatError, client: client),
            ServedQuery(.dropped, outcome: .rateLimited, client: client),
        ]
        let others = [
            ServedQuery(.answered, from: .cache, client: client),
            ServedQuery(.answered, from: .cache, .noSuchName, client: client), ServedQuery(.handedOver, client: client),
        ]
        for (scope, ofQueries, ofMainThread) in [(.all, 8, 2), (.failures, 5, 1), (.off, 0, 0)]
            as [(FlightScope, UInt64, UInt64)]
        {
            records.setScope(scope)
            let before = records.rings.map(\.count)
            for query in failed + others {
                records.rings[0].record(query, atNanoseconds: 1, microseconds: 1, in: packet.span)
            }
            record(2, at: 1, "www.example.com")
            var failure = FlightEvent(.answered, nanoseconds: 1)
            failure.code = .serverFailure
            records.ofMainThread.record(failure)
            let after = records.rings.map(\.count)
            #expect(after[0] - before[0] == ofQueries && after[2] - before[2] == ofMainThread, "\(scope)")
            #expect(records.scope == scope)
        }
    }

    @Test("events about a name are found among others, whatever the letters' case")
    func about() throws {
        record(0, at: 1, "www.example.com")
        record(2, at: 2, "WWW.Example.com")
        record(1, at: 3, "abc.example.com")
        record(1, at: 4)
        let name = try #require(Name("www.example.COM"))
        #expect(records.latest(9, about: name).map(\.nanoseconds) == [1, 2])
        #expect(records.latest(1, about: name).map(\.nanoseconds) == [2])
    }

    @Test("long names are told apart, and those behind other events are found only so far back")
    func farBack() throws {
        let beginning = "an-almost-equal-name-of-more.than.twenty-four.bytes"
        record(0, at: 1, beginning + ".example")
        record(0, at: 2, beginning + ".exAmple")
        record(0, at: 3, beginning + ".sample1")
        let name = try #require(Name(beginning + ".EXAMPLE"))
        #expect(records.latest(9, about: name).map(\.nanoseconds) == [1, 2])
        for number in 4..<(FlightRecords.maxSearched + 2) { record(0, at: UInt64(number), "www.example") }
        #expect(records.latest(9, about: name).map(\.nanoseconds) == [2])
    }

    @Test("a walk of queries counts queries alone")
    func queries() {
        var walk = FlightWalk(records, fromOldest: false, ofQueries: true)
        for number in 0..<40 { records.rings[0].record(FlightEvent(.stored, nanoseconds: UInt64(number))) }
        for number in 0..<3 { records.rings[1].record(FlightEvent(.answered, nanoseconds: UInt64(number))) }
        walk.extend()
        let first = walk.next()
        let left = walk.skip()
        #expect(first?.kind == .answered && left == 2)
        records.rings[0].record(FlightEvent(.refused, nanoseconds: 50))
        walk.extend()
        #expect(times(&walk) == [50])
    }

    @Test("a walk goes through all rings by time, and ends where they were")
    func walk() {
        for (ring, nanoseconds) in [(2, 1), (1, 2), (0, 3)] as [(Int, UInt64)] { record(ring, at: nanoseconds) }
        var walk = FlightWalk(records, fromOldest: true)
        record(0, at: 4)
        #expect(times(&walk) == [1, 2, 3])
        walk.extend()
        #expect(times(&walk) == [4] && walk.missed == 0)
        var later = FlightWalk(records, fromOldest: false)
        #expect(times(&later).isEmpty)
    }

    @Test("what was replaced before it was read is missed, and counted")
    func missed() {
        var walk = FlightWalk(records, fromOldest: false)
        for number in 0..<(FlightRing.capacity + 250) { record(1, at: UInt64(number)) }
        walk.extend()
        #expect(times(&walk) == (250..<UInt64(FlightRing.capacity + 250)).map { $0 })
        #expect(walk.missed == 250)
        record(0, at: 0)
        walk.extend()
        let (skipped, later) = (walk.skip(), walk.skip())
        #expect(skipped == 251 && later == 0, "what was missed is said once")
    }

    @Test("words keep their numbers, are cut between characters, and run out")
    func words() {
        let words = FlightStrings()
        let alidns = words.append("alidns")
        let long = words.append(String(repeating: "é", count: 40))
        #expect(words[alidns] == "alidns" && words[long] == String(repeating: "é", count: 28))
        #expect(words[.overload] == "overload" && words[.none].isEmpty && words[FlightWord(999)].isEmpty)
        var last = long
        for number in 0..<FlightStrings.capacity { last = words.append("\(number)") }
        #expect(last == .none && words[alidns] == "alidns")
    }
}
