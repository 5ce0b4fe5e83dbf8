// The ring, compared with a plain array of all events, and read by another thread during writes.

import DNSWire
import LinuxIO
import Synchronization
import TestSupport
import Testing

@testable import Telemetry

@Suite("Flight recorder's ring")
struct FlightRingTests {
    /// A random event, with and without each part, with names of every length.
    private func event(_ random: inout SeededRandom, at nanoseconds: UInt64) throws -> FlightEvent {
        var event = FlightEvent(
            FlightEvent.Kind.allCases.randomElement(using: &random) ?? .stored, nanoseconds: nanoseconds)
        event.source = FlightEvent.Source.allCases.randomElement(using: &random) ?? .none
        event.transport = (Transport.allCases + [nil]).randomElement(using: &random) ?? nil
        event.type =
            Bool.random(using: &random) ? RecordType(rawValue: .random(in: 0...UInt16.max, using: &random)) : nil
        event.code = ResponseCode(rawValue: .random(in: 0...UInt16.max, using: &random))
        event.extendedError = Bool.random(using: &random) ? .random(in: 0..<UInt16.max, using: &random) : nil
        event.microseconds = .random(in: 0...UInt32.max, using: &random)
        event.outcome = FlightWord(.random(in: 0...UInt16.max, using: &random))
        event.upstream = FlightWord(.random(in: 0...UInt16.max, using: &random))
        event.network = Bool.random(using: &random) ? .random(in: 0...UInt32.max, using: &random) : 0
        switch Int.random(in: 0..<3, using: &random) {
        case 0: event.address = nil
        case 1: event.address = .v4(.random(in: 0...UInt32.max, using: &random))
        default:
            event.address = .v6(
                high: .random(in: 0...UInt64.max, using: &random), low: .random(in: 0...UInt64.max, using: &random))
        }
        if Int.random(in: 0..<4, using: &random) > 0 { event.name = try name(&random) }
        return event
    }

    private func name(_ random: inout SeededRandom) throws -> Name {
        var wire: [UInt8] = []
        let wanted = Int.random(in: 0...254, using: &random)
        while wanted - wire.count >= 2 {
            let length = min(Int.random(in: 1...63, using: &random), wanted - wire.count - 1)
            wire.append(UInt8(length))
            for _ in 0..<length { wire.append(.random(in: 0...255, using: &random)) }
        }
        return try #require(Name(wire: wire + [0]))
    }

    @Test("the last events come back as they were recorded, and those before are gone", arguments: [3, 99] as [UInt64])
    func model(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let ring = FlightRing()
        var recorded: [FlightEvent] = []
        for number in 0..<(FlightRing.capacity + 3000) {
            let event = try event(&random, at: UInt64(number))
            ring.record(event)
            recorded.append(event)
        }
        #expect(ring.count == UInt64(recorded.count))
        for (number, event) in recorded.enumerated() {
            let found = ring.event(UInt64(number))
            let expected = number < recorded.count - FlightRing.capacity ? nil : event
            guard found != expected else { continue }
            Issue.record(
                "seed \(seed), event \(number): \(String(describing: found)) for \(String(describing: expected))")
            break
        }
        #expect(ring.event(UInt64(recorded.count)) == nil)
    }

    @Test("a query is recorded with name and type from its packet, whatever its length")
    func packets() throws {
        let ring = FlightRing()
        var random = SeededRandom(seed: 7)
        for number in 0..<500 {
            let asked = try name(&random)
            let packet = QueryPacket(asked, .https, payloadSize: number.isMultiple(of: 2) ? 1232 : nil).bytes
            let query = ServedQuery(.answered, from: .cache, .noSuchName, client: .v4(0x7F00_0001))
            ring.record(query, atNanoseconds: UInt64(number), microseconds: 12, in: packet.span)
            let event = try #require(ring.event(UInt64(number)))
            #expect(event.name?.wire == asked.wire && event.type == .https && event.address == .v4(0x7F00_0001))
            #expect(event.source == .cache && event.code == .noSuchName && event.microseconds == 12)
            #expect(event.transport == .udp && event.kind == .answered)
        }
    }

    @Test("a packet without a whole question is recorded without one")
    func brokenPackets() throws {
        let ring = FlightRing()
        let whole = QueryPacket(try #require(Name("www.example.com")), .a).bytes
        var random = SeededRandom(seed: 8)
        for length in 0..<(whole.count - 1) {
            let packet = Array(whole[..<length])
            ring.record(
                ServedQuery(.dropped, outcome: .short, client: .v4(1)), atNanoseconds: 0, microseconds: 0,
                in: packet.span)
            #expect(ring.event(UInt64(length))?.name == nil, "\(length) bytes")
        }
        for _ in 0..<20_000 {
            var bytes = whole
            for _ in 0..<3 {
                bytes[.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
            }
            ring.record(
                ServedQuery(.refused, client: .v6(high: 1, low: 2)), atNanoseconds: 0, microseconds: 1 << 40,
                in: bytes.span)
            #expect(ring.event(ring.count - 1)?.address == .v6(high: 1, low: 2))
        }
    }

    @Test("a reader sees whole events while others are replaced")
    func concurrentReader() throws {
        let ring = FlightRing()
        let names = try (0..<64).map { try #require(Name(String(repeating: "a", count: $0 % 60 + 1) + ".example")) }
        let long = try #require(
            Name(Array(repeating: String(repeating: "b", count: 50), count: 4).joined(separator: ".")))
        let flag = SharedFlag()
        let writer = try NamedThread("writer") {
            var number: UInt64 = 0
            while !flag.isRaised {
                var event = FlightEvent(.answered, nanoseconds: number)
                event.microseconds = UInt32(truncatingIfNeeded: number)
                event.address = .v6(high: number, low: number)
                event.name = number.isMultiple(of: 3) ? long : names[Int(number % 64)]
                ring.record(event)
                number += 1
            }
        }
        var seen = 0
        while ring.count < 200_000 {
            let number = ring.count
            guard number > 0 else { continue }
            // The numbers are those of the newest event and of the one that is replaced next.
            for wanted in [number - 1, number - min(number, UInt64(FlightRing.capacity))] {
                guard let event = ring.event(wanted) else { continue }
                seen += 1
                let expected = wanted.isMultiple(of: 3) ? long : names[Int(wanted % 64)]
                guard event.nanoseconds == wanted, event.microseconds == UInt32(truncatingIfNeeded: wanted),
                    event.address == .v6(high: wanted, low: wanted), event.name == expected
                else {
                    Issue.record("event \(wanted) is torn: \(event)")
                    break
                }
            }
        }
        flag.raise()
        writer.join()
        #expect(seen > 0)
    }
}

/// A flag that one thread sets and another one reads.
private final class SharedFlag: Sendable {
    private let raised = Atomic<Bool>(false)
    var isRaised: Bool { raised.load(ordering: .relaxed) }
    func raise() { raised.store(true, ordering: .relaxed) }
}
