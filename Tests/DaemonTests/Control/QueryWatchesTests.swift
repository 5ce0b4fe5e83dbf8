// Watching clients get the queries that they asked for; excess queries are left out and counted.

import Control
import DNSWire
import LinuxIO
import Telemetry
import Testing

@testable import Daemon

@Suite("Watches")
struct QueryWatchesTests {
    private let records = FlightRecords(servingThreads: 1)
    private let watches: QueryWatches
    private let start = Clock.now()

    init() {
        watches = QueryWatches(records)
    }

    private func record(_ kind: FlightEvent.Kind, _ name: String) {
        records.rings[0].record(
            FlightSlot(kind, atNanoseconds: Clock.nanosecondsSinceBoot(start), type: .a),
            address: .v4(0x7F00_0001), about: Name(name))
    }

    private func text(_ stream: ControlStream) -> String { String(decoding: stream.unsent, as: UTF8.self) }

    private func later(_ turns: Int = 1) -> Instant { start + QueryWatches.interval * turns }

    @Test("a watcher gets the queries that its pattern matches, from then on")
    func pattern() throws {
        record(.answered, "before.example")
        #expect(watches.nextDeadline == nil, "without a watch no query is examined")
        let stream = try watches.begin(NamePattern("*.example"), showsClients: false, wantsJSON: false, now: start)
        let all = try watches.begin(nil, showsClients: true, wantsJSON: true, now: start)
        record(.answered, "www.example")
        record(.fetchBegun, "fetched.example")
        record(.answered, "www.other")
        #expect(watches.nextDeadline == later())
        watches.timePassed(now: start)
        #expect(watches.takeLines().isEmpty && text(stream).isEmpty)
        watches.timePassed(now: later())
        #expect(watches.takeLines().isEmpty, "nothing is logged")
        #expect(text(stream).contains("www.example A") && text(stream).split(separator: "\n").count == 1)
        #expect(!text(stream).contains("127.0.0.1"))
        #expect(text(all).split(separator: "\n").count == 2 && text(all).contains("\"client\":\"127.0.0.1\""))
        stream.connectionClosed()
        all.connectionClosed()
        watches.timePassed(now: later(2))
        #expect(watches.nextDeadline == nil)
    }

    @Test("a view shows queries although the recorder is off, which is off again afterwards")
    func scope() throws {
        watches.scope = .off
        record(.answered, "before.example")
        let stream = try watches.begin(nil, showsClients: false, wantsJSON: false, now: start)
        record(.answered, "www.example")
        watches.timePassed(now: later())
        #expect(text(stream).contains("www.example A") && !text(stream).contains("before"))
        stream.connectionClosed()
        watches.timePassed(now: later(2))
        #expect(records.scope == .off)
        _ = watches.setLogging(.init(showsClients: false), now: later(2))
        #expect(records.scope == .all)
        watches.scope = .failures
        #expect(records.scope == .all)
        _ = watches.setLogging(nil, now: later(3))
        #expect(records.scope == .failures)
    }

    @Test(
        "what comes too fast is left out, with its number, and the watcher goes on behind it",
        arguments: [false, true], [15, 250])
    func flood(asJSON: Bool, nameBytes: Int) throws {
        let stream = try watches.begin(nil, showsClients: false, wantsJSON: asJSON, now: start)
        let label = String(repeating: "x", count: 49)
        let name = nameBytes == 15 ? "www.example.com" : Array(repeating: label, count: 5).joined(separator: ".")
        let count = QueryWatches.maxLinesPerTurn + 7
        for _ in 0..<count { record(.answered, name) }
        for _ in 0..<count { record(.stored, name) }
        watches.timePassed(now: later())
        #expect(!stream.isOverfull)
        let lines = text(stream).split(separator: "\n")
        let told = lines.count { $0.contains(name) }
        #expect(told > 100 && lines.count == told + 1)
        let end =
            asJSON ? "{\"left_out\":\(count - told)}" : "; \(count - told) queries omitted because of the rate limit"
        #expect(lines.last.map(String.init) == end)
        let left = stream.unsent.count
        stream.took(left)
        record(.answered, "calm.example")
        watches.timePassed(now: later(2))
        #expect(text(stream).contains("calm.example") && !text(stream).contains(name))
    }

