// Reports about links during a restart of the program that gives them.

import DNSWire
import Testing

@testable import LinkDNS

@Suite struct HeldReportsTests {
    private let start = Instant(nanoseconds: 1_000_000_000_000)
    private let report = LinkReport(
        interface: "lan0", servers: [LinkReport.Server(.v4(0xC000_0201))], domains: [Name("corp.example")!])

    @Test func aRestartLeavesThem() {
        var held = HeldReports()
        held.take([report], now: start)
        held.take(nil, now: start + .seconds(1))
        held.take(nil, now: start + .seconds(2))
        // The program runs again and has not found its links yet.
        held.take([], now: start + .seconds(3))
        #expect(held.reports == [report] && held.endsAt == start + .seconds(31))
        held.take([report], now: start + .seconds(4))
        #expect(held.reports == [report] && held.endsAt == nil)
        // The program has found its links, so an empty report counts.
        held.take([], now: start + .seconds(5))
        #expect(held.reports.isEmpty && held.endsAt == nil)
    }

    @Test func thoseOfVPNsEndAtOnce() {
        let vpn = LinkReport(
            interface: "wlan0", servers: [LinkReport.Server(.v4(0x0A08_0001))], domains: [Name("vpn.example")!],
            connection: .vpn)
        var held = HeldReports()
        held.take([report, vpn], now: start)
        held.take(nil, now: start + .seconds(1))
        #expect(held.reports == [report])
    }

    @Test func theyEndIfItStaysAway() {
        var held = HeldReports()
        held.take([report], now: start)
        held.take(nil, now: start)
        let isOverEarly = held.timePassed(now: start + .seconds(29))
        #expect(!isOverEarly && held.reports == [report])
        let isOver = held.timePassed(now: start + .seconds(30))
        #expect(isOver && held.reports.isEmpty && held.endsAt == nil)
        held.take(nil, now: start + .seconds(40))
        #expect(held.endsAt == nil)
    }
}
