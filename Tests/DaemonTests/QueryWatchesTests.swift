// Who watches sees queries, and those alone; what comes too fast is left out, and said so.

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
        var event = FlightEvent(kind, nanoseconds: Clock.nanosecondsSinceBoot(start))
        event.name = Name(name)
        event.type = .a
        event.address = .v4(0x7F00_0001)
        records.rings[0].record(event)
    }

    private func text(_ stream: ControlStream) -> String { String(decoding: stream.unsent, as: UTF8.self) }

    private func later(_ turns: Int = 1) -> Instant { start + QueryWatches.interval * turns }

    @Test("a watcher gets the queries that its pattern matches, from then on")
    func pattern() throws {
        record(.answered, "before.example")
        #expect(watches.nextDeadline == nil, "nobody watches: nothing is looked at")
        let stream = try watches.begin(NamePattern("*.example"), showsClients: false, wantsJSON: false, now: start)
        let all = try watches.begin(nil, showsClients: true, wantsJSON: true, now: start)
        record(.answered, "www.example")
        record(.fetchBegun, "fetched.example")
        record(.answered, "www.other")
        #expect(watches.nextDeadline == later())
        #expect(watches.timePassed(now: start).isEmpty && text(stream).isEmpty)
        #expect(watches.timePassed(now: later()).isEmpty, "nothing is logged")
        #expect(text(stream).contains("www.example A") && text(stream).split(separator: "\n").count == 1)
        #expect(!text(stream).contains("127.0.0.1"))
        #expect(text(all).split(separator: "\n").count == 2 && text(all).contains("\"client\":\"127.0.0.1\""))
        stream.connectionClosed()
        all.connectionClosed()
        _ = watches.timePassed(now: later(2))
        #expect(watches.nextDeadline == nil)
    }

    @Test("what comes too fast is left out, with its number, and the watcher goes on behind it")
    func flood() throws {
        let stream = try watches.begin(nil, showsClients: false, wantsJSON: true, now: start)
        for _ in 0..<(QueryWatches.maxEventsPerTurn + 7) { record(.dropped, "www.example") }
        _ = watches.timePassed(now: later())
        let lines = text(stream).split(separator: "\n")
        #expect(lines.last == "{\"left_out\":7}" || stream.isOverfull)
        let calm = try watches.begin(nil, showsClients: false, wantsJSON: true, now: start)
        record(.answered, "calm.example")
        _ = watches.timePassed(now: later(2))
        #expect(text(calm).contains("calm.example") && !text(calm).contains("www.example"))
    }

    @Test("the log gets every query, with the client only if that is wanted")
    func log() throws {
        for showsClients in [false, true] {
            watches.setLogging(.init(showsClients: showsClients), now: start)
            record(.answered, "www.example")
            let events = watches.timePassed(now: try #require(watches.nextDeadline))
            #expect(events.count == 1)
            let text = try #require(events.first?.text)
            #expect(text.contains("www.example A") && text.contains("127.0.0.1") == showsClients)
            watches.setLogging(nil, now: start)
            #expect(watches.nextDeadline == nil)
        }
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
}
