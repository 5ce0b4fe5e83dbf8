// The recorder as a file: its events are read back. A damaged file is an error or loses events.

import DNSWire
import TestSupport
import Testing

@testable import Telemetry

@Suite("Flight recorder's file")
struct FlightFileTests {
    private let records = FlightRecords(servingThreads: 1)

    /// A file as the daemon writes it.
    private func file(signal: UInt64 = 0) -> [UInt8] {
        let moment = [signal, 5_000_000_000, 1_700_000_000_000_000]
        let numbers = moment.flatMap { number in (0..<8).map { UInt8(truncatingIfNeeded: number >> UInt64(8 * $0)) } }
        let header = FlightFile.header(of: records, programVersion: "0.9.0")
        #expect(header.count == FlightFile.headerBytes)
        return unsafe header + numbers + records.parts.flatMap { unsafe Array($0) }
    }

    private func record(_ count: Int) throws {
        let long = try #require(
            Name(Array(repeating: String(repeating: "n", count: 60), count: 4).joined(separator: ".")))
        let word = records.words.append("alidns")
        for number in 0..<count {
            var event = FlightEvent(.fetchEnded, nanoseconds: UInt64(number))
            event.upstream = word
            event.name = number.isMultiple(of: 2) ? long : Name("www.example.com")
            event.address = .v6(high: UInt64(number), low: 1)
            records.rings[number % 2].record(event)
        }
    }

    @Test("events of all threads come back by time, with their words")
    func roundTrip() throws {
        try record(25_000)
        let file = try FlightFile(file(signal: 11))
        #expect(file.programVersion == "0.9.0" && file.signal == 11 && file.bootMicroseconds == 1_699_999_995_000_000)
        #expect(file.events == records.latest(FlightRing.capacity * 3))
        #expect(file.events.count == 20_000 && file.events.first?.nanoseconds == 5000)
        #expect(file.events.allSatisfy { file[$0.upstream] == "alidns" })
    }

    @Test("a file of something else, of another version or size, or cut short says so")
    func refusals() throws {
        try record(10)
        let whole = file()
        #expect(throws: FlightFileError.noRecorder) { try FlightFile(Array("GIF89a..........".utf8)) }
        #expect(throws: FlightFileError.noRecorder) { try FlightFile([]) }
        #expect(throws: FlightFileError.wrongSize(found: 20, expected: 88)) { try FlightFile(Array(whole.prefix(20))) }
        #expect(throws: FlightFileError.wrongSize(found: whole.count - 1, expected: whole.count)) {
            try FlightFile(whole.dropLast())
        }
        var other = whole
        other[8] = 2
        #expect(throws: FlightFileError.otherVersion(2)) { try FlightFile(other) }
        for offset in [12, 15, 16, 20, 24, 28, 32] {
            var damaged = whole
            damaged[offset] ^= 0x80
            #expect(throws: FlightFileError.self, "byte \(offset)") { try FlightFile(damaged) }
        }
    }

    @Test("an impossible time is refused, whatever its bytes")
    func moments() throws {
        try record(3)
        let whole = file(signal: 6)
        for (offset, value) in [
            (64, UInt64.max), (64, 65), (72, 1 << 63), (80, 1 << 63), (80, UInt64(Int64.max)),
            (80, 253_402_300_800_000_000),
        ] as [(Int, UInt64)] {
            var damaged = whole
            for index in 0..<8 { damaged[offset + index] = UInt8(truncatingIfNeeded: value >> UInt64(8 * index)) }
            #expect(throws: FlightFileError.wrongMoment, "\(value) at \(offset)") { try FlightFile(damaged) }
        }
        var random = SeededRandom(seed: 6)
        for _ in 0..<20 {
            var damaged = whole
            for offset in 64..<88 { damaged[offset] = .random(in: 0...255, using: &random) }
            guard let file = try? FlightFile(damaged) else { continue }
            #expect(file.events.count == 3)
        }
    }

    @Test("damage within costs events, and never the rest")
    func damage() throws {
        try record(200)
        let whole = file()
        var random = SeededRandom(seed: 5)
        var damaged = whole
        let first = whole.count - 2 * 8 * FlightRing.wordCount
        for _ in 0..<300 {
            damaged[.random(in: 88..<(first + 20_000), using: &random)] = .random(in: 0...255, using: &random)
        }
        let file = try FlightFile(damaged)
        #expect(file.events.count > 20 && file.events.count <= 200)
        for event in file.events { _ = file[event.upstream] + file[event.outcome] }
    }
}
