// The exact text of the flight recorder's events.

import DNSWire
import Telemetry
import Testing

@testable import Control

@Suite("Events")
struct FlightEventReportTests {
    private let words = FlightStrings()
    /// One second before 2026-11-21 12:34:56Z, in microseconds.
    private let boot: Int64 = 1_795_264_495_000_000

    private func report(_ event: FlightEvent, showsClients: Bool = false) -> FlightEventReport {
        FlightEventReport(event, bootMicroseconds: boot, showsClients: showsClients) { words[$0] }
    }

    private var answered: FlightEvent {
        var event = FlightEvent(.answered, nanoseconds: 1_000_123_456)
        event.name = Name("www.example.com")
        event.type = .aaaa
        (event.source, event.code, event.extendedError) = (.stale, .noError, 3)
        (event.microseconds, event.transport, event.address) = (1800, .tcp, .v4(0xC000_0201))
        return event
    }

    @Test("a query shows its client only on request")
    func query() {
        #expect(
            report(answered).line
                == "12:34:56.000123Z  answered           www.example.com AAAA                  "
                + "stale, NOERROR, EDE 3, 1,800 us, tcp\n")
        #expect(report(answered, showsClients: true).line.hasSuffix(", tcp, from 192.0.2.1\n"))
        #expect(
            report(answered).jsonLine == #"""
                {"code":"NOERROR","ede":3,"kind":"answered","name":"www.example.com","source":"stale",\#
                "time":"2026-11-21 12:34:56.000123Z","transport":"tcp","type":"AAAA","us":1800}

                """#)
        #expect(report(answered, showsClients: true).client == "192.0.2.1")
    }

    @Test("the address of a probe is public, unlike that of a client")
    func probe() {
        var event = FlightEvent(.probeEnded, nanoseconds: 0)
        event.address = .v6(high: 0x2001_0DB8_0000_0000, low: 1)
        event.outcome = words.append("verified")
        #expect(report(event).address == "2001:db8::1" && report(event).client == nil)
        #expect(report(event).line.contains("verified, 2001:db8::1"))
    }

    @Test("a word of a stranger cannot move the cursor")
    func hostile() {
        var event = FlightEvent(.fetchEnded, nanoseconds: 0)
        event.upstream = words.append("a\u{1B}[2Jb")
        #expect(!report(event).line.contains("\u{1B}"))
    }

    @Test("times outside of all years trap nothing, and a network is shown by its number")
    func extremes() {
        var event = FlightEvent(.networkChanged, nanoseconds: .max)
        event.network = 0xBEEF
        for boot in [.min, -1, 0, 253_402_300_799_999_999, .max / 2] as [Int64] {
            let report = FlightEventReport(event, bootMicroseconds: boot, showsClients: false) { words[$0] }
            #expect(report.time.count == 27 && report.outcome == "0000beef")
        }
        #expect(LineFormat.preciseMoment(microsecondsSince1970: -1) == "1970-01-01 00:00:00.000000Z")
    }

    @Test("a listing is one object, or lines with their number, whether or not there is something")
    func listing() {
        for (events, lines) in [([], 1), ([answered, answered], 3)] as [([FlightEvent], Int)] {
            let reports = events.map { event in
                FlightEventReport(event, bootMicroseconds: boot, showsClients: false) { words[$0] }
            }
            var json = Listing<FlightEventReport>(wantsJSON: true)
            let text = json.page(of: reports) + json.end()
            #expect(text.hasPrefix("{\"events\":[") && text.hasSuffix("]}\n") && text.count { $0 == "\n" } == 1)
            var plain = Listing<FlightEventReport>(wantsJSON: false)
            let shown = plain.page(of: reports) + plain.end()
            #expect(shown.split(separator: "\n").count == lines && shown.hasSuffix("; \(events.count) events\n"))
        }
    }

    @Test("the end of a listing says that not all is recorded")
    func scope() {
        for (scope, words) in [(.failures, "only failed queries are recorded"), (.off, "the flight recorder is off")]
            as [(FlightScope, String)]
        {
            var json = Listing<FlightEventReport>(wantsJSON: true, scope: scope)
            #expect(json.end() == "{\"events\":[],\"recorder\":\"\(scope)\"}\n")
            _ = json.page(of: [report(answered)])
            #expect(json.end() == "],\"recorder\":\"\(scope)\"}\n")
            let plain = Listing<FlightEventReport>(wantsJSON: false, scope: scope)
            #expect(plain.end() == "; 0 events; \(words) ([log] recorder)\n")
        }
    }
}