    @Test("a reader that takes nothing loses lines, is told how many when it reads on, and others lose none")
    func slowReader() throws {
        let slow = try watches.begin(nil, showsClients: false, wantsJSON: true, now: start)
        let quick = try watches.begin(NamePattern("n7.*"), showsClients: false, wantsJSON: true, now: start)
        for turn in 1...20 {
            for number in 0..<100 { record(.answered, "n\(number).example") }
            watches.timePassed(now: later(turn))
        }
        #expect(!slow.isOverfull && text(quick).split(separator: "\n").count == 20)
        #expect(!text(quick).contains("left_out"))
        let told = text(slow).split(separator: "\n").count { $0.contains("example") }
        let before = text(slow)
        slow.took(slow.unsent.count)
        watches.timePassed(now: later(21))
        let said = (before + text(slow)).split(separator: "\n").compactMap { line in
            line.hasPrefix("{\"left_out\":") ? Int(line.dropFirst(12).dropLast()) : nil
        }
        #expect(told + said.reduce(0, +) == 2000)
    }

    @Test("expensive patterns cost lines, not the daemon's time")
    func costlyPatterns() throws {
        let pattern = try #require(NamePattern("*" + String(repeating: "x", count: 59) + "b"))
        let stream = try watches.begin(pattern, showsClients: false, wantsJSON: true, now: start)
        let name = Array(repeating: String(repeating: "x", count: 62), count: 4).joined(separator: ".")
        for _ in 0..<1000 { record(.answered, name) }
        watches.timePassed(now: later())
        #expect(text(stream).hasPrefix("{\"left_out\":"))
    }

    @Test("what patterns may cost goes to the oldest watch first")
    func costInOrder() throws {
        let pattern = try #require(NamePattern("*" + String(repeating: "x", count: 59) + "b"))
        var streams: [ControlStream] = []
        for _ in 0..<QueryWatches.maxWatches {
            streams.append(try watches.begin(pattern, showsClients: false, wantsJSON: true, now: start))
        }
        let name = Array(repeating: String(repeating: "x", count: 62), count: 4).joined(separator: ".")
        for _ in 0..<1000 { record(.answered, name) }
        watches.timePassed(now: later())
        let omitted = streams.map { Int(text($0).filter(\.isNumber)) ?? 0 }
        #expect(omitted == omitted.sorted() && omitted.first != omitted.last, "\(omitted)")
    }

    @Test("the log gets every query, with the client only if that is wanted")
    func log() throws {
        for showsClients in [false, true] {
            _ = watches.setLogging(.init(showsClients: showsClients), now: start)
            record(.answered, "www.example")
            watches.timePassed(now: try #require(watches.nextDeadline))
            let events = watches.takeLines()
            #expect(events.count == 1)
            let text = try #require(events.first?.text)
            #expect(text.contains("www.example A") && text.contains("127.0.0.1") == showsClients)
            record(.answered, "last.example")
            #expect(watches.setLogging(nil, now: start).count == 1, "what came before it was switched off")
            #expect(watches.nextDeadline == nil)
        }
    }

    @Test("other events than queries keep nothing out of the log")
    func logAmongOthers() throws {
        _ = watches.setLogging(.init(showsClients: false), now: start)
        for _ in 0..<(QueryWatches.maxQueriesPerTurn + 100) { record(.handedOver, "www.example") }
        for _ in 0..<(QueryWatches.maxLinesPerTurn + 3) { record(.answered, "www.example") }
        watches.timePassed(now: later())
        let events = watches.takeLines()
        #expect(events.count == QueryWatches.maxLinesPerTurn + 1)
        #expect(events.last?.text == "3 queries not logged because of the rate limit")
    }

    @Test("there are only so many watchers")
    func bound() throws {
        var streams: [ControlStream] = []
        for _ in 0..<QueryWatches.maxWatches {
            streams.append(try watches.begin(nil, showsClients: false, wantsJSON: false, now: start))
        }
        #expect(throws: Refusal.self) {
            try watches.begin(nil, showsClients: false, wantsJSON: false, now: start)
        }
        streams[0].connectionClosed()
        _ = try watches.begin(nil, showsClients: false, wantsJSON: false, now: start)
    }

    @Test("one user without all rights leaves room for others")
    func boundOfUser() throws {
        let begin = { try watches.begin(nil, showsClients: false, wantsJSON: false, by: $0, now: start) }
        let first = try begin(1000)
        _ = try begin(1000)
        #expect(throws: Refusal.self) { try begin(1000) }
        _ = try begin(1001)
        first.connectionClosed()
        _ = try begin(1000)
        for _ in 0..<3 { _ = try begin(nil) }
    }

    @Test("unprivileged users together leave room for an operator")
    func boundOfUsers() throws {
        let begin = { try watches.begin(nil, showsClients: false, wantsJSON: false, by: $0, now: start) }
        for user: UInt32 in 1000..<1003 { for _ in 0..<QueryWatches.maxWatchesOfUser { _ = try begin(user) } }
        #expect(throws: Refusal.self) { try begin(1003) }
        for _ in 0..<2 { _ = try begin(nil) }
    }
}
